"""When entries end, soonest first."""

from typing import NamedTuple

import numpy as np

from analyzers.compiled import njit
from analyzers.trace import Int64
from simulators.policies.structures import (
    HEAP_ENTRY,
    NOWHERE,
    Records,
    heap_drop_top,
    heap_push,
    heap_replace_top,
    room_for,
)

NEVER = np.iinfo(np.int64).max
"""An end that does not come."""


class Ends(NamedTuple):
    """When entries end. A ring, oldest first, where ends are set `in_order` (one lifetime for all, counted from the
    moment of the request): `size` holds how many there are, and where the first is. Else a heap.

    An entry may have several: the one that its slot's `expires_ns` names holds. `slots` is their number.
    """

    entries: Records
    size: Int64
    room: int
    in_order: bool
    slots: int


def make_ends(slots: int, *, needed: bool, in_order: bool) -> Ends:
    """No ends yet; without room for any where none is `needed`."""
    room = room_for(slots) if needed else 0
    return Ends(np.zeros(room, HEAP_ENTRY), np.zeros(2, np.int64), room, in_order, slots)


@njit(cache=True)
def set_expiry(slots, ends, slot, when, known):  # type: ignore[no-untyped-def]
    """Let the entry end after `when`. `known`: an earlier end of it was set before, which a heap finds when it is
    due; then it needs no second entry there."""
    slots[slot].expires_ns = when
    if when == NEVER:
        return
    if ends.in_order:
        if ends.size[0] == ends.room:
            _forget_old_ends(slots, ends)
        _write_end(ends, ends.size[0], when, slot)
        ends.size[0] += 1
    elif not known:
        if ends.size[0] == ends.room:
            ends.size[0] = 0
            for each in range(ends.slots):
                if each != slot and slots[each].expires_ns != NEVER and slots[each].tier != NOWHERE:
                    heap_push(ends, 0, slots[each].expires_ns, each, each)
        heap_push(ends, 0, when, slot, slot)


@njit(cache=True)
def _write_end(ends, at, when, slot):  # type: ignore[no-untyped-def]
    at = (ends.size[1] + at) % ends.room
    ends.entries[at].rank = when
    ends.entries[at].slot = slot


@njit(cache=True)
def _forget_old_ends(slots, ends):  # type: ignore[no-untyped-def]
    """Keep, in order, only the ends that hold, once each (the sign of `uses` marks who has one)."""
    kept = 0
    for i in range(ends.size[0]):
        entry = ends.entries[(ends.size[1] + i) % ends.room]
        when, slot = entry.rank, entry.slot
        if slots[slot].tier != NOWHERE and slots[slot].expires_ns == when and slots[slot].uses > 0:
            slots[slot].uses = -slots[slot].uses
            _write_end(ends, kept, when, slot)
            kept += 1
    ends.size[0] = kept
    for i in range(kept):
        slot = ends.entries[(ends.size[1] + i) % ends.room].slot
        slots[slot].uses = -slots[slot].uses


@njit(cache=True)
def next_ended(slots, ends, now):  # type: ignore[no-untyped-def]
    """An entry whose end lies before `now`, -1 when there is none (left)."""
    while ends.size[0] > 0:
        first = ends.entries[ends.size[1]]
        when, slot = first.rank, first.slot
        if when >= now:
            break
        due = slots[slot].expires_ns
        here = slots[slot].tier >= 0
        if ends.in_order:
            ends.size[0] -= 1
            ends.size[1] = (ends.size[1] + 1) % ends.room
        elif here and when < due and due != NEVER:
            heap_replace_top(ends, 0, due, slot, slot)
        else:
            heap_drop_top(ends, 0)
        if here and due <= when:
            return slot
    return -1
