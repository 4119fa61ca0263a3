"""A calendar day reaches the prompt before text that stays the same.

What: the day (`strftime_now('%d %b %Y')`, `date.today()`, `current_date`) is written before fixed text. In one
request's text: a date in a phrase such as "today is", in the tools or the system prompt.

Why: at midnight everything behind the day is written anew, once for each live session: little where sessions
are short, a full rewrite where many run through the night. A day at which a session started stays for that
session, but keeps sessions of different days from sharing what stands behind it.

Bad:
    Today is {{ strftime_now('%d %B %Y') }}.
    {{ long_rules }}

Good:
    {{ long_rules }}
    Today is {{ strftime_now('%d %B %Y') }}.

Must not flag: "Policy effective 2024-01-01" and other dates that are part of the text; "today is a gift".
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


_ADVICE = "Move the date behind the fixed text; it is the same all day, so it may stand before what changes more often."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.DATE}, _ADVICE)


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return sighted_findings(RULE, prompt, context, {"current date"}, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.DATE, log):
        yield slot_breaker(RULE, slot, log, "a date", _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, template=_template, request=_request, pair=_pair)
