"""What workers do for a cluster: each task is a plain function of a shard's pieces, or of what shards send each other.

Pieces stay where they were made; what travels is said at each task. The results of all tasks together are what
`merge_pieces` computes on one machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from analyzers.logs.account import SliceAccount
from analyzers.logs.detect import ReadOptions
from analyzers.part_tokens import as_offsets
from analyzers.pipeline import TraceOptions
from analyzers.rendering import RenderingAccount
from analyzers.request_rows import RequestRows
from analyzers.shards.chunk_firsts import ChunkRecords, chunk_records, first_rows, run_uses, tokens_seen
from analyzers.shards.forest import (
    Grove,
    Sequences,
    crown_share,
    grow_groups,
    number_groups,
    root_keys,
    select,
)
from analyzers.shards.parcels import (
    Parcel,
    deal,
    longest_sequences,
    parcel_of_piece,
    put_together,
    sequences_of,
)
from analyzers.shards.piece import Piece, UInt64
from analyzers.shards.piece_maker import PieceMaker
from analyzers.shards.plan import Shard
from analyzers.shards.slices import read_slices
from analyzers.trace import Int32, Int64, Ragged

_Number = TypeVar("_Number", np.int32, np.int64)


@dataclass(frozen=True)
class Head:
    """What of a piece goes to the driver; a `PieceHead`. `virtual` are the texts that its own ids stand for.

    `prompt_tokens` and `output_tokens` (int64) count, by request, what goes into the tree.
    """

    account: SliceAccount
    rows: RequestRows
    path_names: list[str]
    rendering: RenderingAccount
    rendering_description: str
    tokenizer: str | None
    tokenizer_notes: tuple[str, ...]
    holds_text: bool
    virtual: tuple[str, ...]
    prompt_tokens: Int64
    output_tokens: Int64


@dataclass(frozen=True)
class Layout:
    """Where blocks end and markers stand in the prompts of a piece, by request; as in `Piece`."""

    boundaries: Ragged
    boundary_paths: Ragged
    markers: Ragged
    marker_ttl_s: Ragged
    path_names: list[str]


@dataclass(frozen=True)
class Placing:
    """Where the requests of a shard stand in the Trace, piece by piece.

    `rows` (int64) and `namespaces` (int32) by request; the row is -1 for one that is not in the Trace. `virtual`
    numbers the texts that ids stand for, for all shards alike; `outputs`: whether outputs go into the tree.
    """

    rows: list[Int64]
    namespaces: list[Int32]
    virtual: Mapping[str, int]
    outputs: bool


@dataclass(frozen=True)
class Roots:
    """Distinct (namespace, root) pairs of a shard: `namespace` (int32), `key` (uint64 of shape (roots, 2)), and
    `runs` (int64), how many runs the requests have that begin so."""

    namespace: Int32
    key: UInt64
    runs: Int64


@dataclass(frozen=True)
class Routes:
    """For each of a shard's roots, in the order of `Roots`: its group and who builds the group's tree (int64)."""

    group: Int64
    reducer: Int64
    reducers: int


@lru_cache(maxsize=1)
def _maker(options: TraceOptions) -> PieceMaker:
    return PieceMaker(options)


def make_pieces(
    shard: Shard, reading: ReadOptions, options: TraceOptions, tokenizer: str | None
) -> tuple[list[Head], list[Piece]]:
    """Read a shard; heads travel to the driver. Raises what reading and tokenizing raise."""
    pieces = [_maker(options).piece(part, tokenizer) for part in read_slices(shard, reading)]
    return [head_of(piece) for piece in pieces], pieces


def head_of(piece: Piece) -> Head:
    """What the driver needs of a piece to order and number the requests of all."""
    sizes = np.diff(piece.runs.offsets)
    ends = as_offsets(sizes[piece.prompts.values])
    return Head(
        account=piece.account,
        rows=piece.rows,
        path_names=piece.path_names,
        rendering=piece.rendering,
        rendering_description=piece.rendering_description,
        tokenizer=piece.tokenizer,
        tokenizer_notes=piece.tokenizer_notes,
        holds_text=piece.holds_text,
        virtual=tuple(piece.runs.virtual.values()),
        prompt_tokens=np.diff(ends[piece.prompts.offsets]),
        output_tokens=np.append(sizes, 0)[piece.output],
    )


def layouts(pieces: Sequence[Piece]) -> list[Layout]:
    """Travels to the driver: 16 bytes a block of a prompt."""
    return [Layout(p.boundaries, p.boundary_paths, p.markers, p.marker_ttl_s, p.path_names) for p in pieces]


def shard_roots(pieces: Sequence[Piece], placing: Placing, root_tokens: int) -> Roots:
    """Travels to the driver: 28 bytes a root of the shard."""
    requests = _requests(pieces, placing)
    keys, root = _roots_of(requests, root_tokens)
    rooted = np.flatnonzero(root >= 0)
    _, first = np.unique(root[rooted], return_index=True)
    weight = np.diff(requests.prompts.offsets) + (requests.output >= 0)
    return Roots(
        requests.namespace[rooted][first],
        keys[rooted][first],
        np.bincount(root[rooted], weights=weight[rooted]).astype(np.int64),
    )


def deal_requests(
    pieces: Sequence[Piece], placing: Placing, routes: Routes, root_tokens: int
) -> list[Parcel]:
    """Travels to the reducers: what each needs of the shard, every run of it once."""
    requests = _requests(pieces, placing)
    _, root = _roots_of(requests, root_tokens)
    group = np.append(routes.group, -1)[root]
    # Any reducer will do for requests without a root.
    reducer = np.where(root >= 0, np.append(routes.reducer, -1)[root], requests.owner % routes.reducers)
    return deal(replace(requests, group=group), reducer, routes.reducers)


def grow_share(root_tokens: int, *parcels: Parcel) -> tuple[Grove, Sequences]:
    """The trees of a reducer's groups, and its share of the crown. Travels to the driver: 16 bytes a node."""
    sequences = sequences_of(put_together(parcels), root_tokens)
    rooted = np.flatnonzero(sequences.group >= 0)
    return grow_groups(select(sequences, rooted)), crown_share(sequences, root_tokens)


def _requests(pieces: Sequence[Piece], placing: Placing) -> Parcel:
    parcels = [
        parcel_of_piece(
            piece.runs,
            piece.prompts,
            piece.output if placing.outputs else np.full(len(piece.output), -1, np.int32),
            row.astype(np.int32),
            namespace,
            placing.virtual,
        )
        for piece, row, namespace in zip(pieces, placing.rows, placing.namespaces, strict=True)
    ]
    return put_together(parcels)


def _roots_of(requests: Parcel, root_tokens: int) -> tuple[UInt64, Int64]:
    """The root of each request, and which of the shard's distinct ones it is (-1: it has none)."""
    keys = root_keys(longest_sequences(requests), root_tokens)
    return keys, number_groups(requests.namespace, keys)


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
