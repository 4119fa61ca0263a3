"""The response schema or format differs between requests that should share a prefix.

What: another response schema than in the request before, while the prompt is the same.

Why: providers render the schema in front of the prompt or make it part of the key, so all behind it is read anew.

Bad: a schema made anew per request, or one schema per step of a flow over the same long text.

Good: one schema for all steps, or the steps of one schema one after the other.

Must not flag: the same schema with keys in another order, which is named as such.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Level
from analyzers.rules.log_checks import setting_breakers
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import changes

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    yield from changes(
        RULE,
        slot,
        log,
        {Change.SCHEMA: "another response schema"},
        "Use one response schema for all requests that share the prompt.",
    )


def _named(name: str) -> bool:
    return any(
        word in name.lower()
        for word in ("schema", "response_format", "output_format", "mimetype", "text.format")
    )


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    yield from setting_breakers(
        RULE, log, _named, "Use one response format for all requests that share the prompt."
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair, log=_log)
