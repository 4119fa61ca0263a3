"""The history is replaced by a summary.

What: several messages of the earlier request became one or two.

Why: everything behind the summary is read anew once. That is the price of a shorter prompt, and pays when enough
turns follow; best done when the cache is cold anyway.

Bad: compaction every few turns.

Good: rarely, in large steps, after a pause longer than the lifetime of the cache.

Must not flag: messages that are appended.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Level
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import changes

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    yield from changes(
        RULE,
        slot,
        log,
        {Change.COMPACTION: "the history was compacted"},
        "Compact rarely and in large steps, best when the cache has expired anyway.",
    )


RULE = Rule.of(__name__, Level.INFO, pair=_pair)
