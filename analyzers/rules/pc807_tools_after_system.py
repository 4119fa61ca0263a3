"""A template renders the tools behind the system text.

What: the rendered prompt has the system message first and the tool definitions behind it.

Why: what stands behind a change is lost with it. A line of the system text that varies (a folder, a date) then
costs the tools as well; with tools first it would cost nothing but itself. Where the line goes is the caller's
choice, so this is a note: put what varies into the user turn, which is right under both orders.

Bad: a working folder as the last line of the system text, under this template.

Good: the folder in the user turn.

Must not flag: templates that render tools first, or no tools.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level
from analyzers.rules.chat import probed, where_named
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Cause, Prompt, Value
from analyzers.templates.volatility import judge


def _written_after(prompt: Prompt) -> bool:
    """True when a template that takes both writes a value for the tools behind one for the system text."""
    system = False
    for part in prompt.parts:
        if not isinstance(part, Value):
            continue
        if judge(part).cause is Cause.TOOLS:
            return system
        system = system or any("system" in name.lower() for name in part.names)
    return False


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = probed(prompt)
    after = found.tools_after_system if found is not None else _written_after(prompt)
    if after:
        yield RULE.finding(
            "the tools stand behind the system text, so a system text that varies loses them too "
            "(order rendered: system, tools, messages)",
            where_named(prompt, "tools"),
            subject="tools",
            fix=Fix("Keep what varies out of the system text: put it into the user turn."),
        )


RULE = Rule.of(__name__, Level.INFO, template=_template)
