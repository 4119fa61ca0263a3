"""Size-aware LRU: an entry that belongs to a long prefix is dear to rebuild and stays longer.

GreedyDual (N. Young, "The k-server dual and loose competitiveness for paging", 1994; used for web caches by
Cao and Irani, USENIX ITS 1997): an entry's rank is floor + cost, the least rank goes, and the floor rises to the
rank of what went, so that dear entries age too. All blocks take the same room, so the cost is the mean time per
token of computing the request's whole prompt, in units of a token's linear work: 1 + P / (2 A) for P prompt
tokens, where at A tokens of context attention costs as much as everything else. A shared root keeps the highest
rank of all who use it.
"""

import numpy as np

from analyzers.compiled import njit
from analyzers.trace import Int64
from simulators.policies.ranked import push_ranked
from simulators.policies.store import INSERTED

UNIT = 1 << 20
"""Ranks are fixed-point: this many to one unit of cost."""


def rebuild_cost(prompt_tokens: Int64, attention_equals_rest: int) -> Int64:
    """Cost of each request's entries (int64, in UNIT)."""
    cost: Int64 = np.rint(UNIT * (1.0 + prompt_tokens / (2.0 * attention_equals_rest))).astype(np.int64)
    return cost


@njit(cache=True)
def use_size_aware(store, replica, used, events, count, cost):  # type: ignore[no-untyped-def]
    """A used entry stands its cost above the present floor; a cheaper user never lowers it."""
    slots, heap, memory = store.slots, store.heap, store.memory
    rank = memory[replica].floor + cost
    for i in range(count):
        slot = used[i]
        memory[replica].touches += 1
        slots[slot].stamp = memory[replica].touches
        if events[i] == INSERTED:
            slots[slot].rank = rank
            push_ranked(heap, slots, store.blocks, replica, slot)
        else:
            slots[slot].rank = max(slots[slot].rank, rank)
