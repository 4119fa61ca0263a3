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
    """Let the entry end after `when`. Where the heap knows it with an earlier end, it needs no second entry: the
    top is checked when it is due."""
    slots, heap = store.slots, store.expiry
    slots[slot].expires_ns = when
    if when == NEVER or known:
        return
    if heap.size[0] < heap.room:
        heap_push(heap, 0, when, slot, slot)
        return
    heap.size[0] = 0
    for each in range(store.queues.ends):
        if slots[each].expires_ns != NEVER and (slots[each].tier >= 0 or each == slot):
            heap_push(heap, 0, slots[each].expires_ns, each, each)


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
    heap, slots = store.expiry, store.slots
    while heap.size[0] > 0 and heap.entries[0].rank < now:
        slot = heap.entries[0].slot
        due = slots[slot].expires_ns
        if slots[slot].tier < 0 or due == NEVER:
            heap_drop_top(heap, 0)
        elif due > heap.entries[0].rank:
            heap_replace_top(heap, 0, due, slot, slot)
        else:
            heap_drop_top(heap, 0)
            cause = _FAILED if slots[slot].doomed else _EXPIRED
            counters[cause] += 1
            drop(store, slot, cause)
