"""Policies that give up the entry of the least rank, the one touched longest ago among equals.

Ranks are int64. A request touches its entries leaf first, so among entries of one rank the tail of a prefix
goes before what it hangs on.
"""

from analyzers.compiled import njit
from simulators.policies.store import TAKEN, in_use
from simulators.policies.structures import heap_drop_top, heap_push, heap_replace_top


@njit(cache=True)
def push_ranked(heap, slots, blocks, replica, slot):  # type: ignore[no-untyped-def]
    """Add an entry for the slot's present key; when the heap is full, dead entries are swept out."""
    if heap.size[replica] < heap.room:
        heap_push(heap, replica, slots[slot].rank, slots[slot].stamp, slot)
        return
    heap.size[replica] = 0
    for each in range(replica * blocks, (replica + 1) * blocks):
        if slots[each].tier == 0:
            heap_push(heap, replica, slots[each].rank, slots[each].stamp, each)


@njit(cache=True)
def evict_ranked(store, replica, count, request, now, victims):  # type: ignore[no-untyped-def]
    """Up to `count` entries of least rank into `victims`; returns how many."""
    heap, slots = store.heap, store.slots
    top = replica * heap.room
    found, kept = 0, 0
    while found < count and heap.size[replica] > 0:
        entry = heap.entries[top]
        slot = entry.slot
        if slots[slot].tier != 0 or slots[slot].user == TAKEN:
            heap_drop_top(heap, replica)
        elif entry.rank != slots[slot].rank or entry.stamp != slots[slot].stamp:
            heap_replace_top(heap, replica, slots[slot].rank, slots[slot].stamp, slot)
        else:
            heap_drop_top(heap, replica)
            if in_use(slots, slot, request, now):
                store.aside[kept] = slot
                kept += 1
            else:
                slots[slot].user = TAKEN
                victims[found] = slot
                found += 1
                store.memory[replica].floor = slots[slot].rank
    for i in range(kept):
        push_ranked(heap, slots, store.blocks, replica, store.aside[i])
    return found
