"""The prefix tree cut down to what a person can look at: the nodes that hold most of what was sent."""

from dataclasses import dataclass

import numpy as np

from analyzers.trace import Int64, PrefixTree, Trace

MOST_NODES = 2000


@dataclass(frozen=True)
class PrefixMap:
    """Nodes of the prefix tree, parents in front, int64 columns of equal length.

    Node i stands for the tokens at depths [`start`, `end`) of the `requests` prompts that pass through it; its
    area, `requests` x (`end` - `start`), is what was sent of it. `parent` is an index into these columns, -1 at
    depth 0; `first` the row of the earliest request whose prompt has it; `namespace` the namespace's id; `path`
    an index into the trace's paths, of the block in which the node ends, -1 where it is not known.
    `reusable_tokens` is the part of the area that a cache without limits serves: all but the first request's.
    `hidden_tokens` is what was sent of branches below the node that were cut. The area of a hash trace counts
    whole blocks, also where a prompt ends inside one.
    """

    parent: Int64
    start: Int64
    end: Int64
    requests: Int64
    first: Int64
    namespace: Int64
    path: Int64
    reusable_tokens: Int64
    hidden_tokens: Int64
    all_nodes: int
    sent_tokens: int
    """The area of the whole tree."""
    shown_tokens: int
    """The area of the nodes that were kept."""

    def __len__(self) -> int:
        return len(self.parent)


def prefix_map(trace: Trace, most: int = MOST_NODES) -> PrefixMap:
    """The nodes whose branches hold most of the tokens sent. A parent's branch holds at least its children's, so
    what is kept is a tree from the root down."""
    from analyzers import kernels

    tree, leaf = trace.tree, trace.requests.leaf
    through = kernels.requests_through(tree.parent, leaf).astype(np.int64)
    length = (tree.depth_end - tree.depth_start).astype(np.int64)
    sent = through * length
    branch = _with_branches(tree, sent)
    order = np.argsort(-branch, kind="stable")
    kept = np.sort(order[: int(min(most, (through > 0).sum()))])
    place = np.full(len(tree) + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    cut = np.flatnonzero((place[:-1] < 0) & (through > 0))
    cut = cut[place[tree.parent[cut]] >= 0]
    hidden = np.bincount(place[tree.parent[cut]], branch[cut], len(kept)).astype(np.int64)
    first = kernels.first_prompt_of_nodes(tree.parent, leaf)[kept].astype(np.int64)
    return PrefixMap(
        parent=place[tree.parent[kept]],
        start=tree.depth_start[kept].astype(np.int64),
        end=tree.depth_end[kept].astype(np.int64),
        requests=through[kept],
        first=first,
        namespace=trace.requests.namespace[first].astype(np.int64),
        path=_paths(trace, first, tree.depth_end[kept].astype(np.int64)),
        reusable_tokens=(sent - np.where(through > 0, length, 0))[kept],
        hidden_tokens=hidden,
        all_nodes=int((through > 0).sum()),
        sent_tokens=int(sent.sum()),
        shown_tokens=int(sent[kept].sum()),
    )


def _with_branches(tree: PrefixTree, sent: Int64) -> Int64:
    """What was sent of each node and of all below it."""
    total, parents = sent.tolist(), tree.parent.tolist()
    for node in range(len(total) - 1, -1, -1):  # children stand behind their parents
        if parents[node] >= 0:
            total[parents[node]] += total[node]
    return np.array(total, np.int64)


def _paths(trace: Trace, first: Int64, end: Int64) -> Int64:
    """The block in which each node ends: the first whose end is not before the node's."""
    found = np.full(len(first), -1, np.int64)
    for i, (row, depth) in enumerate(zip(first.tolist(), end.tolist(), strict=True)):
        ends = trace.boundaries.of(row)
        if len(ends):
            at = min(int(np.searchsorted(ends, depth)), len(ends) - 1)
            found[i] = trace.boundary_paths.of(row)[at]
    return found
