"""A random or unique value reaches the prompt before text that stays the same.

What: a UUID, ULID, nonce, request or trace id, a random number or token (`uuid4()`, `secrets.token_hex()`,
`request_id`) is written before fixed text. In one request's text: a labelled id of a request, run or session,
a UUID or a ULID in the tools or the system prompt.

Why: it differs in every request, so nothing behind it is ever read from cache. The model has no use for it.

Bad:
    [trace {{ trace_id }}]
    {{ system_prompt }}

Good: send the id as metadata or a header, not in the prompt.

Must not flag: an id in an example of an API answer, a pinned digest, a constant id; ids behind the fixed text.
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


_ADVICE = "Leave the id out of the prompt (send it as metadata), or put it behind the fixed text."

_KINDS = {"labelled id", "UUID", "ULID", "long hexadecimal id", "random-looking id"}


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.RANDOM_ID}, _ADVICE)


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return sighted_findings(RULE, prompt, context, _KINDS, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.RANDOM_ID, log):
        yield slot_breaker(RULE, slot, log, "an id that differs", _ADVICE)


RULE = Rule.of(__name__, Level.ERROR, template=_template, request=_request, pair=_pair)
