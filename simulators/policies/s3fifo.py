"""S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023), for prefixes.

New entries go on trial to a small queue, a tenth of the cache; those served more than once there move to the
main queue, the others leave and are remembered. What is written again while it is remembered goes straight to
the main queue. The main queue gives entries that were served another round, up to three.

Adapted: only being served counts as use, since an entry behind a hole is computed again. The memory is a
window over evictions: an entry is remembered for as many evictions from the small queue as the main queue may
hold entries.
"""

from analyzers.compiled import njit
from simulators.policies.store import INSERTED, SERVED, first_queue, in_use
from simulators.policies.structures import front, push_back, unlink

MOST_COUNTED = 3


@njit(cache=True)
def small_target(capacity):  # type: ignore[no-untyped-def]
    """Entries the small queue may hold before it is the one to give."""
    return max(1, capacity // 10)


@njit(cache=True)
def use_s3fifo(store, replica, used, events, count):  # type: ignore[no-untyped-def]
    """New entries go on trial, or to the main queue when they were given up not long ago (`rank` holds when). A
    service is counted and moves nothing."""
    slots, queues = store.slots, store.queues
    capacity = store.pools[replica * store.tiers].capacity
    evictions = store.memory[replica].evictions
    remembers = capacity - small_target(capacity)
    small = first_queue(store, replica)
    for i in range(count):
        slot = used[i]
        if events[i] == INSERTED:
            remembered = slots[slot].rank >= 0 and evictions - slots[slot].rank < remembers
            slots[slot].rank = -1
            slots[slot].counter = 0
            push_back(queues, small + 1 if remembered else small, slot)
        elif events[i] == SERVED and slots[slot].counter < MOST_COUNTED:
            slots[slot].counter += 1


@njit(cache=True)
def evict_s3fifo(store, replica, count, request, now, victims):  # type: ignore[no-untyped-def]
    """Up to `count` entries into `victims`; returns how many. Entries in use are passed over where they are."""
    queues, slots, memory = store.queues, store.slots, store.memory
    small = first_queue(store, replica)
    main = small + 1
    small_end, main_end = queues.ends + small, queues.ends + main
    target = small_target(store.pools[replica * store.tiers].capacity)
    next_small, next_main = front(queues, small), front(queues, main)
    found = 0
    while found < count:
        while next_small != small_end and in_use(slots, next_small, request, now):
            next_small = slots[next_small].following
        while next_main != main_end and in_use(slots, next_main, request, now):
            next_main = slots[next_main].following
        if next_small == small_end and next_main == main_end:
            break
        if next_small != small_end and (queues.size[small] > target or next_main == main_end):
            slot = next_small
            next_small = slots[slot].following
            unlink(queues, slot)
            if slots[slot].counter > 1:
                slots[slot].counter = 0
                push_back(queues, main, slot)
                if next_main == main_end:
                    next_main = slot
                continue
            slots[slot].rank = memory[replica].evictions
            memory[replica].evictions += 1
        else:
            slot = next_main
            next_main = slots[slot].following
            unlink(queues, slot)
            if slots[slot].counter > 0:
                slots[slot].counter -= 1
                push_back(queues, main, slot)
                if next_main == main_end:
                    next_main = slot
                continue
        victims[found] = slot
        found += 1
    return found
