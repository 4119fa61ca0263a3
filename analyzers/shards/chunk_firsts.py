"""`seen_elsewhere` of a log in pieces: from the first request of each chunk in its namespace.

The first request is a minimum, so it does not matter in which order pieces, or where parts of the hash space, are
looked at. A piece gives its chunks by partitions of the hash space (`chunk_records`), the records of a partition from
all pieces give the first rows (`first_rows`), and with those a piece counts on its own (`tokens_seen`). A chunk
stood in an earlier prompt if its first row is smaller than the prompt's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzers.seen import SHORTEST_STRETCH
from analyzers.shards.piece import DistinctRuns, UInt64
from analyzers.shards.room import Room, let_go
from analyzers.trace import Int32, Int64, Ragged

_RECORDS_AT_ONCE = 2**20
"""Chunk records of a partition: about 70 MB while their minimum is taken."""


@dataclass(frozen=True)
class RunUses:
    """Distinct (namespace, run) pairs of a piece's prompts, and the first row of the Trace in which each stands.

    int32 each.
    """

    run: Int32
    namespace: Int32
    first: Int32

    def chunks(self, runs: DistinctRuns) -> int:
        """Number of chunks of all pairs."""
        return int((runs.chunk_offsets[self.run + 1] - runs.chunk_offsets[self.run]).sum())


@dataclass(frozen=True)
class ChunkRecords:
    """Chunks of a piece by namespace: `key` (uint64, records x 2) says which chunk it is, and in which namespace.

    `first` (int32) is the first row of the piece that has it, `place` (int64) where it stands among all chunks of
    the piece's pairs, pair after pair.
    """

    key: UInt64
    first: Int32
    place: Int64


def run_uses(prompts: Ragged, row: Int64, namespace: Int32) -> RunUses:
    """The pairs of a piece; `row` is the row of each of its requests (-1: none), `namespace` by row."""
    from analyzers.shards import kernels

    return RunUses(*kernels.first_uses(prompts.offsets, prompts.values, row, namespace))


def partitions_for(chunks: int) -> int:
    """In how many parts the chunks of all pieces are to be compared."""
    return max(1, -(-chunks // _RECORDS_AT_ONCE))


def chunk_records(uses: RunUses, runs: DistinctRuns, partition: int, partitions: int) -> ChunkRecords:
    """The chunks of a piece whose hash falls into one of `partitions` equal parts of the hash space."""
    from analyzers.shards import kernels

    return ChunkRecords(
        *kernels.chunks_of_partition(
            uses.run,
            uses.namespace,
            uses.first,
            runs.chunk_offsets,
            runs.chunk_hash,
            partition,
            partitions,
        )
    )


def first_rows(records: Sequence[ChunkRecords]) -> list[Int32]:
    """The first row that has each chunk (int32), for each of these records, which are those of all pieces."""
    from analyzers.shards import kernels

    least = kernels.least_of_each(
        np.concatenate([some.key for some in records]), np.concatenate([some.first for some in records])
    )
    return np.split(least, np.cumsum([len(some.first) for some in records])[:-1])


def tokens_seen(
    prompts: Ragged,
    row: Int64,
    namespace: Int32,
    reused: Int64,
    runs: DistinctRuns,
    uses: RunUses,
    first: Int32,
) -> Int64:
    """Per request of a piece, the tokens that `tokens_seen_elsewhere` counts (int64).

    `namespace` and `reused` are by row of the Trace; `first` (int32) is the first row of the log with each chunk of
    the piece's pairs, pair after pair.
    """
    from analyzers.shards import kernels

    seen: Int64 = kernels.seen_in_piece(
        prompts.offsets,
        prompts.values,
        row,
        namespace,
        reused,
        runs.offsets,
        runs.chunk_offsets,
        runs.chunk_length,
        uses.run,
        uses.namespace,
        first,
        SHORTEST_STRETCH,
    )
    return seen


def seen_over_pieces(
    prompts: Sequence[Ragged],
    runs: Sequence[DistinctRuns],
    row_of: Sequence[Int64],
    namespace: Int32,
    reused: Int64,
    room: Room,
    partitions: int | None = None,
) -> Int64:
    """The column `seen_elsewhere` (int64 by row) of a log whose pieces lie on this machine.

    `row_of` gives the row of each request of each piece, -1 for none; `namespace` and `reused` are by row.
    """
    uses = [run_uses(some, row, namespace) for some, row in zip(prompts, row_of, strict=True)]
    counts = [use.chunks(own) for use, own in zip(uses, runs, strict=True)]
    firsts = room.array("first_rows", sum(counts), np.int32)
    of_piece = np.split(firsts, np.cumsum(counts, dtype=np.int64)[:-1])
    partitions = partitions or partitions_for(sum(counts))
    for partition in range(partitions):
        records = []
        for use, own in zip(uses, runs, strict=True):
            records.append(chunk_records(use, own, partition, partitions))
            let_go(own.chunk_hash)
        for out, some, first in zip(of_piece, records, first_rows(records), strict=True):
            out[some.place] = first
    seen = np.zeros(len(namespace), np.int64)
    for some_prompts, own, row, use, first in zip(prompts, runs, row_of, uses, of_piece, strict=True):
        counted = tokens_seen(some_prompts, row, namespace, reused, own, use, first)
        seen[row[row >= 0]] = counted[row >= 0]
        let_go(some_prompts.values)
    room.discard("first_rows")
    return seen
