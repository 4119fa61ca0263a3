"""The same tools in another order, or in an order that nobody fixed.

What: the tool list is made from a set, a folder listing, a registry that is filled as plug-ins load, or whatever
else has no order of its own. In a log: the same definitions in another order.

Why: tools are rendered first (Anthropic, OpenAI, Gemini), so a swap of two of them loses the whole prompt.

Bad:
    tools = list({search, fetch})

Good:
    tools = sorted({search, fetch}, key=lambda tool: tool["name"])

Must not flag: a list written out in the source, even if it is not sorted by name; the same order in each request.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Finding, Level, Safety
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    changes,
)
from analyzers.rules.stranded import place, repaired, shown
from analyzers.templates.parts import Cause, Prompt, Value

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_CAUSES = {Cause.UNORDERED, Cause.RANDOM_CHOICE}


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for part in prompt.parts:
        if isinstance(part, Value) and part.place.section == "tools" and part.cause in _CAUSES:
            yield RULE.finding(
                f"the order of the tools in {shown(part.expression)} is not fixed; when it differs, the whole "
                "prompt behind them is read anew",
                place(part.span),
                subject=part.expression,
                fix=repaired("Sort the tools by name before they are sent.", part),
            )


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    yield from changes(
        RULE,
        slot,
        log,
        {Change.TOOLS_REORDERED: "the same tools in another order"},
        "Sort the tools by name before they are sent.",
        safety=Safety.SAFE,
    )


RULE = Rule.of(__name__, Level.ERROR, template=_template, pair=_pair)
