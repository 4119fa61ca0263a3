"""The compiled loop of a replay: requests in time order against a Store, entry by entry."""

import numpy as np

from analyzers.compiled import njit
from analyzers.trace import NO_TIME
from simulators.kernels.paths import write_blocks
from simulators.kernels.places import (
    ABSENT,
    EVICTED,
    FAILED,
    INVALIDATED,
    NOT_READY,
    OTHER_REPLICA,
    READY,
    cause_of_absence,
    entry_state,
    locate,
    move_down,
    purge_expired,
    unit_random,
)
from simulators.kernels.replay_plan import (
    CANCELLED,
    DUPLICATES,
    FAILED_RESTORES,
    INVALIDATE,
    JOIN,
    LATE,
    LEAVE,
    NOT_KEPT,
    PINS_BROKEN,
    WRITTEN,
)
from simulators.kernels.replay_policies import evict, use
from simulators.policies import ARC, PRIORITY
from simulators.policies.arc import foresee_arc, trim_memory_arc
from simulators.policies.lifetime import copy_life, create, use_again
from simulators.policies.priority import PINNED
from simulators.policies.store import INSERTED, REWRITTEN, SERVED, detach, drop, pool_of
from simulators.policies.structures import NOWHERE, RISING, move_to_back


@njit(cache=True)
def block_accesses(leaf, parent, depth_start, depth_end, total_tokens, size, first_id, named):  # type: ignore[no-untyped-def]
    """The whole blocks of each request, root first: offsets (int64 of requests + 1) and block ids (int32), of which
    those below `named` may be shared; and the number of ids.

    Blocks that end in an output whose ids are unknown have an id of their own: nobody can share them, but they take
    room like any other.
    """
    requests = len(leaf)
    offsets = np.zeros(requests + 1, np.int64)
    for request in range(requests):
        offsets[request + 1] = offsets[request] + total_tokens[request] // size
    blocks = np.empty(offsets[requests], np.int32)
    count = named
    for request in range(requests):
        own = blocks[offsets[request] : offsets[request + 1]]
        known = write_blocks(leaf[request], parent, depth_start, depth_end, size, first_id, own)
        for k in range(known, len(own)):
            own[k] = count
            count += 1
    return offsets, blocks, count


@njit(cache=True)
def apply_event(store, plan, event, now, alive, out):  # type: ignore[no-untyped-def]
    """Invalidate entries everywhere, or let a replica come or go."""
    slots, blocks = store.slots, store.blocks
    if plan.event_kind[event] == INVALIDATE:
        for i in range(plan.event_offsets[event], plan.event_offsets[event + 1]):
            for slot in range(plan.event_blocks[i], store.queues.ends, blocks):
                if slots[slot].tier >= 0:
                    out.reached[event, pool_of(slots, slot, blocks, store.replicas, store.tiers)] += 1
                    out.counters[INVALIDATED] += 1
                    if entry_state(slots, slot, now) != READY:
                        out.counters[CANCELLED] += 1
                    drop(store, slot, INVALIDATED)
                slots[slot].gone = INVALIDATED
        return
    replica = plan.event_replica[event]
    alive[replica] = plan.event_kind[event] == JOIN
    if plan.event_kind[event] == LEAVE:
        for slot in range(replica * blocks, (replica + 1) * blocks):
            if slots[slot].tier >= 0:
                out.counters[OTHER_REPLICA] += 1
                drop(store, slot, OTHER_REPLICA)


@njit(cache=True)
def lookup(store, plan, request, replica, out):  # type: ignore[no-untyped-def]
    """Leading blocks that can be read, why the run ends (0: the next is nowhere, or there is no next), and ns to
    wait and to restore."""
    slots, accesses = store.slots, plan.blocks
    blocks, shared_base = store.blocks, store.shared * store.replicas * store.blocks
    now, first = plan.time_ns[request], plan.offsets[request]
    wait, restore = 0, 0.0
    for i in range(plan.servable[request]):
        block = accesses[first + i]
        slot = locate(slots, replica, block, blocks, shared_base)
        tier = slots[slot].tier
        if tier < 0:
            return i, 0, wait, restore
        if slots[slot].ready_ns > now:
            if not plan.single_flight:
                return i, NOT_READY, wait, restore
            wait = max(wait, slots[slot].ready_ns - now)
            if slots[slot].doomed:
                return i, FAILED, wait, restore
        if tier > 0:
            if restore + plan.move_ns[tier] > plan.deadline_ns:
                out.counters[LATE] += 1
                return i, FAILED, wait, restore
            restore += plan.move_ns[tier]
            if plan.restore_failure > 0.0 and unit_random(plan.seed, request, block) < plan.restore_failure:
                out.counters[FAILED_RESTORES] += 1
                drop(store, slot, FAILED)
                return i, FAILED, wait, restore
        out.tier_hits[request, tier] += 1
    return plan.servable[request], 0, wait, restore


