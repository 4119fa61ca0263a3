"""A user's or tenant's own value reaches the prompt before text that all users share.

What: a name, e-mail, account, session id or profile (`user.name`, `session_id`) is written before fixed text.
In one request's text: an e-mail address in the tools or the system prompt.

Why: requests of different users share the prompt only up to that value. Everything behind it is cached once for
each user: a cold start for every new one, and room in the cache for as many copies as there are users.

Bad:
    You are helping {{ user.name }}.
    {{ rules }}

Good:
    {{ rules }}
    You are helping {{ user.name }}.

Must not flag: the assistant's own name, the company, a support address in the text; values behind the fixed text.
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


_ADVICE = "Put what belongs to the user or tenant behind the text that all of them share."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.IDENTITY}, _ADVICE)


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return sighted_findings(RULE, prompt, context, {"e-mail address", "user name"}, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.IDENTITY, log):
        yield slot_breaker(RULE, slot, log, "a name or account", _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, template=_template, request=_request, pair=_pair)
