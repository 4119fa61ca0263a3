"""Which request touches which node of the prefix tree, and when: the base of every question about money and time."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzers.trace import NO_TIME, Int64, Trace


@dataclass(frozen=True)
class Touches:
    """One entry a (request, node on its path), ordered by node, then by request. int64 columns of equal length.

    `first` marks a node's first touch; `gap_s` is the time since the touch before (float64, inf at the first,
    0 where a time is missing). `count[n]` requests touch node n; `tokens[n]` is its length.
    """

    node: Int64
    row: Int64
    first: npt.NDArray[np.bool_]
    gap_s: npt.NDArray[np.float64]
    count: Int64
    tokens: Int64

    def reusable(self, rows: int) -> Int64:
        """Per request: prompt tokens that an earlier request had in the same place."""
        return self._sum(~self.first, rows)

    def worth_writing(self, rows: int) -> Int64:
        """Per request: tokens it is the first to bring and a later request has again."""
        return self._sum(self.first & (self.count[self.node] > 1), rows)

    def _sum(self, chosen: npt.NDArray[np.bool_], rows: int) -> Int64:
        weights = self.tokens[self.node[chosen]].astype(np.float64)
        return np.bincount(self.row[chosen], weights, minlength=rows).astype(np.int64)


def touches_of(trace: Trace) -> Touches:
    """Every touch of the trace. Work and memory follow the summed path lengths."""
    tree = trace.tree
    nodes: list[Int64] = []
    rows: list[Int64] = []
    row = np.arange(len(trace), dtype=np.int64)
    node = trace.requests.leaf.astype(np.int64)
    while len(node):
        alive = node >= 0
        node, row = node[alive], row[alive]
        nodes.append(node)
        rows.append(row)
        node = tree.parent[node].astype(np.int64)
    node = np.concatenate(nodes) if nodes else np.empty(0, np.int64)
    row = np.concatenate(rows) if rows else np.empty(0, np.int64)
    order = np.lexsort((row, node))
    node, row = node[order], row[order]
    first = np.ones(len(node), np.bool_)
    first[1:] = node[1:] != node[:-1]
    time = trace.requests.time_ns[row]
    gap = np.zeros(len(node))
    known = (time[1:] != NO_TIME) & (time[:-1] != NO_TIME)
    gap[1:] = np.where(known, time[1:] - np.where(known, time[:-1], 0), 0) / 1e9
    gap[first] = np.inf
    return Touches(
        node=node,
        row=row,
        first=first,
        gap_s=gap,
        count=np.bincount(node, minlength=len(tree)).astype(np.int64),
        tokens=(tree.depth_end - tree.depth_start).astype(np.int64),
    )
