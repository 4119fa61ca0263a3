"""How long an entry lives when there is room for it.

`last-use`: every use puts the end off (a sliding lifetime). `creation`: the end is fixed when the entry is written;
computing it again writes it anew. `hits`: base * (1 + log10(uses)) after the last use, where writing is the first
use, so that what is used often outlives pauses. An entry is still read at the very moment its lifetime ends.

Expired entries take no room: they are lost before a request looks, so they never push a live one out.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analyzers.compiled import njit
from analyzers.errors import UsageError
from simulators.policies.ends import NEVER, set_expiry

TtlFrom = Literal["last-use", "creation", "hits"]
NO_TTL, SLIDING, FROM_CREATION, BY_HITS = range(4)
_KINDS: dict[str, int] = {"last-use": SLIDING, "creation": FROM_CREATION, "hits": BY_HITS}


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
def use_again(slots, ends, slot, now, ttl_kind, ttl_ns):  # type: ignore[no-untyped-def]
    """Count a use of an entry that was read, and put its end off where the lifetime says so."""
    slots[slot].uses += 1
    if ttl_kind == SLIDING:
        set_expiry(slots, ends, slot, now + ttl_ns, True)
    elif ttl_kind == BY_HITS:
        factor = 1.0 + np.log10(slots[slot].uses)
        set_expiry(slots, ends, slot, now + np.int64(ttl_ns * factor), True)


@njit(cache=True)
def create(slots, ends, slot, now, ready, doomed, ttl_kind, ttl_ns):  # type: ignore[no-untyped-def]
    """Give an entry that was computed its beginning and its end; one whose write fails ends when it would be
    ready. What lies there already stays readable: the earlier of two copies counts."""
    if slots[slot].tier >= 0 and not slots[slot].doomed:
        if doomed:
            return
        ready = min(ready, slots[slot].ready_ns)
    slots[slot].doomed = doomed
    slots[slot].ready_ns = ready
    slots[slot].uses = 1
    if doomed:
        set_expiry(slots, ends, slot, ready - 1, False)
    elif ttl_kind == NO_TTL:
        slots[slot].expires_ns = NEVER
    else:
        set_expiry(slots, ends, slot, now + ttl_ns, False)


@njit(cache=True)
def copy_life(slots, ends, slot, goal):  # type: ignore[no-untyped-def]
    """The copy ends when the entry does."""
    slots[goal].doomed = 0
    slots[goal].uses = slots[slot].uses
    set_expiry(slots, ends, goal, slots[slot].expires_ns, False)
