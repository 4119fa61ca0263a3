"""The parts of a Trace that no shard can make alone, made by a cluster from pieces that lie on its machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analyzers.part_tokens import RequestTree, in_tokens
from analyzers.pipeline import TraceOptions
from analyzers.request_table import Boundaries
from analyzers.reuse import reusable_depth
from analyzers.shards.cluster.chunk_tasks import chunk_parts, count_seen, first_of_part
from analyzers.shards.cluster.forest import ROOT_TOKENS, graft, grow_crown
from analyzers.shards.cluster.protocol import Cluster
from analyzers.shards.cluster.routing import route_requests
from analyzers.shards.cluster.shard_tasks import Head, Placing, layouts
from analyzers.shards.cluster.tree_tasks import deal_requests, grow_share
from analyzers.shards.merge import MergedTrace, finished, merge_boundaries
from analyzers.shards.merged_rows import MergedRows, merge_rows
from analyzers.shards.room import MemoryRoom
from analyzers.tokenization import FIRST_VIRTUAL_ID
from analyzers.trace import MISSING, Int64


@dataclass(frozen=True)
class ShardPieces:
    """A shard that was read: the heads of its pieces, and the handle of the pieces."""

    heads: list[Head]
    pieces: Any


def merge_on_cluster(
    cluster: Cluster, shards: Sequence[ShardPieces], options: TraceOptions, root_tokens: int = ROOT_TOKENS
) -> MergedTrace:
    """The Trace that `merge_pieces` makes of the same pieces. None of them may be stale.

    Raises what `merge_pieces` raises, and TaskError.
    """
    heads = [head for shard in shards for head in shard.heads]
    merged = merge_rows(heads, options)
    placings = _placings(shards, merged)
    built = _tree(cluster, shards, placings, merged, root_tokens)
    seen = np.full(len(merged.rows), MISSING, np.int64)
    if merged.log.unit == 1:
        reused, _ = reusable_depth(built.tree, built.leaf)
        seen = _seen_elsewhere(cluster, shards, placings, reused)
    return finished(heads, merged, options, built, seen, _boundaries(cluster, shards, merged))


def _placings(shards: Sequence[ShardPieces], merged: MergedRows) -> list[Placing]:
    virtual: dict[str, int] = {}
    placings: list[Placing] = []
    piece = 0
    for shard in shards:
        rows = merged.row_of[piece : piece + len(shard.heads)]
        piece += len(shard.heads)
        texts = {text for head in shard.heads for text in head.virtual}
        ids = {text: virtual.setdefault(text, FIRST_VIRTUAL_ID + len(virtual)) for text in texts}
        namespaces = [np.where(row >= 0, merged.namespace[row], -1).astype(np.int32) for row in rows]
        placings.append(Placing(rows, namespaces, ids, outputs=merged.log.unit == 1))
    return placings


def _tree(
    cluster: Cluster,
    shards: Sequence[ShardPieces],
    placings: Sequence[Placing],
    merged: MergedRows,
    root_tokens: int,
) -> RequestTree:
    routes = route_requests(cluster, [shard.pieces for shard in shards], placings, root_tokens)
    reducers = routes[0].reducers
    dealt = [
        cluster.submit_split(deal_requests, reducers, shard.pieces, placing, own)
        for shard, placing, own in zip(shards, placings, routes, strict=True)
    ]
    grown = [cluster.submit(grow_share, *parcels) for parcels in zip(*dealt, strict=True)]
    del dealt
    shares = [cluster.get(result) for result in grown]
    crown = grow_crown([share for _, share in shares])
    rows = merged.rows
    built = graft(crown, [grove for grove, _ in shares], len(rows))
    if merged.log.unit > 1:
        return in_tokens(built, merged.log.unit, np.maximum(rows.usage_prompt, 0))
    heads = [head for shard in shards for head in shard.heads]
    prompt_tokens = _by_row([head.prompt_tokens for head in heads], merged.row_of, len(rows))
    output_tokens = _by_row([head.output_tokens for head in heads], merged.row_of, len(rows))
    return RequestTree(
        built.tree, built.leaf, built.cached_leaf, prompt_tokens, prompt_tokens + output_tokens
    )


def _seen_elsewhere(
    cluster: Cluster, shards: Sequence[ShardPieces], placings: Sequence[Placing], reused: Int64
) -> Int64:
    partitions = cluster.workers
    sent = [
        cluster.submit_split(chunk_parts, partitions, shard.pieces, placing, partitions)
        for shard, placing in zip(shards, placings, strict=True)
    ]
    answers = [cluster.submit_split(first_of_part, len(shards), *parts) for parts in zip(*sent, strict=True)]
    del sent
    counted = [
        cluster.submit(
            count_seen,
            shard.pieces,
            placing,
            [np.where(row >= 0, reused[row], 0) for row in placing.rows],
            *firsts,
        )
        for shard, placing, firsts in zip(shards, placings, zip(*answers, strict=True), strict=True)
    ]
    del answers
    by_piece = [seen for result in counted for seen in cluster.get(result)]
    return _by_row(by_piece, [row for placing in placings for row in placing.rows], len(reused))


def _boundaries(cluster: Cluster, shards: Sequence[ShardPieces], merged: MergedRows) -> Boundaries:
    asked = [cluster.submit(layouts, shard.pieces) for shard in shards]
    return merge_boundaries(
        [layout for result in asked for layout in cluster.get(result)], merged, MemoryRoom()
    )


def _by_row(values: Sequence[Int64], row_of: Sequence[Int64], rows: int) -> Int64:
    """A column by row from what is given by request, piece by piece."""
    column = np.zeros(rows, np.int64)
    for some, row in zip(values, row_of, strict=True):
        column[row[row >= 0]] = some[row >= 0]
    return column
