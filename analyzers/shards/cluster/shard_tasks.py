"""What workers do with a shard alone: make its pieces, and tell the driver of them.

Pieces stay where they were made. The results of all tasks together (here, in `tree_tasks` and in `chunk_tasks`) are
what `merge_pieces` computes on one machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analyzers.logs.account import SliceAccount
from analyzers.logs.detect import ReadOptions
from analyzers.part_tokens import as_offsets
from analyzers.pipeline import TraceOptions
from analyzers.rendering import RenderingAccount
from analyzers.request_rows import RequestRows
from analyzers.shards.piece import Piece
from analyzers.shards.piece_maker import piece_maker
from analyzers.shards.plan import Shard
from analyzers.shards.slices import read_slices
from analyzers.trace import Int32, Int64, Ragged


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


def make_pieces(
    shard: Shard, reading: ReadOptions, options: TraceOptions, tokenizer: str | None
) -> tuple[list[Head], list[Piece]]:
    """Read a shard; heads travel to the driver. Raises what reading and tokenizing raise."""
    pieces = [piece_maker(options).piece(part, tokenizer) for part in read_slices(shard, reading)]
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