@njit(cache=True)
def explain_losses(store, plan, request, replica, found, hole, out):  # type: ignore[no-untyped-def]
    """Count by Loss the blocks that were sent before and were not read. One that could be read but for a hole
    before it is lost for the reason of the hole."""
    slots, blocks = store.slots, store.blocks
    shared_base = store.shared * store.replicas * blocks
    now, first = plan.time_ns[request], plan.offsets[request]
    for i in range(found, plan.seen[request]):
        block = plan.blocks[first + i]
        state = entry_state(slots, locate(slots, replica, block, blocks, shared_base), now)
        cause = hole
        if state == ABSENT:
            cause = cause_of_absence(slots, replica, block, blocks, shared_base)
        elif state != READY and not plan.single_flight:
            out.counters[DUPLICATES] += 1
            cause = NOT_READY
        if i == found:
            if hole != 0:
                cause = hole
            hole = cause
        out.lost[request, cause] += 1


@njit(cache=True)
def choose_replica(store, plan, request, alive, load):  # type: ignore[no-untyped-def]
    """The replica that can serve most of the prompt among those not overloaded; ties go to the lighter load.

    Overloaded: its load (prompt tokens computed lately) is more than `balance` times the mean plus this prompt.
    """
    slots, blocks = store.slots, store.blocks
    shared_base = store.shared * store.replicas * blocks
    now, first = plan.time_ns[request], plan.offsets[request]
    total, living = 0.0, 0
    for replica in range(store.replicas):
        if alive[replica]:
            total += load[replica]
            living += 1
    limit = plan.balance * total / max(living, 1) + plan.prompt_tokens[request]
    best, most = -1, -1
    for replica in range(store.replicas):
        if not alive[replica] or load[replica] > limit:
            continue
        found = 0
        while found < plan.servable[request]:
            slot = locate(slots, replica, plan.blocks[first + found], blocks, shared_base)
            if entry_state(slots, slot, now) != READY:
                break
            found += 1
        if found > most or (found == most and load[replica] < load[best]):
            best, most = replica, found
    return best


@njit(cache=True)
def list_uses(store, plan, request, replica, found, used, events):  # type: ignore[no-untyped-def]
    """What the request does to its blocks in the fastest tier, leaf first, into `used` (slots) and `events`;
    returns how many of them are new there."""
    slots, accesses = store.slots, plan.blocks
    first, last = plan.offsets[request], plan.offsets[request + 1]
    base, shared_base = replica * store.blocks, store.shared * store.replicas * store.blocks
    fresh = 0
    for i in range(last - first):
        block = accesses[last - 1 - i]
        slot = base + block
        slots[slot].user = request
        if shared_base:
            slots[shared_base + block].user = request
        used[i] = slot
        if slots[slot].tier != 0:
            events[i] = INSERTED
            fresh += 1
        else:
            events[i] = SERVED if last - 1 - i - first < found else REWRITTEN
    return fresh


@njit(cache=True)
def leave_out(slots, used, events, count, reads, left_out):  # type: ignore[no-untyped-def]
    """Remove the deepest `left_out` new blocks from the lists, of which the last `reads` are read; returns how
    many remain, and how many of them are read."""
    remaining, first_read = 0, count - reads
    for i in range(count):
        if events[i] == INSERTED and left_out > 0:
            left_out -= 1
            if i >= first_read:
                reads -= 1
            if slots[used[i]].gone == 0:
                slots[used[i]].gone = EVICTED
        else:
            used[remaining] = used[i]
            events[remaining] = events[i]
            remaining += 1
    return remaining, reads


@njit(cache=True)
def leave_lower_tiers(store, plan, now, used, events, count, reads, out):  # type: ignore[no-untyped-def]
    """Take what comes to the fastest tier out of the tier it lies in; a shared tier keeps its copy. The last
    `reads` of the lists are read."""
    slots, private = store.slots, store.replicas * store.blocks
    for i in range(count):
        if events[i] != INSERTED:
            continue
        slot = used[i]
        read = i >= count - reads
        if slots[slot].tier > 0:
            if read:
                out.moved_out[slots[slot].tier] += 1
            detach(store, slot)
            slots[slot].tier = RISING
        elif store.shared:
            copy = private + slot % store.blocks
            if slots[copy].tier < 0:
                slots[copy].gone = 0  # what happens to the new entry is told by its own slot
                continue
            move_to_back(store.queues, copy)
            if read:
                out.moved_out[slots[copy].tier] += 1
                use_again(slots, store.ends, copy, now, plan.ttl_kind, plan.ttl_ns)
                slots[slot].tier = RISING
                copy_life(slots, store.ends, copy, slot)


