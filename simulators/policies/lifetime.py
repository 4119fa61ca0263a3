"""How long an entry lives when there is room for it.

`last-use`: every use puts the end off (a sliding lifetime). `creation`: the end is fixed when the entry is written;
computing it again writes it anew. `hits`: base * (1 + log10(uses)) after the last use, where writing is the first
use, so that what is used often outlives pauses. An entry is still read at the very moment its lifetime ends.

Expired entries take no room: they are lost before a request looks, so they never push a live one out.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from analyzers.errors import UsageError
from simulators.lifecycle import Loss
from simulators.policies.store import NEVER, drop
from simulators.policies.structures import heap_drop_top, heap_push, heap_replace_top

TtlFrom = Literal["last-use", "creation", "hits"]
NO_TTL, SLIDING, FROM_CREATION, BY_HITS = range(4)
_KINDS: dict[str, int] = {"last-use": SLIDING, "creation": FROM_CREATION, "hits": BY_HITS}
_EXPIRED, _FAILED = int(Loss.EXPIRED), int(Loss.FAILED)


@dataclass(frozen=True)
class Lifetime:
    """A lifetime in seconds and what it counts from."""

    seconds: float
    counts_from: TtlFrom = "last-use"

    def kind(self) -> int:
        """The number the compiled loop knows it by. Raises UsageError for settings that make no sense."""
        if self.seconds <= 0:
            raise UsageError(f"a lifetime of {self.seconds:g} s keeps nothing; give a positive one")
        if self.counts_from not in _KINDS:
            raise UsageError(f"a lifetime counts from {', '.join(_KINDS)}, not from '{self.counts_from}'")
        return _KINDS[self.counts_from]


@njit(cache=True)
def set_expiry(store, slot, when, known):  # type: ignore[no-untyped-def]
    """Let the entry end after `when`. `known`: an earlier end of it was set before, which a heap finds when it is
    due; then it needs no second entry there."""
    slots, ends = store.slots, store.ends
    slots[slot].expires_ns = when
    if when == NEVER:
        return
    if store.ends_in_order:
        if ends.size[0] == ends.room:
            _forget_old_ends(slots, ends)
        _write_end(ends, ends.size[0], when, slot)
        ends.size[0] += 1
    elif not known:
        if ends.size[0] < ends.room:
            heap_push(ends, 0, when, slot, slot)
            return
        ends.size[0] = 0
        for each in range(store.queues.ends):
            if slots[each].expires_ns != NEVER and (slots[each].tier != -1 or each == slot):
                heap_push(ends, 0, slots[each].expires_ns, each, each)


@njit(cache=True)
def _write_end(ends, at, when, slot):  # type: ignore[no-untyped-def]
    """In the ring of ends: `size` holds how many there are, and where the first is."""
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
        if slots[slot].tier != -1 and slots[slot].expires_ns == when and slots[slot].uses > 0:
            slots[slot].uses = -slots[slot].uses
            _write_end(ends, kept, when, slot)
            kept += 1
    ends.size[0] = kept
    for i in range(kept):
        slot = ends.entries[(ends.size[1] + i) % ends.room].slot
        slots[slot].uses = -slots[slot].uses


@njit(cache=True)
def use_again(store, slot, now, ttl_kind, ttl_ns):  # type: ignore[no-untyped-def]
    """Count a use of an entry that was read, and put its end off where the lifetime says so."""
    store.slots[slot].uses += 1
    if ttl_kind == SLIDING:
        set_expiry(store, slot, now + ttl_ns, True)
    elif ttl_kind == BY_HITS:
        factor = 1.0 + np.log10(store.slots[slot].uses)
        set_expiry(store, slot, now + np.int64(ttl_ns * factor), True)


@njit(cache=True)
def create(store, slot, now, ready, doomed, ttl_kind, ttl_ns):  # type: ignore[no-untyped-def]
    """Give an entry that was computed its beginning and its end; one whose write fails ends when it would be
    ready. What lies there already stays readable: the earlier of two copies counts."""
    slots = store.slots
    if slots[slot].tier >= 0 and not slots[slot].doomed:
        if doomed:
            return
        ready = min(ready, slots[slot].ready_ns)
    slots[slot].doomed = doomed
    slots[slot].ready_ns = ready
    slots[slot].uses = 1
    if doomed:
        set_expiry(store, slot, ready - 1, False)
    elif ttl_kind == NO_TTL:
        slots[slot].expires_ns = NEVER
    else:
        set_expiry(store, slot, now + ttl_ns, False)


@njit(cache=True)
def copy_life(store, slot, goal):  # type: ignore[no-untyped-def]
    """The copy ends when the entry does."""
    store.slots[goal].doomed = 0
    store.slots[goal].uses = store.slots[slot].uses
    set_expiry(store, goal, store.slots[slot].expires_ns, False)


@njit(cache=True)
def purge_expired(store, now, counters):  # type: ignore[no-untyped-def]
    """Lose every entry whose end lies before `now`; entries whose write failed go the same way."""
    ends, slots = store.ends, store.slots
    while ends.size[0] > 0:
        first = ends.entries[ends.size[1]]
        when, slot = first.rank, first.slot
        if when >= now:
            break
        due = slots[slot].expires_ns
        stays = slots[slot].tier >= 0 and due > when
        if store.ends_in_order:
            ends.size[0] -= 1
            ends.size[1] = (ends.size[1] + 1) % ends.room
        elif stays and due != NEVER:
            heap_replace_top(ends, 0, due, slot, slot)
        else:
            heap_drop_top(ends, 0)
        if slots[slot].tier >= 0 and not stays:
            cause = _FAILED if slots[slot].doomed else _EXPIRED
            counters[cause] += 1
            drop(store, slot, cause)
