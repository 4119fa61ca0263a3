"""Priority (SLA) classes: the lowest class goes first, LRU within a class; pinned entries go last of all.

An entry has the highest class of the requests that used it since it was written, so what a gold and a free
tenant share is gold. A pin is a class above all others: it is broken only where nothing else can go, and each
broken pin is counted.
"""

from dataclasses import dataclass

import numpy as np

from analyzers.compiled import njit
from analyzers.errors import UsageError
from analyzers.trace import Int64, Trace
from simulators.policies.ranked import push_ranked
from simulators.policies.store import INSERTED
from simulators.selection import matching

PINNED = 1 << 20
"""The class of pinned entries."""


@dataclass(frozen=True)
class PriorityRule:
    """Requests whose `field` is `value` have this class (0 where no rule matches), or are pinned."""

    field: str
    value: str
    priority: int = 0
    pinned: bool = False


def request_classes(trace: Trace, rules: tuple[PriorityRule, ...]) -> Int64:
    """The class of each request (int64): the highest of the rules that match. Raises UsageError."""
    classes = np.zeros(len(trace), np.int64)
    for rule in rules:
        if not 0 <= rule.priority < PINNED:
            raise UsageError(f"priority {rule.priority} is out of range; use 0 to {PINNED - 1}")
        level = PINNED if rule.pinned else rule.priority
        chosen = matching(trace, rule.field, rule.value)
        if not chosen.any():
            raise UsageError(f"a priority names {rule.field} '{rule.value}', which no request of the log has")
        classes[chosen] = np.maximum(classes[chosen], level)
    return classes


@njit(cache=True)
def use_priority(store, replica, used, events, count, level):  # type: ignore[no-untyped-def]
    """A new entry has its writer's class; a user of a higher class lifts an entry to it."""
    slots, heap, memory = store.slots, store.heap, store.memory
    for i in range(count):
        slot = used[i]
        memory[replica].touches += 1
        slots[slot].stamp = memory[replica].touches
        if events[i] == INSERTED:
            slots[slot].rank = level
            push_ranked(heap, slots, store.blocks, replica, slot)
        else:
            slots[slot].rank = max(slots[slot].rank, level)
