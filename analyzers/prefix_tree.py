"""Build the prefix tree of a log from token sequences given as runs of a pool.

Sequences are inserted in request order; an insertion splits at most one edge and adds at most one leaf, so the
tree has at most two nodes a sequence. The work is linear in the number of runs plus the tokens of runs that
are compared without sharing a place in the pool.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzers.trace import Int32, Int64, PrefixTree

UInt32 = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class TokenRuns:
    """Token sequences as runs of one pool of ids.

    Run k is pool[start[k] : start[k] + length[k]]; sequence s is the concatenation of the runs
    runs[offsets[s] : offsets[s + 1]]. `pool` is uint32, `start` int64, `length` int64, `offsets` int64 of
    length sequences + 1, `runs` int64.
    """

    pool: UInt32
    start: Int64
    length: Int64
    offsets: Int64
    runs: Int64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def run_depths(self) -> Int32:
        """Depth at which each entry of `runs` starts in its sequence (int32)."""
        lengths = self.length[self.runs]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        counts = np.diff(self.offsets)
        depths: Int32 = (ends[:-1] - np.repeat(ends[self.offsets[:-1]], counts)).astype(np.int32)
        return depths

    def totals(self) -> Int64:
        """Number of tokens of each sequence (int64)."""
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.length[self.runs])])
        totals: Int64 = ends[self.offsets[1:]] - ends[self.offsets[:-1]]
        return totals

    def tokens(self, sequence: int) -> UInt32:
        """The ids of one sequence."""
        runs = self.runs[self.offsets[sequence] : self.offsets[sequence + 1]]
        parts = [self.pool[self.start[k] : self.start[k] + self.length[k]] for k in runs]
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)


def plain_runs(sequences: list[UInt32]) -> TokenRuns:
    """One run a sequence: for token-id logs, and for tests."""
    lengths = np.array([len(s) for s in sequences], np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])[:-1]
    pool = np.concatenate(sequences).astype(np.uint32) if sequences else np.empty(0, np.uint32)
    count = len(sequences)
    return TokenRuns(
        pool, starts, lengths, np.arange(count + 1, dtype=np.int64), np.arange(count, dtype=np.int64)
    )


@dataclass(frozen=True)
class BuiltTree:
    """A prefix tree and the node at which each sequence ends (int32, -1 for an empty one)."""

    tree: PrefixTree
    leaf: Int32


def build_prefix_tree(
    sequences: TokenRuns, namespace: Int32, owner: Int32 | None = None, after: Int32 | None = None
) -> BuiltTree:
    """The radix forest of the sequences, inserted in the order given.

    `namespace` (int32, from 0) says per sequence with which others it may share nodes. `owner` is the request
    each sequence belongs to (default: its own index) and must not decrease. `after` names an earlier sequence
    that is a prefix of this one (default: none), so that insertion goes on from its end.
    """
    from analyzers import kernels

    count = len(sequences)
    owners = np.arange(count, dtype=np.int32) if owner is None else owner.astype(np.int32)
    continued = np.full(count, -1, np.int32) if after is None else after.astype(np.int32)
    namespaces = int(namespace.max()) + 1 if count else 0
    parent, start, end, first, leaf = kernels.build_tree(
        sequences.pool,
        sequences.start,
        sequences.length,
        sequences.offsets,
        sequences.runs,
        sequences.run_depths(),
        namespace.astype(np.int32),
        namespaces,
        owners,
        continued,
    )
    return in_canonical_order(PrefixTree(parent, start, end, first), leaf)


def in_canonical_order(tree: PrefixTree, leaf: Int32) -> BuiltTree:
    """Number nodes by (first_request, depth_start): nodes with one first request lie on one path, so the order
    is total, and it depends on the sequences alone, not on how the tree came about."""
    order = np.lexsort((tree.depth_start, tree.first_request))
    new_number = np.empty(len(tree) + 1, np.int32)
    new_number[order] = np.arange(len(tree), dtype=np.int32)
    new_number[-1] = -1  # index -1 stands for "no node" and stays so
    renumbered = PrefixTree(
        parent=new_number[tree.parent[order]],
        depth_start=tree.depth_start[order],
        depth_end=tree.depth_end[order],
        first_request=tree.first_request[order],
    )
    return BuiltTree(renumbered, new_number[leaf])
