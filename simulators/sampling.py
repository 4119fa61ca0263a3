"""Sweeps from a sample of the touches, where even touch records are too many: an estimate, and how good it is.

Spatially hashed sampling (SHARDS; Waldspurger, Park, Garthwaite and Ahmad, FAST 2015): a place is in the sample for
all requests or for none, decided by a hash of what the place is, and stack distances and hits in the sample are
scaled by the inverse of the sampling rate. What differs for prefix caches:

- The place is an edge of the prefix tree, known by the request that brought it and the depth it begins at, so one
  sample serves all block sizes. All blocks of an edge are touched together; one record stands for them all.
- An edge is taken with a probability in proportion to its length, long edges always: in a sample of equally likely
  edges the few long ones decide the result (threshold sampling; Duffield, Lund and Thorup, 2005).
- Of the blocks above a touched one, those of its own path are known without sampling; only the rest is estimated.
- What a cache without bounds hits needs no touch records. It is computed exactly, and the estimated hits are scaled
  to it, as SHARDS-adj corrects its histogram by the number of references.

The sample falls into GROUPS parts by hash. The estimate is made again without each of them in turn; how far these
estimates lie apart tells the standard error (jackknife). Added to it is what a sample of this size may miss altogether
(rule of three). A sampled edge stands for a length of its own at least, so smaller capacities cannot be told apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analyzers.errors import CannotEvaluateError, UsageError
from analyzers.trace import NO_TIME, Int32, Int64, RequestTable
from simulators.blocks import CachedSequences, check_block_size
from simulators.stack_records import StackPass, StackRecords
from simulators.sweep import UNBOUNDED_BLOCKS, BlockSweep, hit_tokens, sweep_block_size
from simulators.touch_records import Touches

GROUPS = 10
LEAST_REUSES = 20
"""Fewer touches of drawn edges that were touched before say too little about their own error."""
_QUANTILE = 2.262
"""97.5 % quantile of Student's t with GROUPS − 1 degrees of freedom."""
_UNIT = 4096
"""Weights are whole multiples of 1 / 4096, so that sums do not depend on their order."""


@dataclass(frozen=True)
class Sampling:
    """About `rate` of the touches (0 < rate <= 1), chosen by `seed`."""

    rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise UsageError(f"a sample of {self.rate:g} is not possible; give a share such as 0.01")


@dataclass(frozen=True)
class SampleAccount:
    """What a sweep was estimated from. `touches`: requests times the tree's edges on their paths; `kept_touches` of
    them are in the sample, each `record_bytes` long. An edge shorter than `tokens_a_sample` that is in it stands for
    that many tokens, a longer one for itself."""

    rate: float
    seed: int
    touches: int
    kept_touches: int
    kept_requests: int
    record_bytes: int
    tokens_a_sample: float
    groups: int = GROUPS


