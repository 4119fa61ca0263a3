"""Sweeps from a sample of the touch records, where even these are too many: an estimate, and how good it is.

As in SHARDS (Waldspurger, Park, Garthwaite and Ahmad, FAST 2015) a hash decides what is in the sample, stack distances
and hits found in it are scaled by the inverse of the chance to be in it, and the hits are corrected by their number, which
is known. SHARDS hashes the block, because a cache's log does not say when a block was touched before unless all its touches
are in the sample: a block of a system prompt that everyone sends then takes most of the sample or is missing from it. Here
the prefix tree says of every touch which request touched the same tokens before. So records are drawn, not blocks:

- A record is drawn by a hash of its request and depth, the same for all block sizes, with a chance in proportion to its
  length; a long one is taken always (threshold sampling; Duffield, Lund and Thorup, 2005). A drawn one stands for as
  many tokens as make up for its chance.
- What was touched between two touches, each token once, is the sum of the records in between whose own touch before
  lies before both. Drawn records estimate that sum; what of it is the path itself is known, and a lower bound.
- What a cache without bounds hits needs no records. It is computed exactly, and the hits are scaled to it.

The sample falls into GROUPS parts by hash. The estimate is made again without each of them in turn; how far these
estimates lie apart and from the whole tells the standard error and the bias (jackknife). Added to it is what a sample of this size may miss altogether
(rule of three). A drawn record stands for a number of tokens; capacities of few times that number cannot be told apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analyzers.errors import CannotEvaluateError, UsageError
from analyzers.trace import NO_TIME, Int32, Int64, RequestTable
from simulators.blocks import CachedSequences, check_block_size
from simulators.drawn_touches import DRAWN_BYTES, draw_touches, record_lengths
from simulators.stack_records import StackRecords
from simulators.sweep import UNBOUNDED_BLOCKS, BlockSweep, hit_tokens, in_tokens, sweep_block_size

GROUPS = 10
LEAST_REUSES = 20
"""Fewer drawn records of what was touched before say too little about their own error."""
_SAMPLES_A_CAPACITY = 4
"""With fewer drawn records in a cache the error of distances bends the curve more than the jackknife sees."""
_BIASES = 3
"""The jackknife sees what a tenth fewer records bend. Times three, intervals held what they promise on every log measured
(benchmarks/sampling.py)."""
_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples, less their whole parts, are spread evenly over [0, 1)."""
_QUANTILE = 2.262
"""97.5 % quantile of Student's t with GROUPS − 1 degrees of freedom."""
_UNIT = 1 << 12
"""Weights are whole multiples of its inverse, so that sums do not depend on their order."""


@dataclass(frozen=True)
class Sampling:
    """About `rate` of the touch records (0 < rate <= 1), chosen by `seed`."""

    rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise UsageError(f"a sample of {self.rate:g} is not possible; give a share such as 0.01")
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"a seed of {self.seed} is not possible; give a whole number from 0 to 2^63 - 1")


