"""One question to a trace, answered whole: a sweep over grids, or one configuration with the reason of each miss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyzers.trace import Int64, Trace
from simulators.blocks import CachedSequences, cached_sequences
from simulators.engines import replay_engine
from simulators.grids import Capacities, automatic_capacities, automatic_lifetimes, settle_capacities
from simulators.lifecycle import Loss
from simulators.miss_classes import MissClass, MissClasses, classify_misses, sweep_losses
from simulators.sampling import SampleAccount, Sampling, estimated_sweep, sample_touches
from simulators.stack_records import StackRecords, stack_records
from simulators.sweep import (
    BlockSweep,
    check_capacity,
    hits_by_request,
    reuse_interval_percentiles,
    sweep_block_size,
)
from simulators.touch_records import Aged, Touches, touches
from simulators.working_set import WorkingSet, working_sets

if TYPE_CHECKING:
    from simulators.replay import ReplayResult
    from simulators.replay_settings import ReplaySettings

DEFINITIONS = {
    "hit_token_ratio": "hit tokens / prompt tokens over all requests, token-weighted; cold start, nothing left out as "
    "warm-up; outputs that become part of a later prompt count as cached when their ids are known",
    "request_hit_ratio": "requests with at least one hit token / all requests",
    "unbounded": "the same cache with room and time without end: whole blocks, at least the last token computed",
    "capacity": "the places for blocks, in use or not; the partial last block of a running request takes one",
    "knee": "the least capacity with at least 99 % of the unbounded hits and no expiry",
    "flat": "the least capacity that loses nothing to eviction",
    "ttl": "sliding: the time since the last access, which includes the access that computed the block",
    "stack_distance": "capacity that a hit block needs, percentiles over hit blocks of the unbounded cache",
    "reuse_interval": "time since the last access of a hit block, percentiles over hit tokens of the unbounded cache",
    "working_set": "distinct tokens in whole blocks accessed within the window",
    "sample": "with --sample: about `rate` of the touch records (a stretch of a prompt by the request that had it last), "
    "drawn by hash, in proportion to their length; all hits, knees, percentiles and intervals are estimates; unbounded "
    "hits without expiry are exact",
    "hit_error_tokens": "with --sample: half the width of the interval that holds the exact hit tokens in 19 cases of 20: "
    "standard error and thrice the bias by the jackknife over 10 parts of the sample, and what a sample of its size may miss; null "
    "where hits are exact",
    "error_ratio": "with --sample: the largest of these errors at any capacity and lifetime / prompt tokens",
    "duplicate_writes": "blocks computed again although they were cached (last-token rule, repeated outputs); an "
    "engine that keeps both copies, as vLLM does, may differ from the sweep where there are any",
}
_LOSS_CLASSES = {
    Loss.EVICTED: MissClass.EVICTED,
    Loss.EXPIRED: MissClass.EXPIRED,
    Loss.NOT_READY: MissClass.NOT_READY,
    Loss.OTHER_REPLICA: MissClass.OTHER_REPLICA,
    Loss.INVALIDATED: MissClass.INVALIDATED,
    Loss.FAILED: MissClass.RESTORE_FAILED,
}
_WINDOWS_S = (60.0, 300.0, 3600.0, 86400.0)


@dataclass(frozen=True)
class Sweep:
    """Every block size; `prompt_tokens` is the denominator of every ratio: all prompt tokens of the trace."""

    prompt_tokens: int
    requests: int
    reusable_tokens: int
    """Tokens that begin a prompt and were seen before: no blocks, no bounds, no last-token rule."""
    sizes: tuple[BlockSweep, ...]
    reuse_interval_s: dict[float, float] | None
    working_sets: tuple[WorkingSet, ...]
    sample: SampleAccount | None = None
    """What all but `prompt_tokens`, `requests`, `reusable_tokens` and ceilings is estimated from, without working sets;
    None: all is exact."""

    @property
    def error_ratio(self) -> float | None:
        """Of a sample: the largest error of any hit ratio; None where they are exact."""
        errors = [
            int(errors.max(initial=0))
            for size in self.sizes
            for errors in (size.hit_error_tokens, size.unbounded_error_tokens)
            if errors is not None
        ]
        return max(errors) / self.prompt_tokens if errors and self.prompt_tokens else None


@dataclass(frozen=True)
class Content:
    """What only the log's content can tell, per request (int64 tokens); None where it was not looked at.

    `isolated`: known in another namespace; `seen_elsewhere`: known behind another prefix.
    """

    isolated: Int64 | None = None
    seen_elsewhere: Int64 | None = None


@dataclass(frozen=True)
class Run:
    """One configuration. `by_request` are the classes of each request's tokens, hits among them.

    `settings` says what was simulated, `standing` how far it is checked, `rules` by which rules. `capacity_tokens`
    is None without a bound. `replay` holds the counters of an event-by-event replay.
    """

    model: str
    standing: str
    rules: str
    settings: Mapping[str, object]
    capacity_tokens: int | None
    prompt_tokens: int
    requests: int
    hit_tokens: int
    requests_with_hits: int
    unbounded_hit_tokens: int
    duplicate_writes: int | None
    by_request: MissClasses
    replay: "ReplayResult | None" = None
    notes: tuple[str, ...] = ()

    @property
    def hit_token_ratio(self) -> float | None:
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else None


def run_sweep(
    trace: Trace,
    block_sizes: Sequence[int],
    capacities: Capacities | None,
    lifetimes: Sequence[float | None] | None,
    bytes_per_token: int | None,
    *,
    ignore_outputs: bool = False,
    sampling: Sampling | None = None,
) -> Sweep:
    """The whole grid, exact unless `sampling` asks for an estimate; None chooses capacities or lifetimes by the trace.

    Raises UsageError for settings that make no sense and CannotEvaluateError for lifetimes on a trace without times
    and for samples that are too small.
    """
    sequences = cached_sequences(trace, ignore_outputs=ignore_outputs)
    sample = None if sampling is None else sample_touches(sequences, trace.requests, sampling)
    whole = touches(sequences, trace.requests) if sample is None else None
    touched: Aged
    if whole is not None:
        touched, finest = whole, 0
        records = [stack_records(sequences, whole, size) for size in block_sizes]
    elif sample is not None:
        touched, finest = sample, sample.resolution_blocks(1)
        records = [sample.stack_records(sequences, size) for size in block_sizes]
    asked = capacities or automatic_capacities(sequences, records, finest)
    ttls = automatic_lifetimes(touched, records) if lifetimes is None else lifetimes
    sizes = []
    for record in records:
        blocks = settle_capacities(asked, sequences, trace.requests, record.size, bytes_per_token)
        if sample is None:
            sizes.append(sweep_block_size(sequences, touched, record, blocks, ttls))
        else:
            sizes.append(estimated_sweep(sequences, sample, record, blocks, ttls))
    return Sweep(
        prompt_tokens=int(sequences.prompt_tokens.sum()),
        requests=len(trace),
        reusable_tokens=int(sequences.seen_tokens().sum()),
        sizes=tuple(sizes),
        reuse_interval_s=_known(reuse_interval_percentiles(touched, records[0]), sample is not None),
        working_sets=() if whole is None else _working_sets(sequences, whole, records[0]),
        sample=None if sample is None else sample.account,
    )


def _working_sets(
    sequences: CachedSequences, touched: Touches, records: StackRecords
) -> tuple[WorkingSet, ...]:
    """Over the windows that are shorter than the trace."""
    span = 0.0
    if touched.time_ns is not None and len(touched.time_ns):
        span = float(touched.time_ns[-1] - touched.time_ns[0]) / 1e9
    windows = [w for w in _WINDOWS_S if w < span] or list(_WINDOWS_S[:1])
    return working_sets(sequences, touched, records, windows)


def _known(percentiles: dict[float, float] | None, sampled: bool) -> dict[float, float] | None:
    """A sample cannot tell the largest."""
    if percentiles is None or not sampled:
        return percentiles
    return {p: value for p, value in percentiles.items() if p < 1}


def run_lru(
    trace: Trace,
    size: int,
    capacity_blocks: int | None,
    ttl_s: float | None,
    content: Content,
    *,
    ignore_outputs: bool = False,
) -> Run:
    """One point of the sweep, request by request. Raises as run_sweep does."""
    sequences = cached_sequences(trace, ignore_outputs=ignore_outputs)
    if capacity_blocks is not None:
        check_capacity(sequences, trace.requests, size, capacity_blocks)
    touched = touches(sequences, trace.requests)
    records = stack_records(sequences, touched, size)
    hits = hits_by_request(records, touched, capacity_blocks, ttl_s)
    servable = sequences.servable_tokens(size)
    losses = sweep_losses(sequences, records, touched, capacity_blocks, ttl_s)
    point = sweep_block_size(sequences, touched, records, [capacity_blocks or 1 << 40], [ttl_s])
    return _run(
        sequences,
        hits,
        servable,
        losses,
        content,
        model="lru",
        standing="exact for the model",
        rules="blocks, least recently used first, tail first; requests one at a time; sliding lifetime",
        settings={"block_size": size, "capacity_blocks": capacity_blocks, "ttl_s": ttl_s},
        capacity_tokens=None if capacity_blocks is None else capacity_blocks * size,
        duplicate_writes=int(point.duplicate_writes[0, 0]),
    )


def run_engine(
    trace: Trace, engine: str, options: Mapping[str, float], content: Content, *, ignore_outputs: bool = False
) -> Run:
    """The trace under an engine's prefix cache. Raises UsageError for options that make no sense."""
    sequences = cached_sequences(trace, ignore_outputs=ignore_outputs)
    found = replay_engine(engine, sequences, trace.requests, options)
    losses = {MissClass.EVICTED: found.servable_tokens - found.hit_tokens}
    return _run(
        sequences,
        found.hit_tokens,
        found.servable_tokens,
        losses,
        content,
        model=found.engine,
        standing=found.standing,
        rules=found.rules,
        settings=dict(found.options),
        capacity_tokens=found.capacity_tokens,
        duplicate_writes=found.duplicate_writes,
        notes=found.notes,
    )


