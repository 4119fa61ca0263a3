"""Drawing a sample of touch records where they lie: parts of the forest draw on their own, and the draws are merged.

What is drawn depends on a record and its request's number in the whole log alone, so the parts together draw what the
whole would. All they need of one another is how many records there are of each length: from that follows the chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from analyzers.trace import Int32, Int64
from simulators.blocks import CachedSequences

DRAWN_BYTES = 17
"""Of a record in DrawnTouches."""


@dataclass(frozen=True)
class RecordLengths:
    """How many touch records have n tokens (int64, equal lengths): `again` of tokens that an earlier request touched,
    `new` of others."""

    again: Int64
    new: Int64

    def __len__(self) -> int:
        return int((self.again + self.new).sum())

    def __add__(self, other: "RecordLengths") -> "RecordLengths":
        room = max(len(self.again), len(other.again))
        columns = []
        for mine, others in ((self.again, other.again), (self.new, other.new)):
            total = np.zeros(room, np.int64)
            total[: len(mine)] += mine
            total[: len(others)] += others
            columns.append(total)
        return RecordLengths(*columns)

    def tokens_a_sample(self, rate: float) -> float:
        """The z at which `rate` of the records are drawn, each with chance min(1, tokens / z); at least 1."""
        counts = self.again + self.new
        if not counts.any():
            return 1.0
        tokens = np.arange(len(counts))
        total = np.cumsum(tokens * counts)
        longer = counts.sum() - np.cumsum(counts)
        room = rate * counts.sum() - longer
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(room > 0, total / room, np.inf)
        # Records of up to n tokens are drawn and longer ones taken: right where z lies between n and n + 1.
        fits = np.flatnonzero(z < tokens + 1)
        return max(float(z[fits[0]] if len(fits) else z[-1]), 1.0)

    def reuse_below(self, tokens: float) -> int:
        """Tokens touched again by records of fewer tokens."""
        shorter = np.arange(min(int(np.ceil(tokens)), len(self.again)))
        return int((shorter * self.again[shorter]).sum())


@dataclass(frozen=True)
class DrawnTouches:
    """Drawn records, by request, then depth: as TouchRecords, `last` −1 for what was not touched before, and the part
    of the sample that a record belongs to (`group`, int8, −1 for one that is always in it)."""

    request: Int32
    last: Int32
    start: Int32
    end: Int32
    group: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.request)


def record_lengths(sequences: CachedSequences) -> RecordLengths:
    """Of all records, by their length."""
    *_, again, new = _drawn(sequences, np.zeros(len(sequences), np.int32), np.inf, 0, 1)
    return RecordLengths(again, new)


def draw_touches(
    sequences: CachedSequences, rows: Int32, tokens_a_sample: float, seed: int, groups: int
) -> DrawnTouches:
    """Those of whole trees of the forest; `rows[r]` is the number that request r has in the whole log."""
    request, last, start, end, group, _, _ = _drawn(sequences, rows, tokens_a_sample, seed, groups)
    known = np.where(last < 0, np.int32(-1), rows[last]) if len(rows) else last
    return DrawnTouches(rows[request], known, start, end, group)


def merge_drawn(parts: Sequence[DrawnTouches]) -> DrawnTouches:
    """What the whole forest would draw, from its trees' draws in any order."""
    columns = [
        np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
        for name, kind in (
            ("request", np.int32),
            ("last", np.int32),
            ("start", np.int32),
            ("end", np.int32),
            ("group", np.int8),
        )
    ]
    order = np.lexsort((columns[2], columns[0]))
    return DrawnTouches(*(column[order] for column in columns))


def _drawn(
    sequences: CachedSequences, rows: Int32, tokens_a_sample: float, seed: int, groups: int
) -> tuple[Any, ...]:
    from simulators.kernels.sampling import drawn_touches

    drawn: tuple[Any, ...] = drawn_touches(
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        sequences.leaf,
        sequences.known_tokens,
        sequences.total_tokens,
        rows,
        seed,
        tokens_a_sample,
        groups,
    )
    return drawn
