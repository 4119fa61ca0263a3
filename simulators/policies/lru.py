"""LRU: what was used longest ago goes first. A request touches leaf first and root last, so tails go first."""

from analyzers.compiled import njit
from simulators.policies.store import INSERTED
from simulators.policies.structures import move_to_back, push_back


@njit(cache=True)
def use_lru(queues, queue, slots, events, count):  # type: ignore[no-untyped-def]
    """Whatever is used becomes the newest."""
    for i in range(count):
        if events[i] == INSERTED:
            push_back(queues, queue, slots[i])
        else:
            move_to_back(queues, slots[i])
