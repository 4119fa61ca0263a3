"""What workers do for `seen_elsewhere`: say where chunks stood first, and count with what all others say.

Rows are compared, never counted, so a shard need not know the log's rows but only its own, by their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from analyzers.shards.chunk_firsts import ChunkRecords, chunk_records, first_rows, run_uses, tokens_seen
from analyzers.shards.cluster.shard_tasks import Placing
from analyzers.shards.piece import Piece
from analyzers.trace import Int32, Int64

_Number = TypeVar("_Number", np.int32, np.int64)


@dataclass(frozen=True)
class _Ranks:
    """A piece's requests by rank, their place among the rows of the piece: what is compared is order alone.

    `row` (int64) by rank; `rank` (int64) by request, -1 for one that is not in the Trace.
    """

    row: Int64
    rank: Int64

    @classmethod
    def of(cls, row: Int64) -> "_Ranks":
        ranked = np.sort(row[row >= 0])
        return cls(ranked, np.where(row >= 0, np.searchsorted(ranked, row), -1))

    def by_rank(self, values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """What is given by request."""
        ordered = np.empty(len(self.row), values.dtype)
        ordered[self.rank[self.rank >= 0]] = values[self.rank >= 0]
        return ordered


def chunk_parts(pieces: Sequence[Piece], placing: Placing, partitions: int) -> list[ChunkRecords]:
    """The chunks of a shard by partition. Travels to the partitions: 20 bytes a distinct chunk of a piece."""
    parts: list[list[ChunkRecords]] = [[] for _ in range(partitions)]
    for piece, row, namespace in zip(pieces, placing.rows, placing.namespaces, strict=True):
        ranks = _Ranks.of(row)
        uses = run_uses(piece.prompts, ranks.rank, ranks.by_rank(namespace))
        records = chunk_records(uses, piece.runs, 0, 1)
        first = ranks.row[records.first].astype(np.int32)
        for some, places in zip(parts, _by_partition(records, partitions), strict=True):
            some.append(ChunkRecords(records.key[places], first[places], np.empty(0, np.int64)))
    return [
        ChunkRecords(
            np.concatenate([r.key for r in some]),
            np.concatenate([r.first for r in some]),
            np.empty(0, np.int64),
        )
        for some in parts
    ]


def _by_partition(records: ChunkRecords, partitions: int) -> list[Int64]:
    """Places of the records of each partition of the hash space."""
    high = (records.key[:, 1] >> np.uint64(32)) * np.uint64(partitions)
    partition = (high >> np.uint64(32)).astype(np.int64)
    ends = np.cumsum(np.bincount(partition, minlength=partitions))
    return np.split(np.argsort(partition, kind="stable"), ends[:-1])


def first_of_part(*shards: ChunkRecords) -> list[Int32]:
    """For each shard, the first row of the log with each of its chunks. Travels back: 4 bytes a chunk."""
    return first_rows(shards)


def count_seen(
    pieces: Sequence[Piece], placing: Placing, reused: Sequence[Int64], *firsts: Int32
) -> list[Int64]:
    """`seen_elsewhere` by request, piece by piece. `reused` (int64) by request, `firsts` by partition.

    Travels to the driver: 8 bytes a request.
    """
    taken = [0] * len(firsts)
    seen: list[Int64] = []
    for piece, row, namespace, prefix in zip(pieces, placing.rows, placing.namespaces, reused, strict=True):
        ranks = _Ranks.of(row)
        spaces = ranks.by_rank(namespace)
        uses = run_uses(piece.prompts, ranks.rank, spaces)
        records = chunk_records(uses, piece.runs, 0, 1)
        first = np.empty(len(records.first), np.int64)
        for p, places in enumerate(_by_partition(records, len(firsts))):
            first[records.place[places]] = firsts[p][taken[p] : taken[p] + len(places)]
            taken[p] += len(places)
        # The last rank whose row is not behind the first row of the chunk: smaller than those that saw it before.
        latest = np.searchsorted(ranks.row, first, side="right") - 1
        seen.append(
            tokens_seen(
                piece.prompts,
                ranks.rank,
                spaces,
                ranks.by_rank(prefix),
                piece.runs,
                uses,
                latest.astype(np.int32),
            )
        )
    return seen
