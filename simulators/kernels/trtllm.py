"""A block tree with reuse inside blocks, as TensorRT-LLM documents it: stored at release, leaves evicted first."""

import numpy as np

from analyzers.compiled import njit
from simulators.kernels.paths import write_blocks
from simulators.kernels.vllm import _link_between, _unlink

KEY, NODE, INDEX, ABOVE, CHILDREN = range(5)  # columns of the table of blocks


@njit(cache=True)
def _mark(node, block_start, amount, parent, depth_end, through):  # type: ignore[no-untyped-def]
    """Count a block that ends in `node` at every node whose last token it holds."""
    while node >= 0 and depth_end[node] > block_start:
        through[node] += amount
        node = parent[node]


@njit(cache=True)
def _partly_there(leaf, first, size, parent, depth_end, through):  # type: ignore[no-untyped-def]
    """Depth up to which some stored block shares the tokens of this path's block that starts at `first`."""
    node = leaf
    while node >= 0 and (depth_end[node] - 1) // size > first // size:
        node = parent[node]
    while node >= 0 and depth_end[node] > first and through[node] == 0:
        node = parent[node]
    if node >= 0 and depth_end[node] > first:
        return depth_end[node]
    return first


@njit(cache=True)
def _take_block(slots, after, before, table, holder, size, parent, depth_end, through):  # type: ignore[no-untyped-def]
    """The block nearest the front of the free queue that no stored block continues; what it held is forgotten."""
    block = after[slots]
    while table[block, CHILDREN] > 0:
        block = after[block]
    _unlink(after, before, block)
    key = table[block, KEY]
    if key >= 0:
        holder[key] = -1
        table[block, KEY] = -1
        _mark(table[block, NODE], table[block, INDEX] * size, -1, parent, depth_end, through)
        if table[block, ABOVE] >= 0:
            table[table[block, ABOVE], CHILDREN] -= 1
    return block


@njit(cache=True)
def replay_trtllm(  # type: ignore[no-untyped-def]
    leaf,
    parent,
    depth_start,
    depth_end,
    first_id,
    ids,
    size,
    prompt_tokens,
    total_tokens,
    capacity,
    partial_reuse,
):
    """Serve the requests one at a time from `capacity` blocks of `size` tokens.

    `partial_reuse`: a stored block that agrees in its first tokens is copied and read so far.
    Returns hit tokens per request (int64). Needs capacity >= ceil(total_tokens / size) for every request.
    """
    requests = len(leaf)
    slots = capacity
    after = np.empty(capacity + 1, np.int32)
    before = np.empty(capacity + 1, np.int32)
    for block in range(capacity + 1):
        after[block] = block + 1 if block < capacity else 0
        before[block] = block - 1 if block > 0 else capacity
    table = np.zeros((capacity, 5), np.int64)
    table[:, KEY] = -1
    # Behind the ids of whole blocks: one for the partial last block of the sequences that end in a node.
    holder = np.full(ids + len(parent), -1, np.int32)
    through = np.zeros(len(parent), np.int32)
    most = 0
    for r in range(requests):
        most = max(most, -(-total_tokens[r] // size))
    keys = np.empty(most + 1, np.int64)
    ends = np.empty(most + 1, np.int32)
    held = np.empty(most + 1, np.int32)
    hits = np.zeros(requests, np.int64)
    for r in range(requests):
        known = write_blocks(leaf[r], parent, depth_start, depth_end, size, first_id, keys)
        node, k = leaf[r], known
        while node >= 0:
            while k > depth_start[node] // size:
                k -= 1
                ends[k] = node
            node = parent[node]
        named = known
        if leaf[r] >= 0 and depth_end[leaf[r]] % size and depth_end[leaf[r]] == total_tokens[r]:
            keys[known] = ids + leaf[r]
            ends[known] = leaf[r]
            named = known + 1

        usable = max(prompt_tokens[r] - 1, 0)
        hit = 0
        while hit < min(known, usable // size) and holder[keys[hit]] >= 0:
            hit += 1
        hits[r] = hit * size
        if partial_reuse and usable > hit * size:
            if hit < known and holder[keys[hit]] >= 0:
                reach = (hit + 1) * size
            else:
                reach = _partly_there(leaf[r], hit * size, size, parent, depth_end, through)
            hits[r] = max(hits[r], min(reach, usable))

        needed = -(-total_tokens[r] // size)
        for k in range(hit):
            held[k] = holder[keys[k]]
            _unlink(after, before, held[k])
        for k in range(hit, needed):
            held[k] = _take_block(slots, after, before, table, holder, size, parent, depth_end, through)

        owner = -1
        for k in range(named):
            stored = holder[keys[k]]
            if stored < 0:
                stored = held[k]
                holder[keys[k]] = stored
                table[stored, KEY] = keys[k]
                table[stored, NODE] = ends[k]
                table[stored, INDEX] = k
                table[stored, ABOVE] = owner
                if owner >= 0:
                    table[owner, CHILDREN] += 1
                _mark(ends[k], k * size, 1, parent, depth_end, through)
            owner = stored
        for k in range(needed - 1, -1, -1):
            _link_between(after, before, held[k], before[slots], slots)
    return hits
