"""Belady: give up what will be served latest, or never. Needs the future, so no engine can do it.

For this model it is the exact optimum, not only a bound: no choice of evictions gives more hit tokens in total.
Conditions: one replica, one tier, blocks of one size, entries readable at once, no expiry, no failures, no
invalidation; and the model's own rule that a running request's blocks are all in the cache (engines cannot
bypass it). Why: count every resident block that could be served as a hit, even behind a hole. Giving up the
block with the farthest next use is then optimal by the usual exchange argument (Belady, IBM Systems Journal 1966),
which also holds when a request asks for several blocks at once. A use that cannot be a hit (the block of the
last prompt token, output blocks) is written again at no loss, so the next use counts as never. A prefix and what
hangs on it are next used together, and on a tie the tail goes first; so no counted block is ever behind a hole
and the relaxed count is the real one.
"""

import numpy as np

from analyzers.compiled import njit
from simulators.policies.ranked import push_ranked


@njit(cache=True)
def next_served_use(offsets, blocks, servable, block_count):  # type: ignore[no-untyped-def]
    """For each block access the next request that could be served the block (int64), the number of requests
    where there is none or the block is written again first. `servable[r]` leading blocks of r can be hits."""
    requests = len(servable)
    following = np.full(block_count, requests, np.int64)
    use = np.empty(len(blocks), np.int64)
    for request in range(requests - 1, -1, -1):
        first = offsets[request]
        for access in range(first, offsets[request + 1]):
            block = blocks[access]
            use[access] = following[block]
            following[block] = request if access - first < servable[request] else requests
    return use


@njit(cache=True)
def use_belady(store, replica, used, count, next_use):  # type: ignore[no-untyped-def]
    """The later the next use, the lower the rank. It falls with every use, so the heap needs a new entry;
    `next_use` stands root first, as the request's accesses do."""
    slots, heap, memory = store.slots, store.heap, store.memory
    for i in range(count):
        slot = used[i]
        memory[replica].touches += 1
        slots[slot].stamp = memory[replica].touches
        slots[slot].rank = -next_use[count - 1 - i]
        push_ranked(heap, slots, store.blocks, replica, slot)
