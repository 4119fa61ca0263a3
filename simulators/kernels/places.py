"""Moves of single entries in a replay: looking one up, moving it between tiers, losing it. See lifecycle.py."""

import numpy as np

from analyzers.compiled import njit
from simulators.lifecycle import EntryState, Loss
from simulators.policies.ends import next_ended
from simulators.policies.lifetime import copy_life
from simulators.policies.store import in_use, pool_of, queue_of_tier
from simulators.policies.structures import NOWHERE, front, move_to_back, push_back, unlink

ABSENT, BUILDING, READY, EVICTING = (int(state) for state in EntryState)
EVICTED, EXPIRED, NOT_READY, OTHER_REPLICA, INVALIDATED, FAILED = (int(loss) for loss in Loss)


@njit(cache=True)
def entry_state(slots, slot, now):  # type: ignore[no-untyped-def]
    """The EntryState of a slot at a time."""
    if slots[slot].tier < 0:
        return ABSENT
    if slots[slot].ready_ns <= now:
        return READY
    return BUILDING if slots[slot].tier == 0 else EVICTING


@njit(cache=True)
def locate(slots, replica, block, blocks, shared_base):  # type: ignore[no-untyped-def]
    """The slot that a request on this replica would read the block from (perhaps an absent one). `shared_base` is
    the first slot of the shared tier, 0 without one."""
    slot = replica * blocks + block
    if shared_base and slots[slot].tier < 0 and slots[shared_base + block].tier >= 0:
        return shared_base + block
    return slot


@njit(cache=True)
def cause_of_absence(slots, replica, block, blocks, shared_base):  # type: ignore[no-untyped-def]
    """Why a block that was seen before is nowhere to be read on this replica."""
    if shared_base and slots[shared_base + block].gone:
        return slots[shared_base + block].gone
    cause = slots[replica * blocks + block].gone
    return cause if cause else np.int8(OTHER_REPLICA)


@njit(cache=True)
def make_place_below(queues, queue, request, now):  # type: ignore[no-untyped-def]
    """The oldest entry of a lower tier that may go, out of its queue; -1 where all are in use."""
    slot = front(queues, queue)
    while slot != queues.ends + queue:
        if not in_use(queues.links, slot, request, now):
            unlink(queues, slot)
            return slot
        slot = queues.links[slot].following
    return -1


@njit(cache=True)
def move_down(store, slot, request, now, move_ns, moved_in, counters):  # type: ignore[no-untyped-def]
    """Evict an entry that is out of its queue already: to the next tier, whose oldest moves on in turn."""
    slots, queues, pools = store.slots, store.queues, store.pools
    while slot >= 0:
        private = slot < store.replicas * store.blocks
        tier = slots[slot].tier + 1
        pools[pool_of(slots, slot, store.blocks, store.replicas, store.tiers)].used -= 1
        slots[slot].tier = NOWHERE
        slots[slot].gone = EVICTED
        if not private or tier >= store.tiers + store.shared:
            counters[EVICTED] += 1
            return
        goal = slot
        pool = (slot // store.blocks) * store.tiers + tier
        if tier == store.tiers:
            goal = store.replicas * store.blocks + slot % store.blocks
            pool = store.replicas * store.tiers
            if slots[goal].tier >= 0:
                move_to_back(queues, goal)
                return
        queue = queue_of_tier(store, goal, tier)
        displaced = -1
        if pools[pool].used >= pools[pool].capacity:
            displaced = make_place_below(queues, queue, request, now)
            if displaced < 0:
                counters[EVICTED] += 1
                slots[goal].gone = EVICTED
                return
        slots[goal].tier = tier
        slots[goal].ready_ns = now + np.int64(move_ns[tier])
        slots[goal].user = -1
        pools[pool].used += 1
        push_back(queues, queue, goal)
        if goal != slot:
            copy_life(slots, store.ends, slot, goal)
        moved_in[tier] += 1
        slot = displaced


@njit(cache=True)
def purge_expired(store, now, counters):  # type: ignore[no-untyped-def]
    """Lose every entry whose end lies before `now`; entries whose write failed go the same way."""
    slots, queues, pools, ends = store.slots, store.queues, store.pools, store.ends
    slot = next_ended(slots, ends, now)
    while slot >= 0:
        if slots[slot].queue >= 0:
            unlink(queues, slot)
        pools[pool_of(slots, slot, store.blocks, store.replicas, store.tiers)].used -= 1
        slots[slot].tier = NOWHERE
        slots[slot].gone = FAILED if slots[slot].doomed else EXPIRED
        counters[slots[slot].gone] += 1
        slot = next_ended(slots, ends, now)


@njit(cache=True)
def unit_random(seed, request, block):  # type: ignore[no-untyped-def]
    """A number in [0, 1) from a seed and two numbers (splitmix64, Steele et al. 2014)."""
    x = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    x += np.uint64(request) * np.uint64(0xD1B54A32D192ED03) + np.uint64(block)
    for _ in range(2):
        x += np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return np.float64(x >> np.uint64(11)) / 9007199254740992.0
