"""A counter reaches the prompt before text that stays the same.

What: a turn number, a step, an attempt, the tokens or time left (`turn_number`, `remaining_tokens`) is written
before fixed text or before the conversation. In one request's text: "turn 7 of 20" and the like.

Why: it moves on with every turn, so nothing behind it is read from cache again, the whole history included.

Bad:
    Step {{ step }} of {{ max_steps }}.
    {{ rules }}

Good:
    {{ rules }}
    Step {{ step }} of {{ max_steps }}.

Must not flag: a loop's own counter that numbers fixed items; "step 3 of the procedure" in running text.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Slot, ValueKind
from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.sightings import sighted_findings
from analyzers.rules.slot_checks import (
    slot_breaker,
    value_slot,
)
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_ADVICE = "Move the counter to the end of the newest user turn, or leave it out."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.COUNTER}, _ADVICE)


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return sighted_findings(RULE, prompt, context, {"counter"}, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.COUNTER, log):
        yield slot_breaker(RULE, slot, log, "a counter", _ADVICE)


RULE = Rule.of(__name__, Level.ERROR, template=_template, request=_request, pair=_pair)
