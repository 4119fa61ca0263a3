"""LFU: what was served least often since it was written goes first, the longest unused among equals.

Writing counts one, each time it is served one more; being computed again only refreshes the order among equals.
There is no ageing: an entry that was popular once stays until the cache holds nothing less popular.
"""

from analyzers.compiled import njit
from simulators.policies.ranked import push_ranked
from simulators.policies.store import INSERTED, SERVED


@njit(cache=True)
def use_lfu(store, replica, used, events, count):  # type: ignore[no-untyped-def]
    """Count the writing and the services."""
    slots, heap, memory = store.slots, store.heap, store.memory
    for i in range(count):
        slot = used[i]
        memory[replica].touches += 1
        slots[slot].stamp = memory[replica].touches
        if events[i] == INSERTED:
            slots[slot].rank = 1
            push_ranked(heap, slots, store.blocks, replica, slot)
        elif events[i] == SERVED:
            slots[slot].rank += 1
