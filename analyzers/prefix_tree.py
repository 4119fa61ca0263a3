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

    def run_depths(self, out: Int32 | None = None) -> Int32:
        """Depth at which each entry of `runs` starts in its sequence (int32), written into `out` if given."""
        from analyzers import kernels

        depths = np.empty(len(self.runs), np.int32) if out is None else out
        kernels.run_depths(self.length, self.offsets, self.runs, depths)
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
    count = len(sequences)
    owners = np.arange(count, dtype=np.int32) if owner is None else owner.astype(np.int32)
    continued = np.full(count, -1, np.int32) if after is None else after.astype(np.int32)
    first, last = sequences.offsets[:-1], sequences.offsets[1:]
    return _grown(sequences, first, last, sequences.run_depths(), namespace, owners, continued)


@dataclass(frozen=True)
class TreeWithOutputs:
    """A prefix tree, and for each request (int32) where its prompt and where its prompt with output ends.

    -1 where that is empty; the two are the same for a request without output.
    """

    tree: PrefixTree
    leaf: Int32
    cached_leaf: Int32


def build_tree_with_outputs(
    sequences: TokenRuns, has_output: npt.NDArray[np.bool_], namespace: Int32, run_depth: Int32 | None = None
) -> TreeWithOutputs:
    """The radix forest of requests: sequence r is the prompt of request r, and where has_output[r] (bool) its last
    run is the output. `run_depth` is from `run_depths`, which computes it if it is None."""
    count = len(sequences)
    owner = np.repeat(np.arange(count, dtype=np.int32), 1 + has_output)
    # A request's prompt stands in front of its prompt with output.
    of_output = np.zeros(len(owner), bool)
    of_output[1:] = owner[1:] == owner[:-1]
    last = sequences.offsets[1:][owner] - (has_output[owner] & ~of_output)
    after = np.where(of_output, np.arange(len(owner)) - 1, -1).astype(np.int32)
    depths = sequences.run_depths() if run_depth is None else run_depth
    first = sequences.offsets[:-1][owner]
    built = _grown(sequences, first, last, depths, namespace[owner], owner, after)
    leaf = built.leaf[~of_output]
    cached_leaf = leaf.copy()
    cached_leaf[has_output] = built.leaf[of_output]
    return TreeWithOutputs(built.tree, leaf, cached_leaf)


def _grown(
    sequences: TokenRuns,
    first_run: Int64,
    last_run: Int64,
    run_depth: Int32,
    namespace: Int32,
    owner: Int32,
    after: Int32,
) -> BuiltTree:
    from analyzers import kernels

    namespaces = int(namespace.max()) + 1 if len(namespace) else 0
    parent, start, end, first, leaf = kernels.build_tree(
        sequences.pool,
        sequences.start,
        sequences.length,
        first_run,
        last_run,
        sequences.runs,
        run_depth,
        namespace.astype(np.int32),
        namespaces,
        owner,
        after,
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
