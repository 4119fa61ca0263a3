"""The prefixes that spare most: where they end, how many requests share them."""

from dataclasses import dataclass

import numpy as np

from analyzers.trace import Trace

HOTTEST = 10
_FRAME_TOKENS = 8
"""A prefix that goes this little beyond a block ends with it: the rest is the next message's opening."""


@dataclass(frozen=True)
class HotPrefix:
    """A prefix of `tokens` tokens that `requests` requests share."""

    tokens: int
    requests: int
    saved_tokens: int
    """Tokens it spares that no hotter prefix of the list spares already."""
    path: str | None
    """JSON path of the last block that the prefix holds whole; of the block it ends inside when `inside`."""
    inside: bool
    namespace: str
    first_request: str


def hottest_prefixes(trace: Trace, count: int = HOTTEST) -> tuple[HotPrefix, ...]:
    """The prefixes that spare most, chosen one by one so that each counts only what those before it leave.

    A prefix of d tokens that n requests start with spares (n - 1) * d tokens; of these, tokens that a chosen
    shorter prefix spares, and requests that a chosen longer one serves, are not counted again.
    """
    from analyzers import kernels

    tree = trace.tree
    through = kernels.requests_through(tree.parent, trace.requests.leaf)
    # A node is worth looking at only by what it spares itself; the best few thousand hold all that can win.
    spared = np.maximum(through - 1, 0) * tree.depth_end.astype(np.int64)
    candidates = np.argsort(-spared, kind="stable")[:2000]
    candidates = np.sort(candidates[spared[candidates] > 0])  # parents in front
    covered_depth = dict.fromkeys(candidates.tolist(), 0)  # of a chosen prefix of it
    # Of all who share a prefix one pays. Behind a chosen longer prefix that is one request for the whole group.
    payers = {node: int(through[node]) for node in covered_depth}
    chosen: list[HotPrefix] = []
    taken: set[int] = set()
    while len(chosen) < count:
        best, most = -1, 0
        for node in covered_depth:
            gain = (payers[node] - 1) * (int(tree.depth_end[node]) - covered_depth[node])
            if node not in taken and gain > most:
                best, most = node, gain
        if best < 0:
            break
        taken.add(best)
        chosen.append(_hot_prefix(trace, best, int(through[best]), most))
        above = int(tree.parent[best])
        while above >= 0 and above not in taken:
            if above in payers:
                payers[above] -= payers[best] - 1
            above = int(tree.parent[above])
        below = {best}
        for node in covered_depth:
            if int(tree.parent[node]) in below:
                below.add(node)
                covered_depth[node] = max(covered_depth[node], int(tree.depth_end[best]))
    return tuple(chosen)


def _hot_prefix(trace: Trace, node: int, requests: int, saved: int) -> HotPrefix:
    depth = int(trace.tree.depth_end[node])
    first = int(trace.tree.first_request[node])
    path, inside = ending(trace, first, depth)
    return HotPrefix(
        tokens=depth,
        requests=requests,
        saved_tokens=saved,
        path=path,
        inside=inside,
        namespace=trace.info.namespaces[int(trace.requests.namespace[first])],
        first_request=trace.requests.request_id[first],
    )


def ending(trace: Trace, request: int, depth: int) -> tuple[str | None, bool]:
    """The JSON path of the last block that a prefix of `depth` tokens of a request holds whole, or, with True, of
    the block it ends inside; None where it ends in front of the first or the blocks are not known."""
    ends = trace.boundaries.of(request)
    whole = int(np.searchsorted(ends, depth, side="right")) - 1  # the last block that ends within the prefix
    inside = whole < 0 or depth - int(ends[whole]) > _FRAME_TOKENS
    block = whole + 1 if inside else whole
    if not 0 <= block < len(ends):
        return None, False
    return trace.paths[int(trace.boundary_paths.of(request)[block])], inside
