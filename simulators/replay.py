"""A trace against a cache, request by request: for everything that one pass over stack distances cannot answer.

The model is that of the sweep: blocks of B tokens, known by their exact prefix; a request reads the leading
blocks that are there, computes at least its last token, and while it runs all its blocks are in the fastest tier
(an unfinished last block takes one place). What changes is everything around it: which entry goes when there is no
room, how long entries live, when they become readable, where they lie, who serves a request, and what may not be
served any more.

    result = replay(trace, ReplaySettings(block_size=16, capacity_blocks=4096, policy="s3-fifo"))
    result.hit_tokens.sum(), result.lost(Loss.EVICTED).sum()
"""

from dataclasses import dataclass

import numpy as np

from analyzers.trace import Int32, Int64, Trace
from simulators.invalidation import InvalidationReport, Reach
from simulators.kernels.replay import replay_requests
from simulators.kernels.replay_plan import (
    CANCELLED,
    COUNTERS,
    DUPLICATES,
    FAILED_RESTORES,
    INVALIDATE,
    LATE,
    NOT_KEPT,
    PINS_BROKEN,
    WRITTEN,
    Outcome,
    Plan,
)
from simulators.lifecycle import LOSSES, Loss
from simulators.policies.store import Store, make_store
from simulators.replay_plan import Accesses, find_accesses, make_plan
from simulators.replay_settings import ReplaySettings
from simulators.sweep import check_capacity
from simulators.tiers import FASTEST, TierUse

UNBOUNDED = 1 << 40
"""Blocks that no trace fills."""


@dataclass(frozen=True)
class ReplayCounters:
    """Blocks counted over the whole replay, unless said otherwise."""

    accesses: int
    """Whole blocks of all requests."""
    written: int
    evicted: int
    """Given up by the last tier there is."""
    expired: int
    invalidated: int
    cancelled_builds: int
    """Invalidated before they were readable."""
    failed_writes: int
    failed_restores: int
    late_restores: int
    """Requests whose restores were cut off by the deadline."""
    lost_with_replicas: int
    duplicate_prefills: int
    """Computed although another request was building them."""
    not_kept: int
    """Found no room because entries being built held all of it."""
    pins_broken: int


@dataclass(frozen=True)
class ReplayResult:
    """Arrays have one row a request, in trace order.

    hit_tokens + the sum of lost_tokens over its columns = servable_tokens: what one cache without bounds, ends
    and delays would have served; the rest of a prompt is new, or cut off by the block size and the last-token
    rule. `lost_tokens` (int64[requests, losses]) has a column for each Loss, `tier_hit_tokens`
    (int64[requests, tiers]) the hits by tier. `waited_ns` is time spent waiting for another request's prefill.
    """

    settings: ReplaySettings
    prompt_tokens: Int64
    servable_tokens: Int64
    hit_tokens: Int64
    lost_tokens: Int64
    tier_hit_tokens: Int64
    replica: Int32
    waited_ns: Int64
    counters: ReplayCounters
    tiers: tuple[TierUse, ...]
    invalidations: tuple[InvalidationReport, ...]

    def lost(self, loss: Loss) -> Int64:
        """Tokens of each request lost for this cause (int64)."""
        return self.lost_tokens[:, int(loss)]

    def hit_ratio(self) -> float | None:
        """Hit tokens over prompt tokens of the whole trace; None for a trace without prompt tokens."""
        prompt = int(self.prompt_tokens.sum())
        return int(self.hit_tokens.sum()) / prompt if prompt else None


