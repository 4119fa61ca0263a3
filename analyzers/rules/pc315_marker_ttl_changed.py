"""The same boundary is marked with another lifetime.

What: a request goes on with a conversation and marks a block with another lifetime than the earlier request did.

Why: an entry with another lifetime is written anew; the one that is there is not extended.

Bad: `ttl: "1h"` in the main loop and no `ttl` in a sub-agent that sends the same prefix.

Good: one lifetime for each boundary.

Must not flag: a boundary that is marked for the first time.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import log_breaker, requests_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _refused(lifetimes: list[int]) -> bool:
    """Whether a provider refuses markers with these lifetimes, so that nothing was written (PC303)."""
    stated = [ttl if ttl > 0 else 300 for ttl in lifetimes]
    return any(later > earlier for earlier, later in pairwise(stated))


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    trace = log.traced.trace
    continuations = log.divergences.continuations
    rows = []
    for row in range(len(trace)):
        against = int(continuations.predecessor[row])
        if against < 0 or _refused(trace.marker_ttl_s.of(against).tolist()):
            continue
        own = dict(zip(trace.markers.of(row).tolist(), trace.marker_ttl_s.of(row).tolist(), strict=True))
        theirs = zip(trace.markers.of(against).tolist(), trace.marker_ttl_s.of(against).tolist(), strict=True)
        for depth, ttl in theirs:
            same = own.get(depth)
            changed = same is not None and same != ttl and {same, ttl} != {-1, 300}
            if changed and depth <= continuations.common[row]:
                rows.append(row)
                break
    if rows:
        yield log_breaker(
            RULE,
            log,
            rows,
            f"a block that was marked with one lifetime is marked with another in {requests_words(len(rows))}",
            "Give each boundary one lifetime.",
            against=int(continuations.predecessor[rows[0]]),
            subject="lifetimes",
        )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
