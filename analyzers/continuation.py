"""Which earlier request a request should have continued, and how far it did.

The predecessor is found by content, over all earlier requests of the namespace and across sessions: the one that has
most tokens of its lines, wherever they stand; of equals the one with the longest common prefix, then the latest. What
they share beyond their common prefix is lost to the cache: it would have been read had nothing in front of it changed.

The choice is exact while none of a request's lines was brought by more than 64 conversations. Of a line that more
brought, the last 64 to bring it are looked at; then the eight likeliest are compared in full, and the choice is no
worse than the request with the longest common prefix. So the work stays linear in the tokens sent.
"""

from dataclasses import dataclass

import numpy as np

from analyzers.pipeline import TracedLog
from analyzers.trace import Int32, Int64


@dataclass(frozen=True)
class Continuations:
    """Per request: `predecessor` (int32, -1 for none), `shared` tokens wherever they stand (int64), and the
    `common` prefix with the predecessor in tokens (int64). `shared` counts whole chunks, so it may be a few
    tokens below `common`."""

    predecessor: Int32
    shared: Int64
    common: Int64

    def lost(self) -> Int64:
        """Tokens shared with the predecessor beyond the common prefix (int64)."""
        lost: Int64 = np.maximum(self.shared - self.common, 0)
        return lost


def find_continuations(traced: TracedLog) -> Continuations:
    """The predecessor of every request of a log. Linear in distinct content plus chunks sent."""
    from analyzers import continuation_kernels, kernels

    sequences, chunks = traced.sequences, traced.chunks
    parent, leaf = traced.trace.tree.parent, traced.trace.requests.leaf
    suggested = kernels.latest_with_prefix(parent, leaf, kernels.first_prompt_of_nodes(parent, leaf))
    predecessor, shared = continuation_kernels.continued_requests(
        traced.trace.requests.namespace,
        parent,
        traced.trace.tree.depth_end,
        leaf,
        suggested,
        sequences.offsets,
        sequences.runs,
        chunks.offsets,
        chunks.length,
        chunks.number,
        int(chunks.number.max()) + 1 if len(chunks.number) else 0,
        continuation_kernels.MOST_HOLDERS,
        continuation_kernels.MOST_COMPARED,
    )
    return Continuations(predecessor, shared, common_prefix(traced, predecessor))


def common_prefix(traced: TracedLog, other: Int32) -> Int64:
    """Common prefix of each request's prompt with that of request other[r], in tokens (int64; 0 where -1)."""
    from analyzers import continuation_kernels as kernels

    sequences = traced.sequences
    common: Int64 = kernels.common_prefix_of_pairs(
        sequences.pool,
        sequences.start,
        sequences.length,
        sequences.offsets,
        sequences.runs,
        sequences.run_depths(),
        np.arange(len(other), dtype=np.int32),
        other,
    )
    return common
