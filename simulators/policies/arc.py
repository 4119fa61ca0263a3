"""ARC (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003), for prefixes.

Two LRU queues, entries used once and entries served again, and a memory of what each gave up. Writing
something the first queue gave up says it was too short, and its target grows; the second likewise.

Adapted: a whole request is admitted at once, so targets move first, then room is made, then the entries are
written. Only being served moves an entry to the second queue: one behind a hole is computed again and becomes the
newest of the queue it is in.
"""

from analyzers.compiled import njit
from simulators.policies.store import INSERTED, SERVED, first_queue, in_use
from simulators.policies.structures import front, move_to_back, push_back, unlink


@njit(cache=True)
def foresee_arc(store, replica, used, events, count):  # type: ignore[no-untyped-def]
    """Before room is made: move the target for each new entry that is remembered, and forget it.

    `counter` holds until the insertion which queue it will join."""
    ghosts, slots, memory = store.ghosts, store.slots, store.memory
    capacity = float(store.pools[replica * store.tiers].capacity)
    for i in range(count):
        if events[i] != INSERTED:
            continue
        slot = used[i]
        once, often = ghosts.size[2 * replica], ghosts.size[2 * replica + 1]
        queue = ghosts.links[slot].queue
        slots[slot].counter = 0 if queue < 0 else 1
        if queue < 0:
            continue
        if queue == 2 * replica:
            memory[replica].target = min(capacity, memory[replica].target + max(1.0, often / once))
        else:
            memory[replica].target = max(0.0, memory[replica].target - max(1.0, once / often))
        unlink(ghosts, slot)


@njit(cache=True)
def use_arc(store, replica, used, events, count):  # type: ignore[no-untyped-def]
    """A new entry joins the queue that was foreseen, a served one the second, a rewritten one stays in its own."""
    slots, queues = store.slots, store.queues
    once = first_queue(store, replica)
    for i in range(count):
        slot = used[i]
        if events[i] == INSERTED:
            push_back(queues, once + slots[slot].counter, slot)
        elif events[i] == SERVED:
            unlink(queues, slot)
            push_back(queues, once + 1, slot)
        else:
            move_to_back(queues, slot)


@njit(cache=True)
def evict_arc(store, replica, count, request, now, victims):  # type: ignore[no-untyped-def]
    """Up to `count` entries into `victims`; returns how many. The first queue gives while it is above target."""
    queues, slots, ghosts = store.queues, store.slots, store.ghosts
    once = first_queue(store, replica)
    once_end = queues.ends + once
    next_once, next_often = front(queues, once), front(queues, once + 1)
    target = store.memory[replica].target
    found = 0
    while found < count:
        while next_once != once_end and in_use(slots, next_once, request, now):
            next_once = slots[next_once].following
        while next_often != once_end + 1 and in_use(slots, next_often, request, now):
            next_often = slots[next_often].following
        from_once = next_once != once_end and (queues.size[once] > target or next_often == once_end + 1)
        if from_once:
            slot = next_once
            next_once = slots[slot].following
        elif next_often != once_end + 1:
            slot = next_often
            next_often = slots[slot].following
        else:
            break
        unlink(queues, slot)
        if ghosts.links[slot].queue >= 0:
            unlink(ghosts, slot)
        push_back(ghosts, 2 * replica + (0 if from_once else 1), slot)
        victims[found] = slot
        found += 1
    return found


@njit(cache=True)
def trim_memory_arc(store, replica):  # type: ignore[no-untyped-def]
    """After a request: forget what exceeds one cache for the first queue, two for everything."""
    queues, ghosts = store.queues, store.ghosts
    once, often = 2 * replica, 2 * replica + 1
    capacity = store.pools[replica * store.tiers].capacity
    first = first_queue(store, replica)
    while ghosts.size[once] > 0 and queues.size[first] + ghosts.size[once] > capacity:
        unlink(ghosts, front(ghosts, once))
    held = queues.size[first] + queues.size[first + 1]
    while ghosts.size[often] > 0 and held + ghosts.size[once] + ghosts.size[often] > 2 * capacity:
        unlink(ghosts, front(ghosts, often))
