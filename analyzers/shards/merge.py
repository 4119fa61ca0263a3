"""Pieces of a log merged into the Trace that `trace_log` makes of the whole log at once, byte for byte once saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from analyzers.part_tokens import RequestTree, in_tokens
from analyzers.pipeline import TOOL_VERSION, TraceOptions, assembled
from analyzers.prefix_tree import build_tree_with_outputs
from analyzers.rendering import RenderingAccount
from analyzers.request import Log
from analyzers.request_table import Boundaries
from analyzers.reuse import reusable_depth
from analyzers.shards.chunk_firsts import seen_over_pieces
from analyzers.shards.merged_rows import MergedRows, PieceHead, merge_rows, stale_pieces, tokenizer_choice
from analyzers.shards.piece import Piece
from analyzers.shards.room import Room
from analyzers.shards.run_pool import conversations, merge_lists, pool_runs
from analyzers.trace import MISSING, Int64, Ragged, Trace, TraceInfo


@dataclass(frozen=True)
class MergedTrace:
    """A Trace, and the account of its log: a Log without its requests, of which there are len(trace)."""

    trace: Trace
    log: Log


class PieceLayout(Protocol):
    """Where blocks end and markers stand in the prompts of a piece. Fields as in `Piece`."""

    @property
    def boundaries(self) -> Ragged: ...
    @property
    def boundary_paths(self) -> Ragged: ...
    @property
    def markers(self) -> Ragged: ...
    @property
    def marker_ttl_s(self) -> Ragged: ...
    @property
    def path_names(self) -> list[str]: ...


def merge_pieces(pieces: Sequence[Piece], options: TraceOptions, room: Room) -> MergedTrace:
    """The Trace of pieces that stand in the order of shards and slices, none of them stale (`stale_pieces`).

    The large arrays of the Trace lie in the room. Raises what `read_log` and `trace_log` raise.
    """
    assert stale_pieces(pieces, options) is None, "pieces are made with one tokenizer before they are merged"
    merged = merge_rows(pieces, options)
    built = tree_of_pieces(pieces, merged, room)
    seen = np.full(len(merged.rows), MISSING, np.int64)
    if merged.log.unit == 1:
        reused, _ = reusable_depth(built.tree, built.leaf)
        prompts, runs = [p.prompts for p in pieces], [p.runs for p in pieces]
        seen = seen_over_pieces(prompts, runs, merged.row_of, merged.namespace, reused, room)
    boundaries = merge_boundaries(pieces, merged, room)
    return finished(pieces, merged, options, built, seen, boundaries)


def tree_of_pieces(pieces: Sequence[Piece], merged: MergedRows, room: Room) -> RequestTree:
    """The prefix tree over all pieces, as `tree_of_requests` builds it."""
    unit = merged.log.unit
    runs = pool_runs(pieces, room)
    whole = conversations(pieces, runs, merged.row_of, len(merged.rows), room, outputs=unit == 1)
    depth = whole.sequences.run_depths(room.array("run_depths", len(whole.sequences.runs), np.int32))
    built = build_tree_with_outputs(whole.sequences, whole.has_output, merged.namespace, depth)
    for name in ("pool", "runs", "run_depths"):
        room.discard(name)
    if unit > 1:
        return in_tokens(built, unit, np.maximum(merged.rows.usage_prompt, 0))
    return RequestTree(built.tree, built.leaf, built.cached_leaf, whole.prompt_tokens, whole.cached_tokens)


def merge_boundaries(pieces: Sequence[PieceLayout], merged: MergedRows, room: Room) -> Boundaries:
    """Where blocks end and markers stand in every prompt, and the names of the paths, as in the Trace."""
    names = sorted({name for piece in pieces for name in piece.path_names})
    number = {name: index for index, name in enumerate(names)}
    codes = [np.array([number[name] for name in piece.path_names], np.int64) for piece in pieces]
    row_of, rows = merged.row_of, len(merged.rows)
    return Boundaries(
        ends=merge_lists("boundaries", [p.boundaries for p in pieces], row_of, rows, room),
        paths=merge_lists("paths", [p.boundary_paths for p in pieces], row_of, rows, room, codes),
        markers=merge_lists("markers", [p.markers for p in pieces], row_of, rows, room),
        marker_ttl_s=merge_lists("marker_ttl_s", [p.marker_ttl_s for p in pieces], row_of, rows, room),
        names=names,
    )


def finished(
    heads: Sequence[PieceHead],
    merged: MergedRows,
    options: TraceOptions,
    built: RequestTree,
    seen: Int64,
    boundaries: Boundaries,
) -> MergedTrace:
    """The Trace of what was merged; adds the notes on rendering and tokenizer to the log."""
    log, rows = merged.log, merged.rows
    account = RenderingAccount()
    for head in heads:
        account.add(head.rendering)
    made = next((head for head in heads if head.tokenizer is not None), None)
    for text in (*account.notes(), *(made.tokenizer_notes if made is not None else ())):
        log.note(text)
    note = "the log gives ids, or no content at all"
    if made is not None:
        note = tokenizer_choice(rows).note if options.tokenizer == "auto" else "as asked for"
    info = TraceInfo(
        tokenizer=made.tokenizer or "none" if made is not None else "none",
        tokenizer_note=note,
        rendering=made.rendering_description if made is not None else "ids as the log gives them",
        namespace_fields=merged.namespace_fields,
        namespaces=merged.namespaces,
        prompts_incomplete=log.prompts_incomplete,
        unit=log.unit,
        sources=tuple(log.formats),
        notes=tuple(log.notes),
        tool_version=TOOL_VERSION,
    )
    return MergedTrace(assembled(info, rows, merged.namespace, built, seen, boundaries), log)
