"""Touches of a spatially hashed sample of the forest's edges: an edge is in the sample for all requests or for none."""

import numpy as np

from analyzers.compiled import njit
from simulators.kernels.places import unit_random

LEFT_OUT, CERTAIN = -2, -1


@njit(cache=True)
def path_counts(parent, leaf):  # type: ignore[no-untyped-def]
    """Requests whose path runs through each node (int64)."""
    counts = np.zeros(len(parent), np.int64)
    for request in range(len(leaf)):
        node = leaf[request]
        while node >= 0:
            counts[node] += 1
            node = parent[node]
    return counts


@njit(cache=True)
def sample_group(seed, request, depth, tokens, tokens_a_sample, groups):  # type: ignore[no-untyped-def]
    """LEFT_OUT, CERTAIN, or one of `groups` equal parts of the sample, for the `tokens` from a depth on that this
    request brought first. They are in the sample with probability tokens / tokens_a_sample, at most 1."""
    if tokens >= tokens_a_sample:
        return CERTAIN
    drawn = unit_random(seed, request, depth) * tokens_a_sample / tokens
    return np.int64(drawn * groups) if drawn < 1.0 else LEFT_OUT


@njit(cache=True)
def sampled_touches(  # type: ignore[no-untyped-def]
    parent,
    depth_start,
    depth_end,
    first_request,
    leaf,
    known_tokens,
    total_tokens,
    seed,
    tokens_a_sample,
    groups,
):
    """Each request's touches of the sampled edges, from the root on; requests without any are left out.

    What a request keeps behind its known tokens, `known_tokens` to `total_tokens`, is an edge that it alone touches.
    Returns rows (int32, the requests kept), offsets (int64, rows + 1), and per touch last (int32, the place in `rows`
    of the request that touched it before, −1 for none), start and end depth (int32), group (int8).
    """
    requests = len(leaf)
    group_of = np.full(len(parent), LEFT_OUT, np.int8)
    for node in range(len(parent)):
        if first_request[node] >= 0:
            tokens = depth_end[node] - depth_start[node]
            group_of[node] = sample_group(
                seed, first_request[node], depth_start[node], tokens, tokens_a_sample, groups
            )
    toucher = np.full(len(parent), -1, np.int32)
    rows = np.empty(requests, np.int32)
    offsets = np.zeros(requests + 1, np.int64)
    room = 1024
    last = np.empty(room, np.int32)
    start = np.empty(room, np.int32)
    end = np.empty(room, np.int32)
    group = np.empty(room, np.int8)
    count, kept = 0, 0
    for request in range(requests):
        begin = count
        node = leaf[request]
        own = total_tokens[request] - known_tokens[request]
        alone = np.int64(LEFT_OUT)
        if own > 0:
            alone = sample_group(seed, request, known_tokens[request], own, tokens_a_sample, groups)
        while node >= 0 or alone != LEFT_OUT:
            if count == room:
                room *= 2
                last = np.append(last, np.empty(room - count, np.int32))
                start = np.append(start, np.empty(room - count, np.int32))
                end = np.append(end, np.empty(room - count, np.int32))
                group = np.append(group, np.empty(room - count, np.int8))
            if alone != LEFT_OUT:
                last[count] = -1
                start[count] = known_tokens[request]
                end[count] = total_tokens[request]
                group[count] = alone
                count += 1
                alone = np.int64(LEFT_OUT)
                continue
            if group_of[node] != LEFT_OUT:
                last[count] = toucher[node]
                start[count] = depth_start[node]
                end[count] = depth_end[node]
                group[count] = group_of[node]
                toucher[node] = kept
                count += 1
            node = parent[node]
        if count > begin:
            last[begin:count] = last[begin:count][::-1].copy()
            start[begin:count] = start[begin:count][::-1].copy()
            end[begin:count] = end[begin:count][::-1].copy()
            group[begin:count] = group[begin:count][::-1].copy()
            rows[kept] = request
            kept += 1
            offsets[kept] = count
    return (
        rows[:kept].copy(),
        offsets[: kept + 1].copy(),
        last[:count].copy(),
        start[:count].copy(),
        end[:count].copy(),
        group[:count].copy(),
    )
