"""The prefix tree built by groups: sequences that begin alike are built together, wherever that is, and joined.

Sequences of one namespace that agree in their first ROOT_TOKENS tokens (their *root*) form a group. Two
sequences of different groups part inside their roots, so the tree below a root depends on its group alone.
What lies above, the *crown*, is the tree over the roots and over the sequences too short to have one; it is
small, and the groups' trees are grafted onto the ends of its roots. The result is the tree that
`build_tree_with_outputs` gives over all sequences at once, array by array.

A request's prompt with its output begins with the prompt, so both fall into one group, unless the prompt is too
short for a root: then the prompt stands in the crown and the longer sequence, if it has a root, in that group.
Either way a request has sequences in one group at most, so groups have different earliest requests: that is
what stubs of the crown and roots of the groups are matched by.
"""

import hashlib
import heapq
from collections.abc import Sequence
from dataclasses import dataclass

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

    `namespace` (int32), `group` (int64, -1 for a sequence without a root), `owner` (int32): its request.
    `is_output`: whether it is the request's prompt with its output, else the prompt alone.
    """

    runs: TokenRuns
    namespace: Int32
    group: Int64
    owner: Int32
    is_output: Bool

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True)
class Grove:
    """The trees over some sequences, and what grafting must know of those: `owner` and `is_output` as there."""

    built: BuiltTree
    owner: Int32
    is_output: Bool


def heads(runs: TokenRuns, tokens: int) -> TokenRuns:
    """The first `tokens` tokens of each sequence, in a pool of their own, one run a sequence."""
    depth = runs.run_depths()
    within = depth < tokens
    reached = runs.runs[within]
    length = np.minimum(runs.length[reached], tokens - depth[within])
    totals = np.minimum(runs.totals(), tokens)
    return TokenRuns(
        pool=runs.pool[positions(runs.start[reached], length)],
        start=as_offsets(totals)[:-1],
        length=totals,
        offsets=np.arange(len(runs) + 1, dtype=np.int64),
        runs=np.arange(len(runs), dtype=np.int64),
    )


def root_keys(runs: TokenRuns, root_tokens: int = ROOT_TOKENS) -> UInt64:
    """Root of each sequence as BLAKE2b-128 of its tokens (uint64 of shape (sequences, 2)).

    Zeros where the sequence is shorter than a root.
    """
    first = heads(runs, root_tokens)
    raw = first.pool.astype("<u4", copy=False).tobytes()
    rooted = np.flatnonzero(first.length == root_tokens)
    digests = [
        hashlib.blake2b(raw[begin : begin + 4 * root_tokens], digest_size=16).digest()
        for begin in (4 * first.start[rooted]).tolist()
    ]
    keys = np.zeros((len(runs), 2), np.uint64)
    keys[rooted] = np.frombuffer(b"".join(digests), "<u8").reshape(-1, 2)
    return keys


def number_groups(namespace: Int32, keys: UInt64) -> Int64:
    """Group of each sequence, numbered from 0 by namespace and root (int64); -1 where it has no root."""
    group = np.full(len(namespace), -1, np.int64)
    rooted = np.flatnonzero(keys.any(axis=1))
    high, low, space = keys[rooted, 0], keys[rooted, 1], namespace[rooted]
    order = np.lexsort((low, high, space))
    rooted, high, low, space = rooted[order], high[order], low[order], space[order]
    begins = np.ones(len(rooted), bool)
    begins[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1]) | (space[1:] != space[:-1])
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
        sequences.owner[which],
        sequences.is_output[which],
    )


def in_request_order(sequences: Sequences) -> Sequences:
    """By request, a request's prompt in front of its prompt with output."""
    return select(sequences, np.lexsort((sequences.is_output, sequences.owner)))


def grow_groups(sequences: Sequences) -> Grove:
    """One tree a group, over whole groups in request order. Every sequence must have a root."""
    _, space = np.unique(sequences.group, return_inverse=True)
    return _grow(sequences, space.astype(np.int32))


def crown_share(sequences: Sequences, root_tokens: int = ROOT_TOKENS) -> Sequences:
    """What the crown needs of sequences in request order: those without a root, and the root of each group."""
    groups, first = np.unique(sequences.group, return_index=True)
    which = np.concatenate([np.flatnonzero(sequences.group < 0), first[groups >= 0]])
    some = select(sequences, which.astype(np.int64))
    return Sequences(heads(some.runs, root_tokens), some.namespace, some.group, some.owner, some.is_output)


def grow_crown(shares: Sequence[Sequences]) -> Grove:
    """One tree a namespace over the shares of the crown."""
    crown = in_request_order(stacked(shares))
    return _grow(crown, crown.namespace)


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
        np.concatenate([s.owner for s in shares]),
        np.concatenate([s.is_output for s in shares]),
    )


def _grow(sequences: Sequences, space: Int32) -> Grove:
    owner = sequences.owner
    continues = np.zeros(len(owner), bool)
    continues[1:] = owner[1:] == owner[:-1]
    after = np.where(continues, np.arange(len(owner)) - 1, -1).astype(np.int32)
    built = build_prefix_tree(sequences.runs, space, owner, after)
    return Grove(built, owner, sequences.is_output)


def graft(
    crown: Grove, groves: Sequence[Grove], requests: int, root_tokens: int = ROOT_TOKENS
) -> TreeWithOutputs:
    """Put the trees of all groups onto the ends of their roots in the crown.

    The crown is grown from one sequence a group, cut to its root, that belongs to the group's earliest request,
    and from all sequences without a root. Every group must be in one of the `groves`.
    """
    trees = [crown.built.tree, *(g.built.tree for g in groves)]
    base = as_offsets(np.array([len(t) for t in trees], np.int64))
    parent = np.concatenate(
        [np.where(t.parent < 0, -1, t.parent + b) for t, b in zip(trees, base, strict=False)]
    )
    depth_end = np.concatenate([t.depth_end for t in trees])
    first = np.concatenate([t.first_request for t in trees])

    # A group's first node goes on where its stub ends, so the two are one node.
    stub = np.flatnonzero(trees[0].depth_end == root_tokens)
    root = base[1] + np.flatnonzero(parent[base[1] :] < 0)
    root = root[np.argsort(first[root])]
    assert np.array_equal(first[stub], first[root]), "every group has one stub in the crown"
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
