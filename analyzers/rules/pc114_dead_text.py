"""Text of the source that never reaches the model.

What: a macro that nothing calls, a long text variable that nothing reads, a branch that is never taken.

Why: it costs no tokens, but it is edited, reviewed and translated as if it did, and hides what the prompt is.
(In a log: a tool that is always sent and never called costs its tokens in every request.)

Bad:
    {% set old_rules = "Always answer in verse, in four lines, with a rhyme." %}
    Answer briefly.

Good:
    Answer briefly.

Must not flag: macros in files that only hold macros, which others import; blocks that a child template fills.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import place
from analyzers.templates.parts import Prompt


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for dead in prompt.dead:
        yield RULE.finding(
            f"{dead.what} never reaches the model", place(dead.span), subject=dead.what, fix=Fix("Delete it.")
        )


RULE = Rule.of(__name__, Level.INFO, template=_template)
