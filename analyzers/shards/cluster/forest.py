"""The prefix tree built by groups: sequences that begin alike are built together, wherever that is, and joined.

The sequences of a namespace that agree in their first so many tokens (their *root*) form a group. What sequences of
a group share with others ends inside its root, so the tree below a root depends on its group alone. What lies above,
the *crown*, is the tree over the roots and over the sequences that have none, being shorter; it is small, and the
groups' trees are grafted onto the ends of their roots. The result is the tree that `build_tree_with_outputs` gives
over all sequences at once, array by array.

Roots need not be equally long (a group too large for one machine is parted by longer ones) as long as no root
begins with another. A request's prompt with its output begins with the prompt, so both fall into one group, unless
the prompt is too short for a root: then the prompt stands in the crown, and the longer sequence, if it has a root, in
that group. Either way a request has sequences in one group at most, so groups have different earliest requests: that
is what stubs of the crown and roots of the groups are matched by.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analyzers.part_tokens import as_offsets, positions
from analyzers.prefix_tree import (
    BuiltTree,
    TokenRuns,
    TreeWithOutputs,
    build_prefix_tree,
    in_canonical_order,
)
from analyzers.trace import Int32, Int64, PrefixTree

Bool = npt.NDArray[np.bool_]
UInt64 = npt.NDArray[np.uint64]

ROOT_TOKENS = 64
"""Tokens that sequences must share to be built together."""


@dataclass(frozen=True)
class Sequences:
    """Some of a log's sequences: their tokens, and for each (arrays of len(runs)) where it belongs.

    `namespace` (int32), `group` (int64, -1 for a sequence without a root), `root` (int64): tokens of the group's root,
    `owner` (int32): its request. `is_output`: whether it is the request's prompt with its output, else the prompt.
    """

    runs: TokenRuns
    namespace: Int32
    group: Int64
    root: Int64
    owner: Int32
    is_output: Bool

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True)
class Grove:
    """The trees over some sequences, and what grafting must know of those: `owner` and `is_output` as there.

    `earliest` (int32, ascending) is the earliest request of each group in it, `root` (int64) the group's root length.
    """

    built: BuiltTree
    owner: Int32
    is_output: Bool
    earliest: Int32
    root: Int64


def root_keys(runs: TokenRuns, tokens: Int64) -> UInt64:
    """128 bits of content of the first tokens[s] tokens of each sequence s (uint64 of shape (sequences, 2)).

    Zeros where the sequence is shorter.
    """
    from analyzers.shards import kernels

    keys: UInt64 = kernels.hash_prefixes(runs.pool, runs.start, runs.length, runs.offsets, runs.runs, tokens)
    return keys


def number_groups(space: Int32 | Int64, keys: UInt64) -> Int64:
    """Group of each sequence, numbered from 0 by space and root (int64); -1 where it has no root.

    `space` says which sequences may share a group at all: those of a namespace, or of a group that is to be parted.
    """
    group = np.full(len(space), -1, np.int64)
    rooted = np.flatnonzero(keys.any(axis=1))
    high, low, spaces = keys[rooted, 0], keys[rooted, 1], space[rooted]
    order = np.lexsort((low, high, spaces))
    rooted, high, low, spaces = rooted[order], high[order], low[order], spaces[order]
    begins = np.ones(len(rooted), bool)
    begins[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1]) | (spaces[1:] != spaces[:-1])
    group[rooted] = np.cumsum(begins) - 1
    return group


def balance(sizes: Int64, reducers: int) -> Int64:
    """Reducer of each group (int64): the largest first, each to the reducer with the least so far."""
    reducer = np.empty(len(sizes), np.int64)
    load = [(0, r) for r in range(reducers)]
    for group in np.argsort(-sizes, kind="stable").tolist():
        size, lightest = load[0]
        reducer[group] = lightest
        heapq.heapreplace(load, (size + int(sizes[group]), lightest))
    return reducer


def select(sequences: Sequences, which: Int64) -> Sequences:
    """The sequences at these places, in this order, over the same pool."""
    runs = sequences.runs
    counts = np.diff(runs.offsets)[which]
    entries = positions(runs.offsets[:-1][which], counts)
    return Sequences(
        TokenRuns(runs.pool, runs.start, runs.length, as_offsets(counts), runs.runs[entries]),
        sequences.namespace[which],
        sequences.group[which],
        sequences.root[which],
        sequences.owner[which],
        sequences.is_output[which],
    )


def in_request_order(sequences: Sequences) -> Sequences:
    """By request, a request's prompt in front of its prompt with output."""
    return select(sequences, np.lexsort((sequences.is_output, sequences.owner)))


def grow_groups(sequences: Sequences) -> Grove:
    """One tree a group, over whole groups in request order. Every sequence must have a root."""
    _, first, space = np.unique(sequences.group, return_index=True, return_inverse=True)
    first = np.sort(first)
    return Grove(
        _built(sequences, space.astype(np.int32)),
        sequences.owner,
        sequences.is_output,
        sequences.owner[first],
        sequences.root[first],
    )


def crown_share(sequences: Sequences) -> Sequences:
    """What the crown needs of sequences in request order: those without a root, and the root of each group.

    Over a pool of their own.
    """
    groups, first = np.unique(sequences.group, return_index=True)
    which = np.concatenate([np.flatnonzero(sequences.group < 0), first[groups >= 0]])
    some = select(sequences, which.astype(np.int64))
    totals = some.runs.totals()
    return replace(some, runs=beginnings(some.runs, np.where(some.group < 0, totals, some.root)))


