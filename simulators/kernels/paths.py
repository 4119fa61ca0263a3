"""Walking the paths of requests through the prefix tree.

A path is given by its deepest node; `parent` is -1 above the first node of a namespace.
"""

import numpy as np

from analyzers.compiled import njit


@njit(cache=True)
def first_touch(parent, leaf):  # type: ignore[no-untyped-def]
    """First request whose path runs through each node (int32), -1 where none does."""
    first = np.full(len(parent), -1, np.int32)
    for request in range(len(leaf)):
        node = leaf[request]
        while node >= 0 and first[node] < 0:
            first[node] = request
            node = parent[node]
    return first


@njit(cache=True)
def seen_depth(parent, depth_end, first, leaf):  # type: ignore[no-untyped-def]
    """Depth (int64) of the longest prefix of each path that an earlier request brought, `first` as above."""
    depth = np.zeros(len(leaf), np.int64)
    for request in range(len(leaf)):
        node = leaf[request]
        while node >= 0 and first[node] >= request:
            node = parent[node]
        if node >= 0:
            depth[request] = depth_end[node]
    return depth


@njit(cache=True)
def write_blocks(leaf, parent, depth_start, depth_end, size, first_id, out):  # type: ignore[no-untyped-def]
    """Write the ids of the whole blocks of the path that ends at `leaf` to out[0:n], in prompt order; returns n.

    The id of the block that ends at depth (k + 1)·size is first_id[node] + k − depth_start[node] // size, where
    `node` holds the block's last token.
    """
    count = 0
    node = leaf
    if node >= 0:
        count = depth_end[node] // size
    end = count
    while node >= 0:
        start = depth_start[node] // size
        for k in range(start, end):
            out[k] = first_id[node] + k - start
        end = start
        node = parent[node]
    return count


@njit(cache=True)
def touch_runs(parent, depth_start, depth_end, leaf):  # type: ignore[no-untyped-def]
    """For each request the stretches of its path by the request that touched them last before.

    Returns offsets (int64, requests + 1), last (int32), start and end depth (int32), a request's stretches in
    order from the root. What no earlier request touched is left out: it lies behind the last stretch.
    """
    requests = len(leaf)
    toucher = np.full(len(parent), -1, np.int32)
    offsets = np.zeros(requests + 1, np.int64)
    room = 4 * requests + 16
    last = np.empty(room, np.int32)
    start = np.empty(room, np.int32)
    end = np.empty(room, np.int32)
    count = 0
    for request in range(requests):
        begin = count
        node = leaf[request]
        while node >= 0:
            before = toucher[node]
            toucher[node] = request
            if before >= 0:
                if count > begin and last[count - 1] == before:
                    start[count - 1] = depth_start[node]
                else:
                    if count == room:
                        room *= 2
                        last = np.append(last, np.empty(room - count, np.int32))
                        start = np.append(start, np.empty(room - count, np.int32))
                        end = np.append(end, np.empty(room - count, np.int32))
                    last[count] = before
                    start[count] = depth_start[node]
                    end[count] = depth_end[node]
                    count += 1
            node = parent[node]
        low, high = begin, count - 1
        while low < high:
            last[low], last[high] = last[high], last[low]
            start[low], start[high] = start[high], start[low]
            end[low], end[high] = end[high], end[low]
            low += 1
            high -= 1
        offsets[request + 1] = count
    return offsets, last[:count].copy(), start[:count].copy(), end[:count].copy()


@njit(cache=True)
def common_depth(a, b, parent, depth_start, depth_end):  # type: ignore[no-untyped-def]
    """Length of the common prefix of the paths that end in nodes a and b; 0 in different namespaces."""
    while a >= 0 and b >= 0:
        if a == b:
            return np.int64(depth_end[a])
        if depth_start[a] >= depth_start[b]:
            a = parent[a]
        else:
            b = parent[b]
    return np.int64(0)
