"""The entry lies further back than the provider looks.

What: nothing in the old prefix changed, but more than 20 blocks lie between the last entry and the marker of the
next request, so that the entry is not found and a shorter one is read.

Why: before each marker, Anthropic checks at most 20 blocks for an entry. A turn with many parallel tool calls and
results adds more than that.

Bad: one rolling marker, and a turn with twelve tool calls and their twelve results.

Good: a second marker on the message that was newest in the request before, or one about every 15 blocks.

Must not flag: a changed history; an expired entry. Plain blocks are counted; a provider that counts a run of tool
blocks as one would have read the entry, and then the figures show it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import miss_breakers, path_at, requests_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    from analyzers.misses import LOOKBACK_BLOCKS, MissCause

    def words(misses: "Sequence[Miss]") -> str:
        first = misses[0]
        entry = path_at(log, first.against, int(log.traced.trace.markers.of(first.against)[-1]))
        return (
            f"the last entry (written at {entry}) lies {first.blocks} blocks before the marker, and the provider looks "
            f"back {LOOKBACK_BLOCKS} (counted in plain blocks): {requests_words(len(misses))} read "
            f"{sum(miss.lost for miss in misses):,} tokens less than were cached although nothing changed"
        )

    for breaker in miss_breakers(
        RULE,
        log,
        MissCause.LOOKBACK,
        words,
        "Keep a second marker on the message that was newest before, or set one about every 15 blocks.",
    ):
        row = breaker.requests[0]
        place = path_at(log, row, int(log.traced.trace.markers.of(row)[-1]))
        yield replace(
            breaker,
            finding=replace(breaker.finding, location=replace(breaker.finding.location, json_path=place)),
        )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
