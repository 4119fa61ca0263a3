"""What policies are made of: linked queues of slots, and a heap that forgives keys which have risen since.

Compiled functions here and in the policies take few arrays each: numba counts references per array and call.
"""

from typing import Any, NamedTuple

import numpy as np

from analyzers.compiled import njit
from analyzers.trace import Int64

Records = np.ndarray[Any, np.dtype[np.void]]

NOWHERE, RISING = -1, -2
"""In the field `tier` of a slot: its entry is nowhere; it has left a lower tier and is about to be in the fastest."""

SPARE = 1024
"""Room in a heap beyond twice the slots: how rarely dead entries are swept out."""


def room_for(slots: int) -> int:
    """Room of a heap that knows so many slots."""
    return 2 * slots + SPARE


LINK = np.dtype([("following", np.int32), ("previous", np.int32), ("queue", np.int32)], align=True)
"""A place in a queue; `queue` is -1 outside of any."""


class Queues(NamedTuple):
    """Doubly linked queues, oldest first. Queue q is closed to a ring by the link at `ends` + q; `size` counts
    its slots. `links` has at least the fields of LINK."""

    links: Records
    size: Int64
    ends: int


def make_queues(links: Records, queues: int) -> Queues:
    """Empty queues whose last `queues` links are their ends."""
    everyone = np.arange(len(links), dtype=np.int32)
    links["following"], links["previous"], links["queue"] = everyone, everyone, -1
    return Queues(links, np.zeros(queues, np.int64), len(links) - queues)


@njit(cache=True)
def push_back(queues, queue, slot):  # type: ignore[no-untyped-def]
    """Make the slot the newest of the queue."""
    links, end = queues.links, queues.ends + queue
    last = links[end].previous
    links[last].following = slot
    links[slot].previous = last
    links[slot].following = end
    links[slot].queue = queue
    links[end].previous = slot
    queues.size[queue] += 1


@njit(cache=True)
def unlink(queues, slot):  # type: ignore[no-untyped-def]
    """Take the slot out of its queue."""
    links = queues.links
    before, after = links[slot].previous, links[slot].following
    links[before].following = after
    links[after].previous = before
    queues.size[links[slot].queue] -= 1
    links[slot].queue = -1


@njit(cache=True)
def move_to_back(queues, slot):  # type: ignore[no-untyped-def]
    """Make the slot the newest of the queue it is in."""
    queue = queues.links[slot].queue
    unlink(queues, slot)
    push_back(queues, queue, slot)


@njit(cache=True)
def front(queues, queue):  # type: ignore[no-untyped-def]
    """The oldest slot of the queue, its end where it is empty."""
    return queues.links[queues.ends + queue].following


HEAP_ENTRY = np.dtype([("rank", np.int64), ("stamp", np.int64), ("slot", np.int64)])


class Heap(NamedTuple):
    """Heaps of `room` entries each, the least (rank, stamp) first; `size` entries are in use.

    An entry's key may be out of date. The key of a slot that stays only rises, so whoever takes the top
    compares it with the slot's own key and puts it back when it has risen.
    """

    entries: Records
    size: Int64
    room: int


def make_heap(heaps: int, slots: int) -> Heap:
    """Empty heaps for so many slots each; none of any size for no slots."""
    room = room_for(slots) if slots else 0
    return Heap(np.zeros(heaps * room, HEAP_ENTRY), np.zeros(heaps, np.int64), room)


@njit(cache=True)
def _comes_first(rank, stamp, entry):  # type: ignore[no-untyped-def]
    return rank < entry.rank or (rank == entry.rank and stamp <= entry.stamp)


@njit(cache=True)
def _write(entries, at, rank, stamp, slot):  # type: ignore[no-untyped-def]
    entries[at].rank = rank
    entries[at].stamp = stamp
    entries[at].slot = slot


@njit(cache=True)
def heap_push(heap, which, rank, stamp, slot):  # type: ignore[no-untyped-def]
    """Add an entry."""
    entries, base = heap.entries, which * heap.room
    i = heap.size[which]
    heap.size[which] += 1
    while i > 0:
        up = base + (i - 1) // 2
        if not _comes_first(rank, stamp, entries[up]):
            break
        _write(entries, base + i, entries[up].rank, entries[up].stamp, entries[up].slot)
        i = (i - 1) // 2
    _write(entries, base + i, rank, stamp, slot)


@njit(cache=True)
def heap_replace_top(heap, which, rank, stamp, slot):  # type: ignore[no-untyped-def]
    """Put an entry where the top is, and let it sink."""
    entries, base, size = heap.entries, which * heap.room, heap.size[which]
    i = 0
    while 2 * i + 1 < size:
        down = 2 * i + 1
        if down + 1 < size and _comes_first(
            entries[base + down + 1].rank, entries[base + down + 1].stamp, entries[base + down]
        ):
            down += 1
        if _comes_first(rank, stamp, entries[base + down]):
            break
        below = entries[base + down]
        _write(entries, base + i, below.rank, below.stamp, below.slot)
        i = down
    _write(entries, base + i, rank, stamp, slot)


@njit(cache=True)
def heap_drop_top(heap, which):  # type: ignore[no-untyped-def]
    """Remove the top entry."""
    heap.size[which] -= 1
    if heap.size[which] > 0:
        last = heap.entries[which * heap.room + heap.size[which]]
        heap_replace_top(heap, which, last.rank, last.stamp, last.slot)
