"""Hit tokens for every block size, capacity and sliding lifetime at once, from one pass a block size.

The cache modelled: blocks of B tokens, least recently used first out, requests served one at a time. A request
reads the leading blocks that are there, but computes at least its last token; it touches its whole blocks deepest
first and root last; its partial last block takes one place while it runs; a block untouched for longer than the
lifetime is gone and takes no place. LRU with sliding lifetimes has the stack property, so one pass over stack
distances is exact for all capacities and lifetimes (Mattson et al., 1970).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analyzers.errors import UsageError
from analyzers.trace import Int64, RequestTable
from simulators.blocks import CachedSequences
from simulators.stack_records import StackRecords, lifetime_index, untimed
from simulators.touch_records import Aged, Touches

UNBOUNDED_BLOCKS = np.iinfo(np.int64).max // 4
PERCENTILES = (0.5, 0.9, 0.95, 0.99, 1.0)
KNEE_SHARE = 0.99
"""The knee is the least capacity that reaches this share of the unbounded hits."""


@dataclass(frozen=True)
class Doubling:
    """What one doubling of capacity (blocks) or lifetime (seconds) brings over the step before it."""

    value: float
    hit_tokens: int
    gained_tokens: int | None


@dataclass(frozen=True)
class BlockSweep:
    """All capacities and lifetimes at one block size.

    `capacity_blocks` (int64, ascending, repeated where two asked for come to the same blocks; the places a cache has
    for blocks, in use or not), `ttl_s` (ascending,
    None for no expiry), `hit_tokens` and `duplicate_writes` int64[lifetimes, capacities]. Duplicate writes are
    blocks computed again although they are in the cache, because of the last-token rule or because an output
    repeats: an engine that keeps both copies may differ from this sweep there.
    """

    block_size: int
    least_blocks: int
    capacity_blocks: Int64
    ttl_s: tuple[float | None, ...]
    hit_tokens: Int64
    duplicate_writes: Int64
    unbounded_hit_tokens: Int64
    """By lifetime, with unbounded capacity (int64)."""
    ceiling_tokens: int
    """Unbounded capacity, no expiry."""
    knee_blocks: int
    flat_blocks: int | None
    """Least capacity that loses nothing to eviction; a sample cannot tell."""
    stack_distance_blocks: dict[float, int]
    """Percentiles of the capacity needed by a hit block."""
    capacity_doublings: tuple[Doubling, ...]
    ttl_doublings: tuple[Doubling, ...]
    hit_error_tokens: Int64 | None = None
    """Of a sample: half the width of the 95 % interval around each of `hit_tokens`; None where they are exact."""
    unbounded_error_tokens: Int64 | None = None
    """The same for `unbounded_hit_tokens`."""


def least_blocks(sequences: CachedSequences, size: int) -> int:
    """Blocks that the largest request occupies while it runs; 0 for an empty trace."""
    return int((-(-sequences.total_tokens // size)).max(initial=0))


def check_capacity(sequences: CachedSequences, requests: RequestTable, size: int, blocks: int) -> None:
    """Raises UsageError when the largest request does not fit into `blocks` blocks."""
    least = least_blocks(sequences, size)
    if blocks < least:
        largest = int(np.argmax(sequences.total_tokens))
        raise UsageError(
            f"at block size {size} a capacity of {in_tokens(blocks, size)} cannot hold request "
            f"{requests.request_id[largest]!r} of {int(sequences.total_tokens[largest]):,} tokens; "
            f"give at least {in_tokens(least, size)} or larger blocks"
        )


def in_tokens(blocks: int, size: int) -> str:
    """Blocks for a sentence, with the tokens they hold: several block sizes may share one number of blocks."""
    return f"{blocks:,} blocks ({blocks * size:,} tokens)"


def hits_by_request(
    records: StackRecords, touched: Touches, capacity: int | None, ttl_s: float | None
) -> Int64:
    """Hit tokens of each request (int64) at one capacity in blocks (None: unbounded) and one lifetime."""
    kept = records.readable
    if capacity is not None:
        kept = np.clip(capacity - records.distance, 0, records.readable)
    if ttl_s is not None:
        kept = np.where(ages(touched) <= round(ttl_s * 1e9), kept, 0)
    requests = len(touched.offsets) - 1
    hits: Int64 = np.bincount(touched.request, kept, requests).astype(np.int64) * records.size
    return hits


def sweep_block_size(
    sequences: CachedSequences,
    touched: Aged,
    records: StackRecords,
    capacity_blocks: Sequence[int],
    ttls_s: Sequence[float | None],
    resolution_blocks: int = 0,
) -> BlockSweep:
    """Hits at every capacity and lifetime. Raises CannotEvaluateError when a lifetime needs times that the
    trace does not have. Capacities must hold the largest request (see check_capacity); what needs less room than
    `resolution_blocks` is said to need that much."""
    size = records.size
    capacities = np.array(sorted(capacity_blocks), np.int64)
    ttls = tuple(sorted({t for t in ttls_s if t is not None})) + ((None,) if None in ttls_s else ())
    unbounded = np.array([UNBOUNDED_BLOCKS])
    least = least_blocks(sequences, size)
    smallest = max(least, resolution_blocks)
    flat = max(records.least_capacity(1.0), smallest)
    hits = hit_tokens(touched, records, records.readable, capacities, ttls)
    resident = hit_tokens(touched, records, records.width, capacities, ttls)
    return BlockSweep(
        block_size=size,
        least_blocks=least,
        capacity_blocks=capacities,
        ttl_s=ttls,
        hit_tokens=hits,
        duplicate_writes=(resident - hits) // size,
        unbounded_hit_tokens=hit_tokens(touched, records, records.readable, unbounded, ttls)[:, 0],
        ceiling_tokens=records.readable_blocks() * size,
        knee_blocks=max(records.least_capacity(KNEE_SHARE), smallest),
        flat_blocks=flat,
        stack_distance_blocks={p: max(records.least_capacity(p), resolution_blocks) for p in PERCENTILES},
        capacity_doublings=_capacity_doublings(touched, records, smallest, flat),
        ttl_doublings=_ttl_doublings(touched, records, unbounded),
    )


def reuse_interval_percentiles(touched: Aged, records: StackRecords) -> dict[float, float] | None:
    """Seconds since the last touch of the tokens an unbounded cache hits; None without times or hits."""
    if touched.age_ns is None or not records.readable.any():
        return None
    order = np.argsort(touched.age_ns, kind="stable")
    reached = np.cumsum((records.readable * records.weight)[order])
    at = [int(np.searchsorted(reached, np.ceil(p * reached[-1]))) for p in PERCENTILES]
    return {p: float(touched.age_ns[order[k]]) / 1e9 for p, k in zip(PERCENTILES, at, strict=True)}


def ages(touched: Aged) -> Int64:
    """Nanoseconds since the last touch, per stretch. Raises CannotEvaluateError for a trace without times."""
    if touched.age_ns is None:
        raise untimed()
    return touched.age_ns


def hit_tokens(
    touched: Aged,
    records: StackRecords,
    width: Int64,
    capacities: Int64,
    ttls: Sequence[float | None],
) -> Int64:
    """Hits among the first `width` blocks of each record: int64[lifetimes, capacities]; both ascend, None is the last
    lifetime. Raises CannotEvaluateError as sweep_block_size does."""
    lifetime = np.zeros(len(width), np.int64)
    if any(t is not None for t in ttls):
        lifetime = lifetime_index(ages(touched), ttls)
    return records.hit_tokens(width, lifetime, len(ttls), capacities)


def _capacity_doublings(touched: Aged, records: StackRecords, least: int, flat: int) -> tuple[Doubling, ...]:
    steps = [max(least, 1)]
    while steps[-1] < flat:
        steps.append(steps[-1] * 2)
    hits = hit_tokens(touched, records, records.readable, np.array(steps, np.int64), [None])[0]
    return _doublings(steps, hits)


def _ttl_doublings(touched: Aged, records: StackRecords, unbounded: Int64) -> tuple[Doubling, ...]:
    if touched.age_ns is None or not records.readable.any():
        return ()
    longest = float(touched.age_ns[records.readable > 0].max()) / 1e9
    steps = [1.0]
    while steps[-1] < longest:
        steps.append(steps[-1] * 2)
    return _doublings(steps, hit_tokens(touched, records, records.readable, unbounded, steps)[:, 0])


def _doublings(steps: Sequence[float], hits: Int64) -> tuple[Doubling, ...]:
    gains = [None, *(int(b - a) for a, b in pairwise(hits))]
    return tuple(
        Doubling(float(step), int(hit), gain) for step, hit, gain in zip(steps, hits, gains, strict=True)
    )
