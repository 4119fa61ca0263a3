"""From a trace and settings to what the compiled loop of a replay is given."""

from dataclasses import dataclass

import numpy as np

from analyzers.errors import CannotEvaluateError
from analyzers.trace import NO_TIME, Int32, Int64, Trace
from simulators.blocks import CachedSequences, block_ids, cached_sequences
from simulators.concurrency import ready_times
from simulators.invalidation import InvalidationReport, selected_blocks, selected_requests
from simulators.kernels.replay import block_accesses
from simulators.kernels.replay_plan import INVALIDATE, JOIN, LEAVE, Plan
from simulators.policies import BELADY, POLICIES, PRIORITY, SIZE_AWARE
from simulators.policies.belady import next_served_use
from simulators.policies.ends import NEVER
from simulators.policies.priority import request_classes
from simulators.policies.size_aware import rebuild_cost
from simulators.replay_settings import ReplaySettings
from simulators.replicas import route
from simulators.tiers import block_move_ns


@dataclass(frozen=True)
class Accesses:
    """The whole blocks of each request: blocks[offsets[r] : offsets[r + 1]], root first."""

    sequences: CachedSequences
    offsets: Int64
    blocks: Int32
    block_count: int
    """Distinct blocks."""
    servable: Int64
    seen: Int64
    occupied: Int64


def find_accesses(trace: Trace, settings: ReplaySettings) -> Accesses:
    size = settings.block_size
    sequences = cached_sequences(trace, ignore_outputs=settings.ignore_outputs)
    ids = block_ids(sequences, size)
    offsets, blocks, count = block_accesses(
        sequences.leaf,
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        sequences.total_tokens,
        size,
        ids.first_id,
        ids.count,
    )
    return Accesses(
        sequences,
        offsets,
        blocks,
        count,
        servable=np.minimum(sequences.most_hit_blocks(size), sequences.known_tokens // size),
        seen=sequences.servable_tokens(size) // size,
        occupied=-(-sequences.total_tokens // size),
    )


def make_plan(
    trace: Trace, settings: ReplaySettings, accesses: Accesses
) -> tuple[Plan, list[InvalidationReport]]:
    size, requests, offsets = settings.block_size, trace.requests, accesses.offsets
    time_ns = requests.time_ns
    if (time_ns == NO_TIME).any():
        if settings.needs_times():
            raise CannotEvaluateError(
                f"{int((time_ns == NO_TIME).sum()):,} of {len(trace):,} requests have no time in the log, and "
                "lifetimes, visibility, rates, events and load need them"
            )
        time_ns = np.arange(len(trace), dtype=np.int64)
    policy = POLICIES[settings.policy].code
    weight = np.zeros(len(trace), np.int64)
    if policy == PRIORITY:
        weight = request_classes(trace, settings.priorities)
    elif policy == SIZE_AWARE:
        weight = rebuild_cost(accesses.sequences.prompt_tokens, settings.attention_equals_rest)
    next_use = np.empty(0, np.int64)
    if policy == BELADY:
        next_use = next_served_use(offsets, accesses.blocks, accesses.servable, accesses.block_count)

    events, reports, event_blocks = _events(trace, settings, accesses)
    concurrency, failures = settings.concurrency, settings.failures
    block_bytes = None if settings.bytes_per_token is None else settings.bytes_per_token * size
    deadline = failures.restore_deadline_s
    rate = concurrency.prefill_tokens_per_s
    plan = Plan(
        policy=policy,
        offsets=offsets,
        blocks=accesses.blocks,
        servable=accesses.servable,
        seen=accesses.seen,
        occupied=accesses.occupied,
        time_ns=time_ns,
        prompt_tokens=accesses.sequences.prompt_tokens,
        block_tokens=size,
        weight=weight,
        next_use=next_use,
        timeless=(
            settings.lifetime is None
            and settings.concurrency.visibility == "at-once"
            and not settings.tiers
            and settings.failures.write == 0
        ),
        ttl_kind=0 if settings.lifetime is None else settings.lifetime.kind(),
        ttl_ns=0 if settings.lifetime is None else round(settings.lifetime.seconds * 1e9),
        at_once=concurrency.visibility == "at-once",
        ready_ns=ready_times(concurrency, requests),
        ns_per_token=0.0 if rate is None else 1e9 / rate,
        single_flight=concurrency.single_flight,
        doomed=failures.failing_writes(len(trace)),
        restore_failure=float(failures.restore),
        seed=failures.seed,
        deadline_ns=NEVER if deadline is None else round(deadline * 1e9),
        move_ns=np.array(block_move_ns(settings.tiers, block_bytes), np.float64),
        route=route(settings.replicas, trace, time_ns, _prefix_keys(trace, settings, accesses)),
        balance=float(settings.replicas.balance),
        half_life_ns=settings.replicas.half_life_s * 1e9,
        event_ns=np.array([when for when, _, _ in events], np.int64),
        event_kind=np.array([kind for _, kind, _ in events], np.int64),
        event_replica=np.array([replica for _, _, replica in events], np.int64),
        event_offsets=np.concatenate(
            [np.zeros(1, np.int64), np.cumsum([len(b) for b in event_blocks], dtype=np.int64)]
        ),
        event_blocks=np.concatenate([np.empty(0, np.int32), *event_blocks]),
    )
    return plan, reports


def _prefix_keys(trace: Trace, settings: ReplaySettings, accesses: Accesses) -> Int64:
    """What identifies the first tokens of each prompt: its block there, its namespace for a prompt of no block."""
    size = settings.block_size
    # A router knows the prompt only, not the output that follows it.
    length = np.minimum(
        max(settings.replicas.prefix_tokens // size, 1), accesses.sequences.prompt_tokens // size
    )
    keys = -1 - trace.requests.namespace.astype(np.int64)
    some = length > 0
    keys[some] = accesses.blocks[accesses.offsets[:-1][some] + length[some] - 1]
    return keys


def _events(
    trace: Trace, settings: ReplaySettings, accesses: Accesses
) -> tuple[list[tuple[int, int, int]], list[InvalidationReport], list[Int32]]:
    """Events in time order as (ns, kind, replica), reports to be filled for the invalidations among them, and the
    blocks of each event."""
    events: list[tuple[int, int, int, Int32, InvalidationReport | None]] = [
        (c.time_ns, JOIN if c.joins else LEAVE, c.replica, np.empty(0, np.int32), None)
        for c in settings.replicas.in_order()
    ]
    for event in settings.invalidations:
        chosen = selected_requests(event, trace)
        blocks = selected_blocks(event, trace, chosen, accesses.offsets, accesses.blocks, settings.block_size)
        report = InvalidationReport(event, len(chosen), len(blocks), ())
        events.append((event.time_ns, INVALIDATE, -1, blocks, report))
    events.sort(key=lambda entry: entry[0])
    return (
        [(when, kind, replica) for when, kind, replica, _, _ in events],
        [report for *_, report in events if report is not None],
        [blocks for *_, blocks, _ in events],
    )
