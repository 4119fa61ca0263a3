"""vLLM's block pool: block objects in a free queue, a map from block key to its copies, first inserted first."""

import numpy as np

from analyzers.compiled import njit
from simulators.kernels.paths import write_blocks


@njit(cache=True)
def _unlink(after, before, block):  # type: ignore[no-untyped-def]
    after[before[block]] = after[block]
    before[after[block]] = before[block]


@njit(cache=True)
def _link_between(after, before, block, left, right):  # type: ignore[no-untyped-def]
    after[left] = block
    before[block] = left
    after[block] = right
    before[right] = block


@njit(cache=True)
def _forget_key(block, key_of, copies, copy_after, copy_before):  # type: ignore[no-untyped-def]
    """Take a block out of the copies of its key (a ring whose first entry is the oldest)."""
    key = key_of[block]
    if key < 0:
        return
    key_of[block] = -1
    if copy_after[block] == block:
        copies[key] = -1
        return
    _unlink(copy_after, copy_before, block)
    if copies[key] == block:
        copies[key] = copy_after[block]


@njit(cache=True)
def _remember_key(block, key, key_of, copies, copy_after, copy_before):  # type: ignore[no-untyped-def]
    """Add a block as the newest copy of its key; returns whether there was one already."""
    key_of[block] = key
    oldest = copies[key]
    if oldest < 0:
        copies[key] = block
        copy_after[block] = block
        copy_before[block] = block
        return 0
    _link_between(copy_after, copy_before, block, copy_before[oldest], oldest)
    return 1


@njit(cache=True)
def replay_vllm(  # type: ignore[no-untyped-def]
    leaf,
    parent,
    depth_start,
    depth_end,
    first_id,
    ids,
    size,
    total_tokens,
    most_hits,
    capacity,
    tail_to_front,
):
    """Serve the requests one at a time from a pool of `capacity` usable blocks.

    `tail_to_front`: a freed block without a key (the partial last one) goes to the front of the free queue.
    Returns hit blocks per request (int64) and the number of blocks written although a copy was there.
    Needs capacity >= ceil(total_tokens / size) for every request.
    """
    requests = len(leaf)
    ring = capacity  # the free queue is a ring through this index
    after = np.empty(capacity + 1, np.int32)
    before = np.empty(capacity + 1, np.int32)
    for block in range(capacity + 1):
        after[block] = block + 1 if block < capacity else 0
        before[block] = block - 1 if block > 0 else capacity
    key_of = np.full(capacity, -1, np.int64)
    copies = np.full(ids, -1, np.int32)
    copy_after = np.empty(capacity, np.int32)
    copy_before = np.empty(capacity, np.int32)
    most = 0
    for r in range(requests):
        most = max(most, -(-total_tokens[r] // size))
    keys = np.empty(most + 1, np.int64)
    held = np.empty(most + 1, np.int32)
    hits = np.zeros(requests, np.int64)
    duplicates = 0
    for r in range(requests):
        known = write_blocks(leaf[r], parent, depth_start, depth_end, size, first_id, keys)
        hit = 0
        while hit < min(known, most_hits[r]) and copies[keys[hit]] >= 0:
            hit += 1
        hits[r] = hit
        whole = total_tokens[r] // size
        needed = -(-total_tokens[r] // size)
        for k in range(hit):
            held[k] = copies[keys[k]]
            _unlink(after, before, held[k])
        for k in range(hit, needed):
            block = after[ring]
            _unlink(after, before, block)
            _forget_key(block, key_of, copies, copy_after, copy_before)
            held[k] = block
        for k in range(hit, known):
            duplicates += _remember_key(held[k], keys[k], key_of, copies, copy_after, copy_before)
        if needed > whole and tail_to_front:
            _link_between(after, before, held[whole], ring, after[ring])
        elif needed > whole:
            _link_between(after, before, held[whole], before[ring], ring)
        for k in range(whole - 1, -1, -1):
            _link_between(after, before, held[k], before[ring], ring)
    return hits, duplicates
