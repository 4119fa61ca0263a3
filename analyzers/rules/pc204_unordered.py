"""Something without a fixed order is written into the prompt before text that stays the same.

What: a set, a folder listing (`os.listdir`, `glob`), threads as they finish (`as_completed`) are iterated or
joined into the prompt.

Why: the order of a set of strings differs from process to process, that of a listing from machine to machine,
that of threads from run to run: the same content gives another prompt.

Bad:
    "\n".join({"b", "a"})

Good:
    "\n".join(sorted({"b", "a"}))

Must not flag: a set that is only tested for membership or counted; dicts and lists, which keep their order; the
list of tools, of which PC201 speaks.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt, Value

_ADVICE = "Sort what has no order of its own before it is written into the prompt."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    tools = {
        (part.span.line, part.span.column)
        for part in prompt.parts
        if isinstance(part, Value) and part.place.section == "tools"
    }
    for finding in stranded_findings(RULE, context, {Cause.UNORDERED}, _ADVICE):
        if (finding.location.line, finding.location.column) not in tools:
            yield finding


RULE = Rule.of(__name__, Level.ERROR, template=_template)
