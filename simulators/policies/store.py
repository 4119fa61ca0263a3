"""The state of all caches of a replay: where each entry lies, until when, and in which order it would go.

A *slot* is one place an entry can be known by: block b on replica r is slot r * blocks + b; where the last tier
is shared by all replicas, block b there is slot replicas * blocks + b.
"""

from typing import NamedTuple

import numpy as np

from analyzers.compiled import njit
from analyzers.trace import Int64
from simulators.policies import ARC, RANKED
from simulators.policies.ends import NEVER, Ends, make_ends
from simulators.policies.structures import (
    LINK,
    NOWHERE,
    Heap,
    Queues,
    Records,
    make_heap,
    make_queues,
    unlink,
)

TAKEN = -2
"""In `user`: the entry was named to go."""

INSERTED, SERVED, REWRITTEN = range(3)
"""What happens to an entry of the fastest tier: it comes there, it is read, or it is computed once more."""

SLOT = np.dtype(
    [
        ("following", np.int32),
        ("previous", np.int32),
        ("queue", np.int32),
        ("user", np.int32),  # the last request that used it
        ("ready_ns", np.int64),  # readable from then on
        ("expires_ns", np.int64),  # readable until then
        ("rank", np.int64),  # what a policy orders by, then by stamp
        ("stamp", np.int64),
        ("uses", np.int32),  # since it was written, for lifetimes
        ("tier", np.int8),  # 0 the fastest, -1 nowhere, or RISING
        ("gone", np.int8),  # the Loss it went by, 0 where it never was
        ("doomed", np.int8),  # its write will fail
        ("counter", np.int8),  # a policy's own
    ],
    align=True,
)
POOL = np.dtype([("used", np.int64), ("capacity", np.int64)])
MEMORY = np.dtype(
    [
        ("touches", np.int64),
        ("target", np.float64),  # ARC
        ("evictions", np.int64),  # S3-FIFO
        ("floor", np.int64),  # size-aware
    ]
)


class Store(NamedTuple):
    """Slots, one record each, then the ends of the queues; pools (one tier of one replica: replica * tiers + tier;
    the shared tier is the last), one `memory` a replica; heaps of ranks (one a replica); the ends of life."""

    blocks: int
    replicas: int
    tiers: int
    """Private tiers of a replica."""
    shared: int
    """1 where one more tier is shared by all replicas."""
    slots: Records
    queues: Queues
    pools: Records
    memory: Records
    heap: Heap
    ends: Ends
    ghosts: Queues
    aside: Int64


def make_store(
    blocks: int,
    replicas: int,
    capacity: list[int],
    shared: int | None,
    policy: int,
    *,
    expiring: bool = False,
    ends_in_order: bool = False,
) -> Store:
    """Empty caches. `capacity` is that of each private tier in blocks, `shared` that of the shared tier."""
    slots = replicas * blocks + (0 if shared is None else blocks)
    tiers = len(capacity)
    queues = replicas * (1 + tiers) + 1
    records = np.zeros(slots + queues, SLOT)
    records["tier"], records["user"], records["rank"], records["expires_ns"] = NOWHERE, -1, -1, NEVER
    pools = np.zeros(replicas * tiers + (shared is not None), POOL)
    pools["capacity"] = capacity * replicas + ([] if shared is None else [shared])
    heap = make_heap(replicas, blocks if policy in RANKED else 0)
    ghosts = np.zeros(slots + 2 * replicas if policy == ARC else 2 * replicas, LINK)
    return Store(
        blocks=blocks,
        replicas=replicas,
        tiers=tiers,
        shared=0 if shared is None else 1,
        slots=records,
        queues=make_queues(records, queues),
        pools=pools,
        memory=np.zeros(replicas, MEMORY),
        heap=heap,
        ends=make_ends(slots, needed=expiring, in_order=ends_in_order),
        ghosts=make_queues(ghosts, 2 * replicas),
        aside=np.zeros(heap.room + 1, np.int64),
    )


@njit(cache=True)
def first_queue(store, replica):  # type: ignore[no-untyped-def]
    """The policy's first queue of a replica's fastest tier; its second follows, then one a lower tier."""
    return replica * (1 + store.tiers)


@njit(cache=True)
def queue_of_tier(store, slot, tier):  # type: ignore[no-untyped-def]
    """The queue of a lower tier (1 or more), or of the shared tier."""
    if slot >= store.replicas * store.blocks:
        return store.replicas * (1 + store.tiers)
    return (slot // store.blocks) * (1 + store.tiers) + 1 + tier


@njit(cache=True)
def pool_of(slots, slot, blocks, replicas, tiers):  # type: ignore[no-untyped-def]
    """The pool that holds the entry."""
    if slot >= replicas * blocks:
        return replicas * tiers
    return (slot // blocks) * tiers + slots[slot].tier


@njit(cache=True)
def in_use(slots, slot, request, now):  # type: ignore[no-untyped-def]
    """Whether the entry must stay: the running request uses it, or it is being built or moved."""
    return slots[slot].user == request or slots[slot].ready_ns > now


@njit(cache=True)
def detach(store, slot):  # type: ignore[no-untyped-def]
    """Take the entry out of its pool; where it goes next is the caller's to say."""
    if store.slots[slot].queue >= 0:
        unlink(store.queues, slot)
    store.pools[pool_of(store.slots, slot, store.blocks, store.replicas, store.tiers)].used -= 1
    store.slots[slot].tier = NOWHERE


@njit(cache=True)
def drop(store, slot, cause):  # type: ignore[no-untyped-def]
    """Lose the entry for a cause."""
    detach(store, slot)
    store.slots[slot].gone = cause