@njit(cache=True)
def admit(store, plan, request, replica, found, start, ready, work, out):  # type: ignore[no-untyped-def]
    """Make room, then write and touch the request's entries leaf first, root last."""
    slots, pools, ends = store.slots, store.pools, store.ends
    used, events, victims = work
    now, pool = plan.time_ns[request], replica * store.tiers
    first, last = plan.offsets[request], plan.offsets[request + 1]
    count = last - first
    fresh = list_uses(store, plan, request, replica, found, used, events)
    if plan.policy == ARC:
        foresee_arc(store, replica, used, events, count)
    capacity = pools[pool].capacity
    need = pools[pool].used - (count - fresh) + plan.occupied[request] - capacity
    given = 0
    if need > 0:
        given = evict(store, plan.policy, replica, need, request, now, victims)
    kept = min(fresh, max(capacity - pools[pool].used + given, 0))
    reads = found
    if kept < fresh:
        # Entries being built hold the room: the deepest blocks find no place.
        out.counters[NOT_KEPT] += fresh - kept
        count, reads = leave_out(slots, used, events, count, found, fresh - kept)
    if store.tiers + store.shared > 1:
        leave_lower_tiers(store, plan, now, used, events, count, reads, out)
        for i in range(given):
            slots[victims[i]].user = -1
            if plan.policy == PRIORITY and slots[victims[i]].rank >= PINNED:
                out.counters[PINS_BROKEN] += 1
            move_down(store, victims[i], request, now, plan.move_ns, out.moved_in, out.counters)
    else:
        for i in range(given):
            slots[victims[i]].user = -1
            slots[victims[i]].tier = NOWHERE
            slots[victims[i]].gone = EVICTED
            if plan.policy == PRIORITY and slots[victims[i]].rank >= PINNED:
                out.counters[PINS_BROKEN] += 1
        pools[pool].used -= given
        out.counters[EVICTED] += given
    for i in range(count):
        read = i >= count - reads
        if not plan.timeless:
            if not read:
                create(slots, ends, used[i], now, ready, plan.doomed[request], plan.ttl_kind, plan.ttl_ns)
            else:
                use_again(slots, ends, used[i], now, plan.ttl_kind, plan.ttl_ns)
                if events[i] == INSERTED:
                    slots[used[i]].ready_ns = start
        if events[i] == INSERTED:
            slots[used[i]].tier = 0
            if not read:
                out.counters[WRITTEN] += 1
    pools[pool].used += kept
    next_use = plan.next_use[first:last]
    use(store, plan.policy, replica, used, events, count, plan.weight[request], next_use)
    if plan.policy == ARC:
        trim_memory_arc(store, replica)


@njit(cache=True)
def replay_requests(store, plan, out):  # type: ignore[no-untyped-def]
    """Serve every request in order; fills `out`."""
    requests = len(plan.time_ns)
    most = 1
    for request in range(requests):
        most = max(most, plan.occupied[request])
    work = (np.empty(most, np.int64), np.empty(most, np.int8), np.empty(most, np.int64))
    alive = np.ones(store.replicas, np.bool_)
    load = np.zeros(store.replicas, np.float64)
    event, before = 0, plan.time_ns[0] if requests else 0
    for request in range(requests):
        now = plan.time_ns[request]
        while event < len(plan.event_ns) and plan.event_ns[event] <= now:
            apply_event(store, plan, event, plan.event_ns[event], alive, out)
            event += 1
        if store.ends.room:
            purge_expired(store, now, out.counters)
        replica = plan.route[request]
        if replica < 0:
            load *= 0.5 ** ((now - before) / plan.half_life_ns)
            before = now
            replica = choose_replica(store, plan, request, alive, load)
        found, hole, wait, restore = lookup(store, plan, request, replica, out)
        if found < plan.seen[request]:
            explain_losses(store, plan, request, replica, found, hole, out)
        computed = plan.prompt_tokens[request] - found * plan.block_tokens
        load[replica] += computed
        start = now + wait
        ready = start
        if plan.ready_ns[request] != NO_TIME:
            ready = max(start, plan.ready_ns[request])
        elif not plan.at_once:
            ready = start + np.int64(restore + computed * plan.ns_per_token)
        out.hit[request] = found
        out.replica[request] = replica
        out.waited_ns[request] = wait
        admit(store, plan, request, replica, found, start, ready, work, out)
    while event < len(plan.event_ns):
        apply_event(store, plan, event, plan.event_ns[event], alive, out)
        event += 1
