"""Touch records drawn from those of a forest, and what was touched between a drawn record's touch and the one before."""

import numpy as np

from analyzers.compiled import njit
from simulators.kernels.places import unit_random
from simulators.kernels.stack import _add, _sum_to

CERTAIN = -1
_LEFT_OUT = -2


@njit(cache=True)
def _group(seed, request, depth, tokens, tokens_a_sample, groups):  # type: ignore[no-untyped-def]
    """CERTAIN, one of `groups` equal parts of the sample, or _LEFT_OUT, for a touch of `tokens` from a depth on. It is
    in the sample with probability tokens / tokens_a_sample, at most 1."""
    if tokens >= tokens_a_sample:
        return CERTAIN
    drawn = unit_random(seed, request, depth) * tokens_a_sample / tokens
    return np.int64(drawn * groups) if drawn < 1.0 else _LEFT_OUT


@njit(cache=True)
def _grown(column, room):  # type: ignore[no-untyped-def]
    return np.append(column, np.empty(room - len(column), column.dtype))


@njit(cache=True)
def drawn_touches(  # type: ignore[no-untyped-def]
    parent, depth_start, depth_end, leaf, known_tokens, total_tokens, number, seed, tokens_a_sample, groups
):
    """The touch records in the sample, in order of request and depth.

    A record is a stretch of a path by the request that touched it last before, as in touch_runs; what no request
    touched before, to the end of `total_tokens`, is one more. `number` (int32) is that of each request in the whole log,
    by which the hash goes. Returns request, last (−1 for none), start and end depth
    (int32), group (int8); and of all records, drawn or not, how many there are of each length (int64): of what was
    touched before, and of what was not.
    """
    longest = np.int64(0)
    for request in range(len(leaf)):
        longest = max(longest, total_tokens[request])
    again = np.zeros(longest + 1, np.int64)
    new = np.zeros(longest + 1, np.int64)
    toucher = np.full(len(parent), -1, np.int32)
    room = 1024
    request_of, last = np.empty(room, np.int32), np.empty(room, np.int32)
    start, end = np.empty(room, np.int32), np.empty(room, np.int32)
    group = np.empty(room, np.int8)
    count = 0
    for request in range(len(leaf)):
        first_of_request = count
        node = leaf[request]
        low, high, before = known_tokens[request], total_tokens[request], np.int64(-1)
        # From the tail up: a stretch ends where the tokens above it were last touched by another request.
        while True:
            while node >= 0 and toucher[node] == before:
                toucher[node] = request
                low = np.int64(depth_start[node])
                node = parent[node]
            if high > low:
                lengths = new if before < 0 else again
                lengths[high - low] += 1
                part = _group(seed, number[request], low, high - low, tokens_a_sample, groups)
                if part != _LEFT_OUT:
                    if count == room:
                        room *= 2
                        request_of, last = _grown(request_of, room), _grown(last, room)
                        start, end, group = _grown(start, room), _grown(end, room), _grown(group, room)
                    request_of[count], last[count], group[count] = request, before, part
                    start[count], end[count] = low, high
                    count += 1
            if node < 0:
                break
            high, before = low, np.int64(toucher[node])
        for column in (last, start, end):
            column[first_of_request:count] = column[first_of_request:count][::-1].copy()
        group[first_of_request:count] = group[first_of_request:count][::-1].copy()
    return (
        request_of[:count].copy(),
        last[:count].copy(),
        start[:count].copy(),
        end[:count].copy(),
        group[:count].copy(),
        again,
        new,
    )


@njit(cache=True)
def touched_since(request, place, blocks, before, places):  # type: ignore[no-untyped-def]
    """For each touch the blocks touched after its `last` request and before its own, each counted once.

    Of the touches in between those count whose own last touch was no later than `last`: the first of each block.
    `place` (int64) ranks `last` among all `places` that occur, `blocks` (int64) is what each touch stands for, and
    `before` (int64) the sum of `blocks` over the touches up to request `last`. Touches stand in order of request.
    """
    by_last = np.zeros(places + 1, np.int64)
    since = np.zeros(len(request), np.int64)
    entered = 0
    for i in range(len(request)):
        while request[entered] < request[i]:
            _add(by_last, place[entered], blocks[entered])
            entered += 1
        since[i] = _sum_to(by_last, place[i]) - before[i]
    return since
