"""`tool_choice` differs between requests that should share a prefix.

What: code computes it from something that varies. In a log: another value than in the request before.

Why: at Anthropic a change loses the cached messages (tools and system stay); elsewhere it may change the rendered
prompt.

Bad:
    tool_choice = "required" if step == 1 else "auto"

Good: one value for the whole session; say in the newest message which tool is wanted.

Must not flag: a constant; leaving it out where the default is the same (`auto`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import setting_breakers
from analyzers.rules.parameters import varying_parameters
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import place, shown
from analyzers.templates.parts import Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for parameter in varying_parameters(prompt, context, "tool_choice", "parallel_tool_calls"):
        yield RULE.finding(
            f"{parameter.name} is computed ({shown(parameter.expression)}); where it differs from the request "
            "before, the cached messages are lost",
            place(parameter.span),
            subject=parameter.expression,
            fix=Fix("Keep one value for the whole session."),
        )


def _named(name: str) -> bool:
    return any(
        word in name.lower()
        for word in ("tool_choice", "toolchoice", "parallel_tool", "functioncallingconfig")
    )


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    yield from setting_breakers(RULE, log, _named, "Keep one value for the whole session.")


RULE = Rule.of(__name__, Level.WARNING, template=_template, log=_log)
