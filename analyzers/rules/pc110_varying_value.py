"""A value that changes, or may change, stands before text that stays the same.

What: a variable whose name does not tell how often it changes, or the conversation itself, is written before
fixed text. In a log: a value that changes and fits no other rule.

Why: if it changes, nothing behind it is read from cache. Without a log this is a note only; with `--logs` the
real variation decides, and an annotation settles it by hand.

Bad:
    {{ banner }}
    {{ rules }}

Good:
    {{ rules }}
    {{ banner }}

Must not flag: variables that are constant by their name (`company_name`, `RULES`), by a `set` to a constant, by
an annotation or by the log; special tokens; the generation prompt behind the messages of a chat template; a
reminder of a few words behind the conversation.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Slot, ValueKind
from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    in_head,
    slot_breaker,
    value_slot,
)
from analyzers.rules.stranded import SELDOM, stranded, stranded_findings
from analyzers.templates.parts import Cause, Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_ADVICE = "Move the value behind the fixed text, or say how often it changes (`pcache: volatility=release`)."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    yield from stranded_findings(RULE, context, {Cause.UNKNOWN}, _ADVICE)
    if prompt.kind == "chat-template":
        return
    for exposure in context.exposures:
        if exposure.condition is None and exposure.verdict.cause is Cause.CONVERSATION:
            lost = context.count_tokens(exposure.fixed_text) if exposure.fixed_text.strip() else 0
            if lost >= SELDOM:
                yield stranded(RULE, exposure, lost, "Put the fixed text before the conversation.")


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.OTHER, log) and in_head(slot):
        yield slot_breaker(RULE, slot, log, "a value that varies", _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, template=_template, pair=_pair)
