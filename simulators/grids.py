"""Capacities and lifetimes to sweep: as asked, or log-spaced from the least that makes sense to where nothing changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analyzers.errors import UsageError
from analyzers.trace import RequestTable
from simulators.blocks import CachedSequences
from simulators.stack_records import StackRecords
from simulators.sweep import check_capacity, least_blocks
from simulators.touch_records import Aged

CapacityUnit = Literal["blocks", "tokens", "bytes"]
_STEPS_A_DOUBLING = 2
_ROUND_SECONDS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400)


@dataclass(frozen=True)
class Capacities:
    """Capacities in one unit, ascending."""

    unit: CapacityUnit
    values: tuple[int, ...]

    def in_blocks(self, size: int, bytes_per_token: int | None) -> list[int]:
        """Whole blocks of `size` tokens in each. Raises UsageError for bytes when a token's bytes are unknown."""
        if self.unit == "blocks":
            return list(self.values)
        if self.unit == "tokens":
            return [value // size for value in self.values]
        if bytes_per_token is None:
            raise UsageError(
                "a capacity in bytes needs the size of a token: name --model or give --kv-bytes-per-token"
            )
        return [value // (size * bytes_per_token) for value in self.values]


def spaced(low: float, high: float, points: int | None) -> list[float]:
    """From low to high: each twice the one before, or `points` log-spaced values. Raises UsageError."""
    if not 0 < low <= high:
        raise UsageError(
            f"a range goes from a smaller to a larger positive value, not from {low:g} to {high:g}"
        )
    if points is None:
        steps = [low]
        while steps[-1] * 2 < high:
            steps.append(steps[-1] * 2)
        return [*steps, high] if high > low else steps
    if points < 2:
        raise UsageError(f"a range of {points} points is no range; give 2 or more")
    return [float(x) for x in np.geomspace(low, high, points)]


def automatic_capacities(
    sequences: CachedSequences, records: Sequence[StackRecords], least_tokens: int = 0
) -> Capacities:
    """Token capacities from the largest request, or `least_tokens`, to where the last curve is flat, two for each
    doubling."""
    coarsest = max(record.size for record in records)
    low = max(least_tokens, *(least_blocks(sequences, r.size) * r.size for r in records))
    high = max(low, *(r.least_capacity(1.0) * r.size for r in records))
    steps = [float(max(low, 1))]
    while steps[-1] < high:
        steps.append(steps[-1] * 2 ** (1 / _STEPS_A_DOUBLING))
    return Capacities("tokens", tuple(sorted({-(-round(s) // coarsest) * coarsest for s in steps})))


def automatic_lifetimes(touched: Aged, records: Sequence[StackRecords]) -> tuple[float | None, ...]:
    """Round lifetimes from a second to the longest reuse interval, and no expiry; only that without times."""
    if touched.age_ns is None:
        return (None,)
    ages = [touched.age_ns[record.readable > 0] for record in records]
    longest = max((int(a.max()) for a in ages if len(a)), default=0) / 1e9
    shorter = [float(s) for s in _ROUND_SECONDS if s < longest]
    longer = [float(s) for s in _ROUND_SECONDS if s >= longest][:1]
    return (*shorter, *longer, None)


def settle_capacities(
    capacities: Capacities,
    sequences: CachedSequences,
    requests: RequestTable,
    size: int,
    bytes_per_token: int | None,
) -> list[int]:
    """The capacities in blocks of `size`. Raises UsageError for one that cannot hold the largest request."""
    blocks = capacities.in_blocks(size, bytes_per_token)
    check_capacity(sequences, requests, size, min(blocks))
    return blocks