def replay(trace: Trace, settings: ReplaySettings) -> ReplayResult:
    """Serve the trace. Raises UsageError for settings that make no sense or a request that cannot fit, and
    CannotEvaluateError where the log has no times and the settings need them."""
    settings.check()
    accesses = find_accesses(trace, settings)
    if settings.capacity_blocks is not None:
        check_capacity(accesses.sequences, trace.requests, settings.block_size, settings.capacity_blocks)
    plan, reports = make_plan(trace, settings, accesses)
    lifetime, failing = settings.lifetime, settings.failures.write > 0
    shared = [tier.capacity_blocks for tier in settings.tiers if tier.shared]
    private = [tier.capacity_blocks for tier in settings.tiers if not tier.shared]
    fastest = UNBOUNDED if settings.capacity_blocks is None else settings.capacity_blocks
    store = make_store(
        accesses.block_count,
        settings.replicas.count,
        [fastest, *private],
        shared[0] if shared else None,
        plan.policy,
        expiring=lifetime is not None or failing,
        ends_in_order=lifetime is not None and lifetime.counts_from != "hits" and not failing and not shared,
    )
    outcome = _empty_outcome(len(trace), 1 + len(settings.tiers), len(plan.event_ns), len(store.pools))
    replay_requests(store, plan, outcome)
    return _result(settings, accesses, store, outcome, plan, reports)


def _empty_outcome(requests: int, tiers: int, events: int, pools: int) -> Outcome:
    return Outcome(
        hit=np.zeros(requests, np.int64),
        lost=np.zeros((requests, LOSSES), np.int64),
        tier_hits=np.zeros((requests, tiers), np.int64),
        replica=np.zeros(requests, np.int32),
        waited_ns=np.zeros(requests, np.int64),
        counters=np.zeros(COUNTERS, np.int64),
        moved_in=np.zeros(tiers, np.int64),
        moved_out=np.zeros(tiers, np.int64),
        reached=np.zeros((events, pools), np.int64),
    )


def _result(
    settings: ReplaySettings,
    accesses: Accesses,
    store: Store,
    outcome: Outcome,
    plan: Plan,
    reports: list[InvalidationReport],
) -> ReplayResult:
    size, counted = settings.block_size, outcome.counters.tolist()
    names = [FASTEST, *(tier.name for tier in settings.tiers)]
    capacities = [settings.capacity_blocks, *(tier.capacity_blocks for tier in settings.tiers)]
    block_bytes = None if settings.bytes_per_token is None else settings.bytes_per_token * size
    hits = outcome.tier_hits.sum(axis=0).tolist()
    uses = []
    for tier, name in enumerate(names):
        into, out = int(outcome.moved_in[tier]), int(outcome.moved_out[tier])
        moved = (None, None) if block_bytes is None else (into * block_bytes, out * block_bytes)
        uses.append(TierUse(name, capacities[tier], hits[tier], into, out, *moved))
    places = [
        (names[tier], replica if settings.replicas.count > 1 else None)
        for replica in range(store.replicas)
        for tier in range(store.tiers)
    ] + [(names[-1], None)] * store.shared
    invalidating = np.flatnonzero(plan.event_kind == INVALIDATE)
    filled = tuple(
        InvalidationReport(
            report.event,
            report.requests,
            report.blocks,
            tuple(
                Reach(tier, replica, int(count))
                for (tier, replica), count in zip(places, outcome.reached[event].tolist(), strict=True)
                if count
            ),
        )
        for report, event in zip(reports, invalidating.tolist(), strict=True)
    )
    return ReplayResult(
        settings=settings,
        prompt_tokens=accesses.sequences.prompt_tokens,
        servable_tokens=accesses.seen * size,
        hit_tokens=outcome.hit * size,
        lost_tokens=outcome.lost * size,
        tier_hit_tokens=outcome.tier_hits * size,
        replica=outcome.replica,
        waited_ns=outcome.waited_ns,
        counters=ReplayCounters(
            accesses=len(accesses.blocks),
            written=counted[WRITTEN],
            evicted=counted[Loss.EVICTED],
            expired=counted[Loss.EXPIRED],
            invalidated=counted[Loss.INVALIDATED],
            cancelled_builds=counted[CANCELLED],
            failed_writes=counted[Loss.FAILED],
            failed_restores=counted[FAILED_RESTORES],
            late_restores=counted[LATE],
            lost_with_replicas=counted[Loss.OTHER_REPLICA],
            duplicate_prefills=counted[DUPLICATES],
            not_kept=counted[NOT_KEPT],
            pins_broken=counted[PINS_BROKEN],
        ),
        tiers=tuple(uses),
        invalidations=filled,
    )
