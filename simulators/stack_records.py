"""Stack distances at one block size, from touch records: of a whole trace, or of a log given in pieces."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analyzers.errors import CannotEvaluateError
from analyzers.trace import NO_TIME, Int32, Int64
from simulators.blocks import CachedSequences, check_block_size
from simulators.touch_records import TouchedRequests, Touches

NO_EXPIRY_NS = np.iinfo(np.int64).max


@dataclass(frozen=True)
class StackRecords:
    """Per touch record, at one block size (int64 arrays, in blocks): stack distance of its first block, how many of
    its blocks may be read, how many it has; see `stack_distances`.

    In a sample a block of record i stands for weight[i] / unit blocks, and a hit for `correction` times as many;
    otherwise all three are 1.
    """

    size: int
    distance: Int64
    readable: Int64
    width: Int64
    weight: Int64
    unit: int = 1
    correction: float = 1.0

    def readable_blocks(self) -> int:
        """Blocks that a cache without bounds hits."""
        return round(self._counted() * (self.correction / self.unit))

    def scaled_to(self, blocks: int) -> "StackRecords":
        """With a correction by which a cache without bounds hits so many blocks."""
        counted = self._counted()
        return replace(self, correction=blocks * self.unit / counted if counted else 1.0)

    def _counted(self) -> int:
        return int((self.readable * self.weight).sum())

    def least_capacity(self, share: float) -> int:
        """The least capacity in blocks that hits at least `share` of what an unbounded cache hits; 0 if nothing."""
        used = (self.readable > 0) & (self.weight > 0)
        begins, ends, weight = self.distance[used], (self.distance + self.readable)[used], self.weight[used]
        if not len(begins):
            return 0
        at = np.concatenate([begins, ends])
        order = np.argsort(at, kind="stable")
        at = at[order]
        slope = np.cumsum(np.concatenate([weight, -weight])[order])
        hits = np.concatenate([np.zeros(1, np.int64), np.cumsum(slope[:-1] * np.diff(at))])
        target = int(np.ceil(share * int(hits[-1])))
        k = int(np.searchsorted(hits, target))
        if k == 0:
            return int(at[0])
        return int(at[k] - (int(hits[k]) - target) // int(slope[k - 1]))

    def hit_tokens(self, width: Int64, lifetime: Int64, lifetimes: int, capacities: Int64) -> Int64:
        """int64[lifetimes, capacities]: hits among the first `width` blocks of each record; see `hit_blocks`."""
        from simulators.kernels.stack import hit_blocks

        hits = hit_blocks(self.distance, width, self.weight, lifetime, lifetimes, capacities)
        tokens: Int64 = np.rint(hits * (self.size * self.correction / self.unit)).astype(np.int64)
        return tokens


@dataclass
class StackPass:
    """The state of a pass over `requests` requests, taken in their order, any number at a time.

    Memory follows the number of requests (8 bytes each), not that of records.
    """

    size: int
    requests: int
    _row: int = 0
    _live: Int64 = field(init=False)
    _state: Int64 = field(init=False)

    def __post_init__(self) -> None:
        self._live = np.zeros(self.requests + 1, np.int64)
        self._state = np.array([0, -1, np.iinfo(np.int64).max], np.int64)

    def records(
        self,
        offsets: Int64,
        last: Int32,
        start: Int32,
        end: Int32,
        prompt_tokens: Int64,
        total_tokens: Int64,
    ) -> StackRecords:
        """Those of the next requests; `offsets` begin at 0, the rest is as in TouchedRequests."""
        from simulators.kernels.stack import stack_distances

        distance, readable, width = stack_distances(
            self._live,
            self._state,
            self._row,
            offsets,
            last,
            start,
            end,
            self.size,
            total_tokens,
            np.maximum(prompt_tokens - 1, 0) // self.size,
        )
        self._row += len(total_tokens)
        return StackRecords(
            self.size, distance, readable, width, weight=np.broadcast_to(np.int64(1), len(last))
        )


def stack_records(sequences: CachedSequences, touched: Touches, size: int) -> StackRecords:
    """Stack distances at one block size. Raises UsageError for a size the trace cannot be cut into."""
    check_block_size(size, sequences.unit)
    return StackPass(size, len(sequences)).records(
        touched.offsets,
        touched.last,
        touched.start,
        touched.end,
        sequences.prompt_tokens,
        sequences.total_tokens,
    )


def hits_in_pieces(
    blocks: Iterable[TouchedRequests],
    requests: int,
    size: int,
    capacities: Sequence[int],
    ttls_s: Sequence[float | None],
) -> Int64:
    """Hit tokens (int64[lifetimes, capacities]) of a log of `requests` requests that is given a block at a time.

    `capacities` in blocks and `ttls_s` ascend, None (no expiry) is the last lifetime. Memory: 16 bytes a request and
    one block of records. Raises CannotEvaluateError for a lifetime where a request has no time.
    """
    rooms = np.array(capacities, np.int64)
    hits = np.zeros((len(ttls_s), len(rooms)), np.int64)
    passing = StackPass(size, requests)
    time_ns = np.empty(requests, np.int64)
    row = 0
    for block in blocks:
        count = len(block.total_tokens)
        time_ns[row : row + count] = block.time_ns
        records = passing.records(
            block.offsets, block.last, block.start(), block.end, block.prompt_tokens, block.total_tokens
        )
        lifetime = np.zeros(len(block.last), np.int64)
        if any(t is not None for t in ttls_s):
            if (block.time_ns == NO_TIME).any():
                raise untimed()
            age = np.repeat(block.time_ns, np.diff(block.offsets)) - time_ns[block.last]
            lifetime = lifetime_index(age, ttls_s)
        hits += records.hit_tokens(records.readable, lifetime, len(ttls_s), rooms)
        row += count
    return hits


def lifetime_index(age_ns: Int64, ttls_s: Sequence[float | None]) -> Int64:
    """Index of the shortest lifetime (int64) that keeps each record alive; their number where none does."""
    edges = np.array([NO_EXPIRY_NS if t is None else round(t * 1e9) for t in ttls_s], np.int64)
    return np.searchsorted(edges, age_ns).astype(np.int64)


def untimed() -> CannotEvaluateError:
    """What a lifetime meets in a trace without times."""
    return CannotEvaluateError(
        "lifetimes cannot be swept because some requests have no time; leave --ttl out or add timestamps"
    )
