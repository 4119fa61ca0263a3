"""From a policy's number to its verbs. One branch a policy."""

from analyzers.compiled import njit
from simulators.policies import ARC, BELADY, FIFO, LFU, LRU, PRIORITY, S3_FIFO, SIZE_AWARE
from simulators.policies.arc import evict_arc, use_arc
from simulators.policies.belady import use_belady
from simulators.policies.fifo import evict_oldest, use_fifo
from simulators.policies.lfu import use_lfu
from simulators.policies.lru import use_lru
from simulators.policies.priority import use_priority
from simulators.policies.ranked import evict_ranked
from simulators.policies.s3fifo import evict_s3fifo, use_s3fifo
from simulators.policies.size_aware import use_size_aware
from simulators.policies.store import first_queue


@njit(cache=True)
def use(store, policy, replica, used, events, count, weight, next_use):  # type: ignore[no-untyped-def]
    """Tell the policy what happened to the slots `used`, leaf first, in the fastest tier of a replica.

    `weight` is the request's cost or class, `next_use` the next uses of its blocks, root first.
    """
    if policy == LRU:
        use_lru(store.queues, first_queue(store, replica), used, events, count)
    elif policy == FIFO:
        use_fifo(store.queues, first_queue(store, replica), used, events, count)
    elif policy == LFU:
        use_lfu(store, replica, used, events, count)
    elif policy == SIZE_AWARE:
        use_size_aware(store, replica, used, events, count, weight)
    elif policy == PRIORITY:
        use_priority(store, replica, used, events, count, weight)
    elif policy == S3_FIFO:
        use_s3fifo(store, replica, used, events, count)
    elif policy == ARC:
        use_arc(store, replica, used, events, count)
    elif policy == BELADY:
        use_belady(store, replica, used, count, next_use)


@njit(cache=True)
def evict(store, policy, replica, count, request, now, victims):  # type: ignore[no-untyped-def]
    """Name up to `count` entries to go, out of their queues; returns how many there are."""
    if policy in (LRU, FIFO):
        return evict_oldest(store.queues, first_queue(store, replica), count, request, now, victims)
    if policy == S3_FIFO:
        return evict_s3fifo(store, replica, count, request, now, victims)
    if policy == ARC:
        return evict_arc(store, replica, count, request, now, victims)
    return evict_ranked(store, replica, count, request, now, victims)
