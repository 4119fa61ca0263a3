"""Retrieved text reaches the prompt before text that stays the same.

What: passages, documents, search results, recalled memories (`context`, `passages`, `recalled_memories`) are
written before fixed text or before the conversation.

Why: another question retrieves other passages, so what stands behind them is read anew each turn. The cached
share stays at the part before them while the prompt grows.

Bad:
    {{ recalled_memories }}
    {{ rules }}

Good:
    {{ rules }}
    {{ recalled_memories }}

Must not flag: retrieved text behind the fixed text; documents that are the same for all requests, once they are
annotated (`pcache: volatility=release`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Slot, ValueKind
from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    slot_breaker,
    value_slot,
)
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_ADVICE = "Move the retrieved text behind all fixed text, best to the end of the newest user turn."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.RETRIEVED}, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.RETRIEVED, log):
        yield slot_breaker(RULE, slot, log, "text that is put in anew", _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, template=_template, pair=_pair)
