"""FIFO: the entry written longest ago goes first, whether it was used since or not."""

from analyzers.compiled import njit
from simulators.policies.store import INSERTED, in_use
from simulators.policies.structures import front, push_back, unlink


@njit(cache=True)
def use_fifo(queues, queue, slots, events, count):  # type: ignore[no-untyped-def]
    """A new entry is the newest; nothing else moves."""
    for i in range(count):
        if events[i] == INSERTED:
            push_back(queues, queue, slots[i])


@njit(cache=True)
def evict_oldest(queues, queue, count, request, now, victims):  # type: ignore[no-untyped-def]
    """Up to `count` entries from the front of a queue into `victims`; returns how many."""
    end = queues.ends + queue
    slot = front(queues, queue)
    found = 0
    while found < count and slot != end:
        behind = queues.links[slot].following
        if not in_use(queues.links, slot, request, now):
            unlink(queues, slot)
            victims[found] = slot
            found += 1
        slot = behind
    return found
