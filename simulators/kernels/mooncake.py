"""Mooncake's store: objects with leases, evicted in batches above a watermark, oldest lease first."""

import numpy as np

from analyzers.compiled import njit
from simulators.kernels.paths import write_blocks
from simulators.kernels.vllm import _link_between, _unlink


@njit(cache=True)
def _evict_batch(count, now, put_queue, get_queue, after, before, lease, stored):  # type: ignore[no-untyped-def]
    """Evict up to `count` objects whose lease has ended by `now`; returns how many went."""
    gone = 0
    while gone < count:
        put, get = after[put_queue], after[get_queue]
        if put == put_queue and get == get_queue:
            break
        if put == put_queue or (get != get_queue and lease[get] < lease[put]):
            put = get
        if lease[put] > now:
            break
        _unlink(after, before, put)
        stored[put] = False
        gone += 1
    return gone


@njit(cache=True)
def replay_mooncake(  # type: ignore[no-untyped-def]
    leaf,
    parent,
    depth_start,
    depth_end,
    first_id,
    ids,
    size,
    total_tokens,
    most_hits,
    time_ns,
    capacity,
    watermark,
    evict_share,
    lease_ns,
):
    """Serve the requests one at a time from a store of `capacity` objects, one a block of `size` tokens.

    `time_ns` does not decrease. A read renews the lease to `lease_ns` from then; a new object may be evicted at
    once. Returns hit blocks per request (int64) and the number of objects that found no room.
    """
    requests = len(leaf)
    put_queue, get_queue = ids, ids + 1
    after = np.arange(ids + 2).astype(np.int64)
    before = np.arange(ids + 2).astype(np.int64)
    lease = np.zeros(ids, np.int64)
    stored = np.zeros(ids, np.bool_)
    most = 0
    for r in range(requests):
        most = max(most, total_tokens[r] // size)
    keys = np.empty(most + 1, np.int64)
    hits = np.zeros(requests, np.int64)
    used, refused = 0, 0
    for r in range(requests):
        now = time_ns[r]
        known = write_blocks(leaf[r], parent, depth_start, depth_end, size, first_id, keys)
        hit = 0
        while hit < min(known, most_hits[r]) and stored[keys[hit]]:
            hit += 1
        hits[r] = hit
        for k in range(hit - 1, -1, -1):
            _unlink(after, before, keys[k])
            lease[keys[k]] = now + lease_ns
            _link_between(after, before, keys[k], before[get_queue], get_queue)
        for k in range(known - 1, hit - 1, -1):
            if stored[keys[k]]:
                continue
            if used >= capacity:
                used -= _evict_batch(
                    max(1, int(used * evict_share)), now, put_queue, get_queue, after, before, lease, stored
                )
            if used >= capacity:
                refused += 1
                continue
            stored[keys[k]] = True
            lease[keys[k]] = now
            _link_between(after, before, keys[k], before[put_queue], put_queue)
            used += 1
        if used > watermark * capacity:
            share = max(evict_share, used / capacity - watermark + evict_share)
            used -= _evict_batch(
                int(np.ceil(used * share)), now, put_queue, get_queue, after, before, lease, stored
            )
    return hits, refused