def run_policy(trace: Trace, settings: "ReplaySettings", content: Content) -> Run:
    """An event-by-event replay. Raises UsageError and CannotEvaluateError as `replay` does."""
    from simulators.policies import POLICIES
    from simulators.replay import replay

    result = replay(trace, settings)
    sequences = cached_sequences(trace, ignore_outputs=settings.ignore_outputs)
    losses = {kind: result.lost(loss) for loss, kind in _LOSS_CLASSES.items()}
    optimum = settings.policy == "belady"
    return _run(
        sequences,
        result.hit_tokens,
        result.servable_tokens,
        losses,
        content,
        model=settings.policy,
        standing="the exact optimum of the model, not only a bound" if optimum else "exact for the model",
        rules="blocks, event by event; " + POLICIES[settings.policy].summary,
        settings={
            "block_size": settings.block_size,
            "capacity_blocks": settings.capacity_blocks,
            "policy": settings.policy,
            "lifetime_s": None if settings.lifetime is None else settings.lifetime.seconds,
            "lifetime_from": None if settings.lifetime is None else settings.lifetime.counts_from,
            "replicas": settings.replicas.count,
            "routing": settings.replicas.routing if settings.replicas.count > 1 else None,
            "visibility": settings.concurrency.visibility,
            "single_flight": settings.concurrency.single_flight,
            "tiers": [f"{tier.name}: {tier.capacity_blocks} blocks" for tier in settings.tiers],
        },
        capacity_tokens=None
        if settings.capacity_blocks is None
        else settings.capacity_blocks * settings.block_size * settings.replicas.count,
        duplicate_writes=None,
        replay=result,
    )


def _run(
    sequences: CachedSequences,
    hits: Int64,
    servable: Int64,
    losses: Mapping[MissClass, Int64],
    content: Content,
    *,
    model: str,
    standing: str,
    rules: str,
    settings: Mapping[str, object],
    capacity_tokens: int | None,
    duplicate_writes: int | None,
    replay: "ReplayResult | None" = None,
    notes: tuple[str, ...] = (),
) -> Run:
    return Run(
        model=model,
        standing=standing,
        rules=rules,
        settings=settings,
        capacity_tokens=capacity_tokens,
        prompt_tokens=int(sequences.prompt_tokens.sum()),
        requests=len(sequences),
        hit_tokens=int(hits.sum()),
        requests_with_hits=int(np.count_nonzero(hits)),
        unbounded_hit_tokens=int(servable.sum()),
        duplicate_writes=duplicate_writes,
        by_request=classify_misses(
            sequences,
            hits,
            servable,
            losses,
            isolated=content.isolated,
            seen_elsewhere=content.seen_elsewhere,
        ),
        replay=replay,
        notes=notes,
    )
