"""The token runs of all pieces in one pool, each content once, and all prompts and outputs as lists of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzers.part_tokens import as_offsets, positions
from analyzers.prefix_tree import TokenRuns, UInt32
from analyzers.shards.piece import Piece
from analyzers.shards.room import Room, let_go
from analyzers.time_order import Bool
from analyzers.tokenization import FIRST_VIRTUAL_ID
from analyzers.trace import Int32, Int64, Ragged


@dataclass(frozen=True)
class RunPool:
    """Run k is pool[offsets[k] : offsets[k + 1]] (`pool` uint32, in the room; `offsets` int64).

    `numbers[p]` (int32) gives the run of the pool that each run of piece p is.
    """

    pool: UInt32
    offsets: Int64
    numbers: list[Int32]


@dataclass(frozen=True)
class Conversations:
    """Prompts and outputs by row of the Trace: sequence r is the prompt of row r, then its output if it has one.

    `has_output` (bool), `prompt_tokens` and `cached_tokens` (int64, prompt and output) by row.
    """

    sequences: TokenRuns
    has_output: Bool
    prompt_tokens: Int64
    cached_tokens: Int64


def pool_runs(pieces: Sequence[Piece], room: Room) -> RunPool:
    """Number the runs of all pieces by their content, and lay each content down once."""
    from analyzers.shards import kernels

    most = sum(len(piece.runs) for piece in pieces)
    slots = 16
    while slots < 2 * most:
        slots *= 2
    table, known = np.full(slots, -1, np.int32), np.empty((most, 2), np.uint64)
    numbers: list[Int32] = []
    new: list[Int64] = []
    lengths: list[Int64] = []
    count = 0
    for piece in pieces:
        number = np.empty(len(piece.runs), np.int32)
        before, count = count, kernels.intern_hashes(piece.runs.hash, table, known, count, number)
        _, first = np.unique(number, return_index=True)
        first = first[number[first] >= before]
        numbers.append(number)
        new.append(first)
        lengths.append(np.diff(piece.runs.offsets)[first])
        let_go(piece.runs.hash)
    del table, known
    offsets = as_offsets(np.concatenate(lengths))
    pool = room.array("pool", int(offsets[-1]), np.uint32)
    virtual: dict[str, int] = {}
    run = 0
    for piece, first in zip(pieces, new, strict=True):
        ids = _virtual_ids(piece.runs.virtual, virtual)
        kernels.copy_runs(piece.runs.pool, piece.runs.offsets, first, ids, pool, offsets[run])
        run += len(first)
        let_go(piece.runs.pool)
        let_go(pool)
    return RunPool(pool, offsets, numbers)


def _virtual_ids(of_piece: dict[int, str], known: dict[str, int]) -> UInt32:
    """Element i is the id, the same in all pieces, of the piece's id FIRST_VIRTUAL_ID + i (uint32)."""
    last = max(of_piece, default=FIRST_VIRTUAL_ID - 1)
    ids = np.arange(FIRST_VIRTUAL_ID, last + 1, dtype=np.uint32)
    for number, text in of_piece.items():
        ids[number - FIRST_VIRTUAL_ID] = known.setdefault(text, FIRST_VIRTUAL_ID + len(known))
    return ids


def conversations(
    pieces: Sequence[Piece],
    runs: RunPool,
    row_of: Sequence[Int64],
    rows: int,
    room: Room,
    outputs: bool = True,
) -> Conversations:
    """The prompts of all pieces, and their outputs where wanted, by row; `row_of` as in `MergedRows`."""
    length = np.diff(runs.offsets)
    counts = np.zeros(rows, np.int64)
    has_output = np.zeros(rows, bool)
    prompt_tokens = np.zeros(rows, np.int64)
    cached_tokens = np.zeros(rows, np.int64)
    for piece, row in zip(pieces, row_of, strict=True):
        kept = row >= 0
        own = row[kept]
        counts[own] = np.diff(piece.prompts.offsets)[kept]
        sizes = np.diff(piece.runs.offsets)
        ends = as_offsets(sizes[piece.prompts.values])
        prompt_tokens[own] = np.diff(ends[piece.prompts.offsets])[kept]
        if outputs:
            has_output[own] = piece.output[kept] >= 0
            cached_tokens[own] = np.append(sizes, 0)[piece.output[kept]]
    cached_tokens += prompt_tokens
    offsets = as_offsets(counts + has_output)
    used = room.array("runs", int(offsets[-1]), np.int64)
    for piece, row, number in zip(pieces, row_of, runs.numbers, strict=True):
        used[places(piece.prompts, row, offsets)] = number[piece.prompts.values]
        if outputs:
            answered = (row >= 0) & (piece.output >= 0)
            used[offsets[row[answered] + 1] - 1] = number[piece.output[answered]]
        let_go(piece.prompts.values)
    sequences = TokenRuns(runs.pool, runs.offsets[:-1], length, offsets, used)
    return Conversations(sequences, has_output, prompt_tokens, cached_tokens)


def places(lists: Ragged, row: Int64, offsets: Int64) -> Int64:
    """Where the values of a piece's lists go in a list by row that begins at `offsets`; outside rows have none."""
    counts = np.diff(lists.offsets)
    return positions(np.where(row >= 0, offsets[row], 0), counts)


def merge_lists(
    name: str,
    lists: Sequence[Ragged],
    row_of: Sequence[Int64],
    rows: int,
    room: Room,
    codes: Sequence[Int64] | None = None,
) -> Ragged:
    """The lists of all pieces by row; `codes[p]`, if given, is what each value of piece p becomes."""
    counts = np.zeros(rows, np.int64)
    for some, row in zip(lists, row_of, strict=True):
        counts[row[row >= 0]] = np.diff(some.offsets)[row >= 0]
    offsets = as_offsets(counts)
    values = room.array(name, int(offsets[-1]), np.int64)
    for p, (some, row) in enumerate(zip(lists, row_of, strict=True)):
        values[places(some, row, offsets)] = some.values if codes is None else codes[p][some.values]
        let_go(some.values)
    let_go(values)
    return Ragged(offsets, values)
