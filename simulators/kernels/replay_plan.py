"""What the compiled loop of a replay is given and what it gives back."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analyzers.trace import Int32, Int64
from simulators.lifecycle import LOSSES

WRITTEN, NOT_KEPT, DUPLICATES, PINS_BROKEN, LATE, FAILED_RESTORES, CANCELLED = range(LOSSES, LOSSES + 7)
"""Counters after those by Loss: blocks written, not kept for want of room, computed although another request was
building them, pinned and evicted, restores cut off by the deadline, restores lost, builds cancelled by an event."""
COUNTERS = CANCELLED + 1

INVALIDATE, LEAVE, JOIN = range(3)
"""Kinds of event: entries may not be served any more; a replica leaves (its caches are lost); it joins."""


class Plan(NamedTuple):
    """The requests and settings of a replay. Times are int64 ns; arrays have one entry a request unless said."""

    policy: int
    offsets: Int64
    """int64 of requests + 1, into `blocks`."""
    blocks: Int32
    servable: Int64
    """Leading blocks that may be read."""
    seen: Int64
    """Leading blocks that were sent before and may be read."""
    occupied: Int64
    """Blocks the request takes while it runs, the unfinished last one included."""
    time_ns: Int64
    prompt_tokens: Int64
    block_tokens: int
    weight: Int64
    """Cost (size-aware) or class (priority) of the request."""
    next_use: Int64
    """One entry a block access, for Belady; else empty."""
    timeless: bool
    """Entries are readable at once and never end, and there is one tier: the times of entries do not matter."""
    ttl_kind: int
    ttl_ns: int
    at_once: bool
    ready_ns: Int64
    ns_per_token: float
    single_flight: bool
    doomed: npt.NDArray[np.bool_]
    restore_failure: float
    seed: int
    deadline_ns: int
    move_ns: npt.NDArray[np.float64]
    """Per tier, the fastest first."""
    route: Int32
    """Replica, -1 where the load decides."""
    balance: float
    half_life_ns: float
    event_ns: Int64
    event_kind: Int64
    event_replica: Int64
    event_offsets: Int64
    event_blocks: Int32


class Outcome(NamedTuple):
    """What a replay found. Blocks, one row a request: `hit`, `lost` by Loss, `tier_hits` by tier; `replica` int32,
    `waited_ns`. Over all: `counters`, `moved_in` and `moved_out` by tier, `reached` blocks by event and pool."""

    hit: Int64
    lost: Int64
    tier_hits: Int64
    replica: Int32
    waited_ns: Int64
    counters: Int64
    moved_in: Int64
    moved_out: Int64
    reached: Int64
