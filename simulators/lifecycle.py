"""The life of a cache entry, how it is lost, and what can go wrong on the way.

    ABSENT ──write──► BUILDING ──prefill done──► READY ──no room──► EVICTING ──moved down──► READY (a lower tier)
       ▲                 │ write fails             │ expires, invalidated,  │ no lower tier
       └─────────────────┴─────────────────────────┴─ replica leaves ───────┴──► ABSENT

An entry is read only in READY. A READY entry of a lower tier has to be restored first: a restore can fail (the
entry is gone) or be late (the entry stays); either way the request falls back to prefill from there on.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from analyzers.errors import UsageError


class EntryState(IntEnum):
    """Where in its life an entry stands at a moment."""

    ABSENT = 0
    BUILDING = 1
    """Written to the fastest tier, but its prefill has not ended."""
    READY = 2
    EVICTING = 3
    """On its way to a lower tier."""


class Loss(IntEnum):
    """Why a block that was sent before could not be read."""

    EVICTED = 1
    """There was no room to keep it."""
    EXPIRED = 2
    NOT_READY = 3
    """Another request was still building it, or it was being moved."""
    OTHER_REPLICA = 4
    """It was written on another replica, or lost with the one that left."""
    INVALIDATED = 5
    """It may not be served any more since an event."""
    FAILED = 6
    """Its write or its restore failed, or the restore came too late."""


LOSSES = len(Loss) + 1
"""Columns of a table by loss; column 0 is unused."""


@dataclass(frozen=True)
class Failures:
    """What goes wrong, at random but repeatable: the same seed gives the same failures.

    `write`: share of requests whose new entries vanish when they should become ready. `restore`: share of
    restored blocks that are lost on the way. `restore_deadline_s`: a request does not wait longer than this for
    restores; what would come later is computed instead.
    """

    write: float = 0.0
    restore: float = 0.0
    restore_deadline_s: float | None = None
    seed: int = 0

    def check(self) -> None:
        """Raises UsageError for a share outside 0..1, a negative deadline, or a seed beyond 63 bits."""
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"a seed of {self.seed} is not possible; give a whole number from 0 to 2^63 - 1")
        for name, share in (("write", self.write), ("restore", self.restore)):
            if not 0 <= share <= 1:
                raise UsageError(f"a {name} failure share of {share:g} is not possible; give 0 to 1")
        if self.restore_deadline_s is not None and self.restore_deadline_s < 0:
            raise UsageError("the restore deadline is negative; give 0 or more seconds")

    def failing_writes(self, requests: int) -> npt.NDArray[np.bool_]:
        """The requests whose writes fail (bool per request)."""
        drawn: npt.NDArray[np.bool_] = np.random.default_rng(self.seed).random(requests) < self.write
        return drawn
