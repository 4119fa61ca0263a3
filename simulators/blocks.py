"""From a Trace to what a block cache sees: the sequence each request keeps, and block ids for a block size.

Blocks are prefixes: two requests share block k exactly when they agree in every token up to its end, so a block
is identified by the tree node that holds its last token and by k. No hash is involved.
"""

from dataclasses import dataclass, replace

import numpy as np

from analyzers.errors import UsageError
from analyzers.trace import Int32, Int64, Trace


@dataclass(frozen=True)
class CachedSequences:
    """The path of each request through the prefix tree, and how long it is.

    Node arrays (int32): `parent`, `depth_start`, `depth_end` as in PrefixTree, but a node may stand behind
    its children; `first_request` is the first request that brings the node into a cache. Request arrays:
    `leaf` is the node at which the sequence that the cache keeps ends (int32, -1 for none); lengths are int64
    tokens: `prompt_tokens`, `known_tokens` (the depth of `leaf`), `total_tokens` (prompt and output less the
    last sampled token, which never enters a cache; outputs of known length but unknown ids count).
    """

    parent: Int32
    depth_start: Int32
    depth_end: Int32
    first_request: Int32
    leaf: Int32
    prompt_tokens: Int64
    known_tokens: Int64
    total_tokens: Int64
    unit: int

    def __len__(self) -> int:
        return len(self.leaf)

    def seen_tokens(self) -> Int64:
        """Tokens of each prompt that an earlier prompt or output of its namespace began with (int64): what a
        cache without bounds, blocks and the last-token rule would hold."""
        from simulators.kernels.paths import seen_depth

        depth: Int64 = seen_depth(self.parent, self.depth_end, self.first_request, self.leaf)
        return np.minimum(depth, self.prompt_tokens)

    def most_hit_blocks(self, size: int) -> Int64:
        """Whole blocks of each prompt that may be read (int64): at least the last token is computed."""
        return np.maximum(self.prompt_tokens - 1, 0) // size

    def servable_tokens(self, size: int) -> Int64:
        """Hit tokens of each request (int64) in a cache of blocks without bounds."""
        return np.minimum(self.seen_tokens() // size, self.most_hit_blocks(size)) * size


@dataclass(frozen=True)
class BlockIds:
    """Numbers the distinct blocks of one size: `first_id[n]` (int64) is the id of the first block that ends
    inside node n; `count` is the number of ids."""

    size: int
    first_id: Int64
    count: int


def cached_sequences(trace: Trace, *, ignore_outputs: bool = False) -> CachedSequences:
    """What each request leaves in a cache. `ignore_outputs` keeps prompts only.

    In a hash trace the last id of a prompt may stand for less than a unit: the path is cut at the prompt's
    length, so that it holds no token that was not sent.
    """
    from simulators.kernels.paths import first_touch

    tree, requests = trace.tree, trace.requests
    leaf = requests.leaf if ignore_outputs else requests.cached_leaf
    prompt_depth = _depth_of(requests.leaf, tree.depth_end)
    prompt = np.where(requests.prompt_tokens < 0, prompt_depth, requests.prompt_tokens)
    sequences = CachedSequences(
        parent=tree.parent,
        depth_start=tree.depth_start,
        depth_end=tree.depth_end,
        first_request=tree.first_request,
        leaf=leaf,
        prompt_tokens=prompt,
        known_tokens=_depth_of(leaf, tree.depth_end),
        total_tokens=prompt,
        unit=trace.info.unit,
    )
    sequences = _cut_at_prompt_end(sequences, prompt < prompt_depth)
    total = np.maximum(sequences.known_tokens, prompt)
    if not ignore_outputs:
        total = np.maximum(total, prompt + np.maximum(requests.output_tokens - 1, 0))
    return replace(sequences, total_tokens=total, first_request=first_touch(sequences.parent, sequences.leaf))


def block_ids(sequences: CachedSequences, size: int) -> BlockIds:
    """Ids for blocks of `size` tokens. Raises UsageError for a size that the trace cannot be cut into."""
    check_block_size(size, sequences.unit)
    ends = sequences.depth_end // size - sequences.depth_start // size
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends, dtype=np.int64)])
    return BlockIds(size, first[:-1], int(first[-1]))


def check_block_size(size: int, unit: int) -> None:
    """Raises UsageError unless blocks of `size` tokens can be told apart in a trace of this unit."""
    if size < 1:
        raise UsageError(f"block size {size} is not possible; give 1 or more tokens")
    if size % unit and unit % size:
        raise UsageError(
            f"block size {size} neither divides nor is a multiple of {unit}, the block length this hash trace "
            f"was made with; choose for example {unit}"
        )


def _depth_of(leaf: Int32, depth_end: Int32) -> Int64:
    if not len(depth_end):
        return np.zeros(len(leaf), np.int64)
    return np.where(leaf < 0, 0, depth_end[leaf]).astype(np.int64)


def _cut_at_prompt_end(sequences: CachedSequences, cut: np.ndarray) -> CachedSequences:
    """Split nodes where the marked requests end, and let their paths end there."""
    if not cut.any():
        return sequences
    node, depth = sequences.leaf[cut].copy(), sequences.prompt_tokens[cut]
    above = sequences.depth_start[node] >= depth
    while above.any():
        node[above] = sequences.parent[node[above]]
        above = (node >= 0) & (sequences.depth_start[node] >= depth)
    ends_inside = (node >= 0) & (depth < sequences.depth_end[node])

    points, which = np.unique(
        np.stack([node[ends_inside].astype(np.int64), depth[ends_inside]]), axis=1, return_inverse=True
    )
    owner, at = points[0].astype(np.int32), points[1].astype(np.int32)
    number = (len(sequences.parent) + np.arange(len(owner))).astype(np.int32)
    opens = np.concatenate([np.ones(1, bool), owner[1:] != owner[:-1]])
    closes = np.concatenate([owner[1:] != owner[:-1], np.ones(1, bool)])
    before = np.concatenate([np.zeros(1, np.int32), at[:-1]])
    parent = np.concatenate(
        [sequences.parent, np.where(opens, sequences.parent[owner], number - 1).astype(np.int32)]
    )
    start = np.concatenate([sequences.depth_start, np.where(opens, sequences.depth_start[owner], before)])
    end = np.concatenate([sequences.depth_end, at])
    # The lower part keeps its number: deeper nodes and other requests point to it.
    parent[owner[closes]] = number[closes]
    start[owner[closes]] = at[closes]

    node[ends_inside] = number[which.reshape(-1)]
    leaf = sequences.leaf.copy()
    leaf[cut] = node
    return replace(
        sequences,
        parent=parent,
        depth_start=start.astype(np.int32),
        depth_end=end.astype(np.int32),
        leaf=leaf,
        known_tokens=_depth_of(leaf, end),
    )
