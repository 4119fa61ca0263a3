"""Stack distances of a whole trace in one pass, and the grid of every capacity and lifetime from them.

A request touches its blocks deepest first and root last, so what it leaves on the recency stack lies in order of
depth, and later requests that share some of it share it from the root on. What is left of a request is therefore
its deepest blocks without a gap, and a Fenwick tree over requests, not over blocks, gives every stack distance.
"""

import numpy as np

from analyzers.compiled import njit


@njit(cache=True)
def _add(tree, index, amount):  # type: ignore[no-untyped-def]
    i = index + 1
    while i < len(tree):
        tree[i] += amount
        i += i & -i


@njit(cache=True)
def _sum_to(tree, index):  # type: ignore[no-untyped-def]
    """Sum of the entries 0..index."""
    total = np.int64(0)
    i = index + 1
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


@njit(cache=True)
def stack_distances(  # type: ignore[no-untyped-def]
    live, state, row, offsets, last, start, end, size, total_tokens, most_hits
):
    """Stack distance of each stretch of touch_runs in blocks of `size` tokens, for requests row, row + 1, ….

    Returns, per stretch (int64): the number of distinct blocks above its first block, and one more where a
    partial block of a request in between took the last room; how many of its blocks may be read (`most_hits` is
    per request, in blocks); how many blocks it has. With a capacity of C blocks, clip(C − distance, 0, n) of the
    first n blocks are in the cache. Holds for C of at least ceil(total_tokens / size) of every request.

    `live` (int64, all requests of the log + 1) and `state` (int64[3], at first 0, −1, the largest int64) are what
    one call leaves to the next, so a log can be given in pieces, one call a piece.
    """
    distance = np.zeros(len(last), np.int64)
    readable = np.zeros(len(last), np.int64)
    width = np.zeros(len(last), np.int64)
    # Oldest last touch among the blocks accessed since the last request with a partial block.
    stacked, last_partial, oldest_since = state[0], state[1], state[2]
    for k in range(len(total_tokens)):
        blocks = total_tokens[k] // size
        seen = 0
        for i in range(offsets[k], offsets[k + 1]):
            j = last[i]
            first_block, end_block = start[i] // size, end[i] // size
            seen = end_block
            above = stacked - _sum_to(live, j)
            if j <= last_partial and oldest_since >= j:
                above += 1
            distance[i] = above
            width[i] = end_block - first_block
            readable[i] = max(0, min(end_block, most_hits[k]) - first_block)
        for i in range(offsets[k], offsets[k + 1]):
            if width[i]:
                _add(live, last[i], -width[i])
                oldest_since = min(oldest_since, last[i])
        _add(live, row + k, blocks)
        stacked += blocks - seen
        if blocks > seen:
            oldest_since = -1
        if total_tokens[k] % size:
            last_partial = row + k
            oldest_since = np.iinfo(np.int64).max
    state[0], state[1], state[2] = stacked, last_partial, oldest_since
    return distance, readable, width


@njit(cache=True)
def hit_blocks(distance, width, weight, lifetime, lifetimes, capacities):  # type: ignore[no-untyped-def]
    """Σ weight · clip(C − distance, 0, width) over the stretches alive, for every lifetime and capacity.

    `lifetime[i]` is the index of the shortest lifetime that keeps stretch i alive (`lifetimes`: none does);
    `capacities` ascend, in blocks. Returns int64[lifetimes, capacities].
    """
    points = len(capacities)
    slope = np.zeros((lifetimes, points + 1), np.int64)
    level = np.zeros((lifetimes, points + 1), np.int64)
    for i in range(len(distance)):
        t = lifetime[i]
        if t >= lifetimes or width[i] == 0:
            continue
        enters = np.searchsorted(capacities, distance[i], side="right")
        whole = np.searchsorted(capacities, distance[i] + width[i], side="left")
        slope[t, enters] += weight[i]
        level[t, enters] -= weight[i] * distance[i]
        slope[t, whole] -= weight[i]
        level[t, whole] += weight[i] * (distance[i] + width[i])
    hits = np.zeros((lifetimes, points), np.int64)
    for t in range(lifetimes):
        rising, constant = np.int64(0), np.int64(0)
        for c in range(points):
            rising += slope[t, c]
            constant += level[t, c]
            hits[t, c] = rising * capacities[c] + constant
            if t:
                hits[t, c] += hits[t - 1, c]
    return hits


@njit(cache=True)
def working_set(offsets, last, width, blocks, time_ns, window_ns):  # type: ignore[no-untyped-def]
    """Distinct blocks touched in the `window_ns[w]` before and at each request: int64[requests, windows].

    `width` (int64 a stretch) and `blocks` (int64 a request) are their whole blocks. `time_ns` does not decrease.
    """
    requests, windows = len(blocks), len(window_ns)
    live = np.zeros(requests + 1, np.int64)
    touched = np.zeros((requests, windows), np.int64)
    oldest = np.zeros(windows, np.int64)
    stacked = np.int64(0)
    for r in range(requests):
        stacked += blocks[r]
        _add(live, r, blocks[r])
        for i in range(offsets[r], offsets[r + 1]):
            if width[i]:
                _add(live, last[i], -width[i])
                stacked -= width[i]
        for w in range(windows):
            while time_ns[oldest[w]] < time_ns[r] - window_ns[w]:
                oldest[w] += 1
            touched[r, w] = stacked - _sum_to(live, oldest[w] - 1)
    return touched
