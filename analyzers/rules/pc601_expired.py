"""The entry was older than its lifetime.

What: the prefix is equal, it was in the cache, and the pause since its last use is longer than the lifetime.

Why: the whole prefix is written anew. A longer lifetime pays when such pauses are common and shorter than it.

Bad: questions every ten minutes under a lifetime of five.

Good: a lifetime of an hour for such sessions, or a request that keeps the entry alive.

Must not flag: a pause when the prefix changed as well, which a longer lifetime would not help (that is named);
another upstream or key.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import miss_breakers, requests_words, seconds_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    from analyzers.misses import IDLE_UNSTATED_S, MissCause

    def words(misses: "Sequence[Miss]") -> str:
        gaps = sorted(miss.gap_s for miss in misses if miss.gap_s is not None)
        ttl = misses[0].ttl_s
        limit = (
            f"the lifetime is {seconds_words(ttl)}"
            if ttl
            else f"idle entries last about {IDLE_UNSTATED_S // 60} min"
        )
        span = seconds_words(gaps[0]) + (f" to {seconds_words(gaps[-1])}" if len(gaps) > 1 else "")
        helped = sum(miss.gap_s is not None and miss.gap_s <= 3600 for miss in misses)
        longer = (
            f"; a lifetime of 1 h would have kept {helped} of {len(misses)}" if ttl and ttl < 3600 else ""
        )
        return (
            f"expired: {requests_words(len(misses))} came after a pause of {span} and {limit}; "
            f"{sum(miss.lost for miss in misses):,} tokens were read anew{longer}"
        )

    yield from miss_breakers(
        RULE,
        log,
        MissCause.EXPIRED,
        words,
        "Compare lifetimes with `pcache cost`: a longer one pays when such pauses are common.",
        group=lambda miss: miss.ttl_s,
        level=Level.INFO,
    )


RULE = Rule.of(__name__, Level.INFO, log=_log)