@dataclass(frozen=True)
class SampleAccount:
    """What a sweep was estimated from: `kept_records` of all touch `records`, each `record_bytes` long. One of fewer than
    `tokens_a_sample` tokens stands for that many, a longer one for itself. Capacities below `least_capacity_tokens`
    cannot be told; where a knee or a percentile is that number, it is at most that."""

    rate: float
    seed: int
    records: int
    kept_records: int
    record_bytes: int
    tokens_a_sample: float
    least_capacity_tokens: int
    groups: int = GROUPS

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is missing, so that nothing is estimated."""
        return self.kept_records == self.records


@dataclass(frozen=True)
class SampledTouches:
    """The touch records in a sample, in order of request; see `drawn_touches`.

    `request`, `last`, `start`, `end`: int32; `age_ns`: int64, time since the touch before, 0 where there was
    none, None without times; `group` (int8): the part of the sample, −1 for what every sample has.
    `drawn_reuse_tokens`: tokens touched again, over the whole trace, that a sample may miss.
    """

    account: SampleAccount
    request: Int32
    last: Int32
    start: Int32
    end: Int32
    age_ns: Int64 | None
    group: npt.NDArray[np.int8]
    drawn_reuse_tokens: int

    @property
    def reuses(self) -> int:
        """Drawn records of what was touched before."""
        return int(np.count_nonzero((self.group >= 0) & (self.last >= 0)))

    def resolution_blocks(self, size: int) -> int:
        """The least capacity the sample can tell, 0 where all records are in it."""
        return -(-self.account.least_capacity_tokens // size)

    def _step_tokens(self) -> float:
        """What a drawn record stands for, 0 where all records are in the sample."""
        return 0.0 if self.account.keeps_all else self.account.tokens_a_sample

    def error(self, estimate: Int64, without: Int64, most: int) -> Int64:
        """Half the width of a 95 % interval (int64) around an estimate, from those without each group, [groups, …].

        Standard error and thrice the bias by the jackknife; what makes up 3 / n of the reuse to draw from may be missing among n
        draws in one case of twenty. `most` is the exact value of what no estimate can exceed.
        """
        if not self.resolution_blocks(1):
            return np.zeros(estimate.shape, np.int64)
        mean = without.mean(axis=0)
        spread = np.sum((without - mean) ** 2, axis=0) * (GROUPS - 1) / GROUPS
        bias = _BIASES * (GROUPS - 1) * np.abs(mean - estimate)
        missing = self.drawn_reuse_tokens * 3 / max(self.reuses, 3)
        half = _QUANTILE * np.sqrt(spread) + bias + missing
        error: Int64 = np.ceil(np.minimum(half, most)).astype(np.int64)
        return error

    def weights(self, without: int | None = None) -> Int64:
        """How often each record counts, in 1 / 4096 (int64); without one group of the sample."""
        weight = np.maximum(self.account.tokens_a_sample / (self.end - self.start), 1.0)
        if without is not None:
            weight[self.group >= 0] *= GROUPS / (GROUPS - 1)
            weight[self.group == without] = 0
        whole: Int64 = np.rint(weight * _UNIT).astype(np.int64)
        return whole

    def stack_records(
        self, sequences: CachedSequences, size: int, without: int | None = None
    ) -> StackRecords:
        """Estimated stack distances at one block size. Raises UsageError for a size the trace cannot be cut into.

        The place that a running request's partial block takes is counted for every distance.
        """
        from simulators.kernels.sampling import touched_since

        check_block_size(size, sequences.unit)
        weight = self.weights(without)
        first_block, end_block = self.start // size, self.end // size
        blocks = (end_block - first_block) * weight
        places, place = np.unique(self.last, return_inverse=True)
        reached = np.concatenate([np.zeros(1, np.int64), np.cumsum(blocks)])
        before = reached[np.searchsorted(self.request, self.last, side="right")]
        since = touched_since(self.request, place.reshape(-1), blocks, before, len(places)) // _UNIT
        # Sums of drawn records are multiples of what one stands for; spread out, they meet each capacity alike.
        spread = (np.modf(np.arange(len(since)) * _GOLDEN)[0] - 0.5) * self._step_tokens() / size
        distance = np.maximum(since + spread.astype(np.int64), first_block) + (size > 1)
        again = self.last >= 0
        readable = np.minimum(end_block, sequences.most_hit_blocks(size)[self.request]) - first_block
        records = StackRecords(
            size=size,
            distance=np.where(again, distance, 0),
            readable=np.where(again, np.maximum(readable, 0), 0),
            width=np.where(again, end_block - first_block, 0).astype(np.int64),
            weight=weight,
            unit=_UNIT,
        )
        return records.scaled_to(int(sequences.servable_tokens(size).sum()) // size)


def sample_touches(sequences: CachedSequences, requests: RequestTable, sampling: Sampling) -> SampledTouches:
    """A sample of about `sampling.rate` of the touch records. Work follows all paths, memory the sample.

    Raises CannotEvaluateError for a sample in which too little was touched again to judge the estimate by.
    """
    lengths = record_lengths(sequences)
    tokens_a_sample = lengths.tokens_a_sample(sampling.rate)
    every = np.arange(len(sequences), dtype=np.int32)
    drawn = draw_touches(sequences, every, tokens_a_sample, sampling.seed, GROUPS)
    if whole := len(drawn) == len(lengths):
        tokens_a_sample = 1.0  # by luck or not, every record is there and stands for itself
    age = None
    if np.all(requests.time_ns != NO_TIME):
        age = np.where(drawn.last < 0, 0, requests.time_ns[drawn.request] - requests.time_ns[drawn.last])
    sample = SampledTouches(
        account=SampleAccount(
            rate=sampling.rate,
            seed=sampling.seed,
            records=len(lengths),
            kept_records=len(drawn),
            record_bytes=DRAWN_BYTES + (0 if age is None else age.itemsize),
            tokens_a_sample=tokens_a_sample,
            least_capacity_tokens=0 if whole else round(_SAMPLES_A_CAPACITY * tokens_a_sample),
        ),
        request=drawn.request,
        last=drawn.last,
        start=drawn.start,
        end=drawn.end,
        age_ns=age,
        group=drawn.group,
        drawn_reuse_tokens=lengths.reuse_below(tokens_a_sample),
    )
    if sample.reuses < LEAST_REUSES and sample.drawn_reuse_tokens:
        raise CannotEvaluateError(
            f"a sample of {sampling.rate:g} keeps {len(drawn):,} of {len(lengths):,} touch records, too few to judge the "
            "estimate by; sample more, or leave --sample out for the exact answer"
        )
    return sample


def estimated_sweep(
    sequences: CachedSequences,
    sample: SampledTouches,
    records: StackRecords,
    capacities: Sequence[int],
    ttls: Sequence[float | None],
) -> BlockSweep:
    """The sweep of a sample, with the error of its hits; what the largest distance decides is left unknown.

    Raises UsageError for a capacity below what the sample can tell.
    """
    size, finest = records.size, sample.resolution_blocks(records.size)
    if min(capacities) < finest:
        raise UsageError(
            f"at block size {size} a capacity of {in_tokens(min(capacities), size)} is less than a sample of "
            f"{sample.account.rate:g} can tell; give at least {in_tokens(finest, size)} or larger blocks, sample more, "
            "or leave --sample out"
        )
    swept = sweep_block_size(sequences, sample, records, capacities, ttls, finest)
    rooms = np.append(swept.capacity_blocks, UNBOUNDED_BLOCKS)
    without = []
    for group in range(GROUPS):
        left = sample.stack_records(sequences, size, group)
        without.append(hit_tokens(sample, left, left.readable, rooms, swept.ttl_s))
    estimate = hit_tokens(sample, records, records.readable, rooms, swept.ttl_s)
    error = sample.error(estimate, np.stack(without), swept.ceiling_tokens)
    return replace(
        swept,
        flat_blocks=None,
        stack_distance_blocks={p: blocks for p, blocks in swept.stack_distance_blocks.items() if p < 1},
        hit_error_tokens=error[:, :-1],
        unbounded_error_tokens=error[:, -1],
    )