@dataclass(frozen=True)
class SampledTouches:
    """Touches of the sampled edges, by the requests that have any (`rows`, int32, places in the trace).

    `group` (int8 a touch) is the part of the sample, −1 for an edge that every sample has. `prompt_tokens`,
    `total_tokens`: int64 a kept request. `drawn_reuse_tokens`: tokens touched again, over the whole trace, on edges
    that a sample may miss.
    """

    account: SampleAccount
    rows: Int32
    touched: Touches
    group: npt.NDArray[np.int8]
    prompt_tokens: Int64
    total_tokens: Int64
    drawn_reuse_tokens: int

    @property
    def reuses(self) -> int:
        """Touches of edges that were drawn, not taken for their length, by a request that is not their first."""
        return int(np.count_nonzero((self.group >= 0) & (self.touched.last >= 0)))

    def resolution_blocks(self, size: int) -> int:
        """The least capacity the sample can tell, 0 where no edge was drawn."""
        drawn = bool((self.group >= 0).any())
        return int(np.ceil(self.account.tokens_a_sample / size)) if drawn else 0

    def error(self, estimates: Int64, most: int) -> Int64:
        """Half the width of a 95 % interval (int64), from the estimates without each group, [groups, …].

        `most` is the exact value of what they cannot exceed. What makes up 3 / n of the drawn edges' reuse may be missing
        among n draws in one case of twenty.
        """
        if not self.resolution_blocks(1):
            return np.zeros(estimates.shape[1:], np.int64)
        spread = np.sum((estimates - estimates.mean(axis=0)) ** 2, axis=0)
        missing = self.drawn_reuse_tokens * 3 / max(self.reuses, 3)
        half = _QUANTILE * np.sqrt(spread * (GROUPS - 1) / GROUPS) + missing
        error: Int64 = np.ceil(np.minimum(half, most)).astype(np.int64)
        return error

    def weights(self, without: int | None = None) -> Int64:
        """How often each touched block counts, in 1 / 4096 (int64 a touch); without one group of the sample."""
        z = self.account.tokens_a_sample
        weight = np.maximum(z / (self.touched.end - self.touched.start), 1.0)
        if without is not None:
            weight[self.group >= 0] *= GROUPS / (GROUPS - 1)
            weight[self.group == without] = 0
        whole: Int64 = np.rint(weight * _UNIT).astype(np.int64)
        return whole

    def stack_records(
        self, sequences: CachedSequences, size: int, without: int | None = None
    ) -> StackRecords:
        """Estimated stack distances at one block size. Raises UsageError for a size the trace cannot be cut into."""
        check_block_size(size, sequences.unit)
        touched, weight = self.touched, self.weights(without)
        blocks = touched.end // size - touched.start // size
        own = np.zeros(len(self.rows), np.int64)
        np.add.at(own, touched.request, blocks * weight)
        records = StackPass(size, len(self.rows), _UNIT).records(
            touched.offsets,
            touched.last,
            touched.start,
            touched.end,
            self.prompt_tokens,
            self.total_tokens,
            weight,
            own,
        )
        return records.scaled_to(int(sequences.servable_tokens(size).sum()) // size)


def sample_touches(sequences: CachedSequences, requests: RequestTable, sampling: Sampling) -> SampledTouches:
    """A sample of about `sampling.rate` of the touches. Work follows all touches, memory those of the sample.

    Raises CannotEvaluateError for a sample in which too little was touched again to judge the estimate by.
    """
    from simulators.kernels.sampling import path_counts, sampled_touches

    counts = path_counts(sequences.parent, sequences.leaf)
    alone = sequences.total_tokens - sequences.known_tokens
    tokens = np.concatenate([sequences.depth_end - sequences.depth_start, alone[alone > 0]])
    counts = np.concatenate([counts, np.ones(len(tokens) - len(counts), np.int64)])
    tokens_a_sample = _tokens_a_sample(tokens[counts > 0], counts[counts > 0], sampling.rate)
    rows, offsets, last, start, end, group = sampled_touches(
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        sequences.first_request,
        sequences.leaf,
        sequences.known_tokens,
        sequences.total_tokens,
        sampling.seed,
        tokens_a_sample,
        GROUPS,
    )
    timed = bool(np.all(requests.time_ns != NO_TIME))
    touched = Touches(offsets, last, start, end, requests.time_ns[rows] if timed else None)
    account = SampleAccount(
        rate=sampling.rate,
        seed=sampling.seed,
        touches=int(counts.sum()),
        kept_touches=len(last),
        kept_requests=len(rows),
        record_bytes=sum(column.itemsize for column in (last, start, end, group)),
        tokens_a_sample=tokens_a_sample,
    )
    drawn = tokens < tokens_a_sample
    sample = SampledTouches(
        account,
        rows,
        touched,
        group,
        sequences.prompt_tokens[rows],
        sequences.total_tokens[rows],
        drawn_reuse_tokens=int((tokens * np.maximum(counts - 1, 0))[drawn].sum()),
    )
    if sample.reuses < LEAST_REUSES and sample.drawn_reuse_tokens:
        raise CannotEvaluateError(
            f"a sample of {sampling.rate:g} keeps {account.kept_touches:,} of {account.touches:,} touches, too few to "
            "judge the estimate by; sample more, or leave --sample out for the exact answer"
        )
    return sample


def _tokens_a_sample(tokens: Int64, counts: Int64, rate: float) -> float:
    """The length z at which Σ counts · min(1, tokens / z) is `rate` of all counts: at least 1."""
    order = np.argsort(-tokens, kind="stable")
    tokens, counts = tokens[order].astype(np.float64), counts[order]
    certain = np.concatenate([np.zeros(1), np.cumsum(counts)[:-1]])
    shorter = np.cumsum((tokens * counts)[::-1])[::-1]
    room = rate * counts.sum() - certain
    with np.errstate(divide="ignore"):
        z = np.where(room > 0, shorter / room, 0.0)
    # Edge k and all behind it are drawn, those before it taken: right where z lies between their lengths.
    fits = np.flatnonzero(z >= tokens)
    return max(float(z[fits[0]]), 1.0) if len(fits) else 1.0


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
            f"a capacity of {min(capacities):,} blocks of {size} is less than a sample of {sample.account.rate:g} can "
            f"tell; give at least {finest:,} blocks ({finest * size:,} tokens), or sample more"
        )
    swept = sweep_block_size(sequences, sample.touched, records, capacities, ttls, finest)
    rooms = np.append(swept.capacity_blocks, UNBOUNDED_BLOCKS)
    estimates = []
    for group in range(GROUPS):
        without = sample.stack_records(sequences, size, group)
        estimates.append(hit_tokens(sample.touched, without, without.readable, rooms, swept.ttl_s))
    error = sample.error(np.stack(estimates), swept.ceiling_tokens)
    return replace(
        swept,
        flat_blocks=None,
        stack_distance_blocks={p: blocks for p, blocks in swept.stack_distance_blocks.items() if p < 1},
        hit_error_tokens=error[:, :-1],
        unbounded_error_tokens=error[:, -1],
    )