def beginnings(runs: TokenRuns, tokens: Int64) -> TokenRuns:
    """The first tokens[s] tokens of each sequence, in a pool of their own that holds each run once."""
    depth = runs.run_depths()
    own = np.repeat(tokens, np.diff(runs.offsets))
    within = depth < own
    size = np.minimum(runs.length[runs.runs], own - depth)[within]
    distinct, run = np.unique((runs.runs[within] << 32) | size, return_inverse=True)
    start, length = runs.start[distinct >> 32], distinct & 0xFFFFFFFF
    return TokenRuns(
        pool=runs.pool[positions(start, length)],
        start=as_offsets(length)[:-1],
        length=length,
        offsets=as_offsets(within.astype(np.int64))[runs.offsets],
        runs=run,
    )


def grow_crown(shares: Sequence[Sequences]) -> Grove:
    """One tree a namespace over the shares of the crown."""
    crown = in_request_order(stacked(shares))
    nothing = np.empty(0, np.int64)
    return Grove(
        _built(crown, crown.namespace), crown.owner, crown.is_output, nothing.astype(np.int32), nothing
    )


def stacked(shares: Sequence[Sequences]) -> Sequences:
    """All sequences, one share behind the other, each over its part of one pool; at least one share."""
    pools = as_offsets(np.array([len(s.runs.pool) for s in shares], np.int64))
    places = as_offsets(np.array([len(s.runs.start) for s in shares], np.int64))
    return Sequences(
        TokenRuns(
            pool=np.concatenate([s.runs.pool for s in shares]),
            start=np.concatenate([s.runs.start + p for s, p in zip(shares, pools, strict=False)]),
            length=np.concatenate([s.runs.length for s in shares]),
            offsets=as_offsets(np.concatenate([np.diff(s.runs.offsets) for s in shares])),
            runs=np.concatenate([s.runs.runs + p for s, p in zip(shares, places, strict=False)]),
        ),
        np.concatenate([s.namespace for s in shares]),
        np.concatenate([s.group for s in shares]),
        np.concatenate([s.root for s in shares]),
        np.concatenate([s.owner for s in shares]),
        np.concatenate([s.is_output for s in shares]),
    )


def _built(sequences: Sequences, space: Int32) -> BuiltTree:
    owner = sequences.owner
    continues = np.zeros(len(owner), bool)
    continues[1:] = owner[1:] == owner[:-1]
    after = np.where(continues, np.arange(len(owner)) - 1, -1).astype(np.int32)
    return build_prefix_tree(sequences.runs, space, owner, after)


def graft(crown: Grove, groves: Sequence[Grove], requests: int) -> TreeWithOutputs:
    """Put the trees of all groups onto the ends of their roots in the crown.

    The crown is grown from the root of each group, as of its earliest request, and from all sequences without a root.
    Every group must be in one of the `groves`.
    """
    trees = [crown.built.tree, *(g.built.tree for g in groves)]
    base = as_offsets(np.array([len(t) for t in trees], np.int64))
    parent = np.concatenate(
        [np.where(t.parent < 0, -1, t.parent + b) for t, b in zip(trees, base, strict=False)]
    )
    depth_end = np.concatenate([t.depth_end for t in trees])
    first = np.concatenate([t.first_request for t in trees])

    # A group's first node goes on where its stub ends, so the two are one node. Nodes of one first request lie on
    # one path, in order, so the stub is the one that ends where the root does.
    root = base[1] + np.flatnonzero(parent[base[1] :] < 0)
    root = root[np.argsort(first[root])]
    earliest = np.concatenate([g.earliest for g in (crown, *groves)])
    order = np.argsort(earliest)
    ends_at = _end(earliest, np.concatenate([g.root for g in (crown, *groves)]))[order]
    crown_ends = _end(trees[0].first_request, trees[0].depth_end)
    stub = np.searchsorted(crown_ends, ends_at)
    assert np.array_equal(crown_ends[stub], ends_at), "every group has one stub in the crown"
    assert np.array_equal(first[root], earliest[order]), "every group has one tree"
    same_as = np.arange(base[-1] + 1)
    same_as[-1] = -1  # index -1 stands for "no node" and stays so
    same_as[root] = stub
    depth_end[stub] = depth_end[root]
    kept = np.ones(base[-1], bool)
    kept[root] = False
    number = np.append(np.cumsum(kept) - 1, -1)
    new_number = number[same_as]

    tree = PrefixTree(
        parent=new_number[parent[kept]].astype(np.int32),
        depth_start=np.concatenate([t.depth_start for t in trees])[kept],
        depth_end=depth_end[kept],
        first_request=first[kept],
    )
    ends = np.full((2, requests), -1, np.int64)  # of prompts, and of prompts with output
    for grove, offset in zip((crown, *groves), base, strict=False):
        node = np.where(grove.built.leaf < 0, -1, grove.built.leaf + offset)
        ends[grove.is_output.astype(np.int64), grove.owner] = new_number[node]
    ends[1] = np.where(ends[1] < 0, ends[0], ends[1])
    built = in_canonical_order(tree, ends.ravel().astype(np.int32))
    return TreeWithOutputs(built.tree, built.leaf[:requests], built.leaf[requests:])


def _end(request: Int32, depth: Int64 | Int32) -> Int64:
    """One number that orders by request, then by depth (int64)."""
    return (request.astype(np.int64) << 32) | depth
