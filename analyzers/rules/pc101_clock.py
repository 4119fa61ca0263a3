"""A clock reaches the prompt before text that stays the same.

What: a time of day (`now()`, `strftime_now('%H:%M')`, `datetime.now()`, `time.time()`, a variable such as
`current_time` or `timestamp`) is written into the prompt, and fixed text or the conversation stands behind it.
In one request's text: a time of day or a time stamp in the tools or the system prompt.

Why: a prefix cache reads up to the first token that differs. A clock differs in every request, so nothing
behind it is ever read from cache, however long it is.

Bad:
    Current time: {{ now().isoformat() }}
    {% include "rules.txt" %}

Good:
    {% include "rules.txt" %}
    Current time: {{ now().isoformat() }}

Better still, write the time into the newest user turn, or let the model ask a tool for it.

Must not flag: a clock behind all fixed text; a clock that goes to a log or to metadata; `{# now() #}` and raw
blocks; a constant time in an example; a clock behind the last cache marker; the day alone (PC102).
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


_ADVICE = "Move the time behind the fixed text, best into the newest user turn, or cut it to the day."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.CLOCK}, _ADVICE)


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return sighted_findings(RULE, prompt, context, {"time stamp", "time of day", "epoch time"}, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.CLOCK, log):
        yield slot_breaker(RULE, slot, log, "a clock", _ADVICE)


RULE = Rule.of(__name__, Level.ERROR, template=_template, request=_request, pair=_pair)
