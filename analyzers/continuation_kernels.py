"""Compiled kernels that find which earlier request each one should have continued."""

import numpy as np

from analyzers.compiled import njit

MOST_HOLDERS = 64
"""Conversations that a chunk is looked up in: the last ones to bring it."""
MOST_COMPARED = 8
"""Requests that are compared in full where some chunk had more holders than that."""


@njit(cache=True)
def continued_requests(  # type: ignore[no-untyped-def]
    namespace,
    parent,
    depth_end,
    leaf,
    suggested,
    run_offsets,
    runs,
    chunk_offsets,
    chunk_length,
    chunk_number,
    chunks,
    most_holders,
    most_compared,
):
    """The earlier request of its namespace that has most tokens of each one's chunks, wherever they stand (int32, -1
    for none), and how many (int64). Of equals the one with the longest common prefix, then the latest.

    `suggested` is the latest with the longest common prefix of all (int32, -1 for none); `chunks` counts the distinct
    ones. A request that begins with all of an earlier one and has all its chunks is no worse than that for any that
    follows, so it takes its place: a conversation is its latest request, and only what is new in that is noted.

    Who shares more than the suggested request has a chunk that this one lacks, so only the holders of such chunks
    are looked at, of each the last `most_holders` conversations to bring it. While no chunk of a request had more
    holders, their votes say all that they share, and the choice among all earlier requests is exact. Else the
    `most_compared` of them are compared in full that share most in chunks with few holders, then in the others.
    """
    requests = len(run_offsets) - 1
    best_request = np.full(requests, -1, np.int32)
    best_shared = np.zeros(requests, np.int64)
    conversation = np.arange(requests).astype(np.int32)  # the first request of each one's conversation
    latest = np.arange(requests).astype(np.int32)  # by conversation
    # The holders of a chunk are a circle, behind the newest the oldest; count is one more when some were let go.
    count = np.zeros(chunks, np.int32)
    newest = np.empty(chunks, np.int32)
    holder = np.empty(1024, np.int32)
    following = np.empty(1024, np.int32)
    kept = 0
    begun = np.empty(chunks, np.int32)
    begun_count = 0
    # 3 turn: the suggested request has it; 3 turn + 1: the request too; 3 turn + 2: it is noted as a holder.
    mark = np.full(chunks, -1, np.int64)
    seen = np.full(chunks, -1, np.int64)
    on_path = np.full(len(parent), -1, np.int32)
    # By conversation: tokens shared with it in chunks with few holders, and in the others.
    rare = np.zeros(requests, np.int64)
    common = np.zeros(requests, np.int64)
    voters = np.empty(requests, np.int32)
    top = np.empty(most_compared, np.int32)
    longest = 0
    for r in range(requests):
        size = 0
        for i in range(run_offsets[r], run_offsets[r + 1]):
            size += chunk_offsets[runs[i] + 1] - chunk_offsets[runs[i]]
        longest = max(longest, size)
    own = np.empty(longest, np.int32)  # the chunks of a request, and how many tokens each has
    length = np.empty(longest, np.int32)
    space = np.int32(-1)
    # One namespace after the other, so that one circle a chunk is enough.
    order = np.argsort(namespace, kind="mergesort")
    for turn in range(requests):
        r = order[turn]
        stamp = 3 * turn
        if namespace[r] != space:
            space = namespace[r]
            for k in range(begun_count):
                count[begun[k]] = 0
            begun_count = kept = 0
        node = leaf[r]
        while node >= 0:
            on_path[node] = r
            node = parent[node]
        size = 0
        for i in range(run_offsets[r], run_offsets[r + 1]):
            for c in range(chunk_offsets[runs[i]], chunk_offsets[runs[i] + 1]):
                own[size] = chunk_number[c]
                length[size] = chunk_length[c]
                size += 1
        best = np.int64(suggested[r])
        distinct = 0
        if best >= 0:
            distinct = _mark_chunks(mark, stamp, run_offsets, runs, chunk_offsets, chunk_number, best)
        hits = 0
        shared = np.int64(0)
        known = np.int64(0)  # tokens of chunks that some earlier request has
        many = np.int64(0)  # of those, in chunks with more holders than are kept
        for k in range(size):
            if count[own[k]] > 0:
                known += length[k]
            if count[own[k]] > most_holders:
                many += length[k]
            if mark[own[k]] >= stamp:
                shared += length[k]
            if mark[own[k]] == stamp:
                mark[own[k]] = stamp + 1
                hits += 1
        ahead = _common_depth(parent, depth_end, leaf, on_path, r, best)
        voting = 0
        for k in range(size if shared < known else 0):
            if mark[own[k]] >= stamp or count[own[k]] == 0:
                continue
            at = newest[own[k]]
            for _ in range(min(count[own[k]], most_holders)):
                who = holder[at]
                if rare[who] == 0 and common[who] == 0:
                    voters[voting] = who
                    voting += 1
                if count[own[k]] <= most_holders:
                    rare[who] += length[k]
                else:
                    common[who] += length[k]
                at = following[at]
        for k in range(size if voting > 0 else 0):
            if mark[own[k]] < stamp or count[own[k]] > most_holders:
                continue
            at = newest[own[k]]
            for _ in range(count[own[k]]):
                if rare[holder[at]] > 0 or common[holder[at]] > 0:
                    rare[holder[at]] += length[k]
                at = following[at]
        likeliest = 0
        for v in range(voting):
            who = voters[v]
            if rare[who] + many < shared:
                continue
            if many > 0:
                likeliest = _insert(top, likeliest, who, rare, common, latest)
                continue
            other = np.int64(latest[who])
            depth = _common_depth(parent, depth_end, leaf, on_path, r, other)
            if (rare[who], depth, other) > (shared, ahead, best):
                shared, ahead, best = rare[who], depth, other
        for t in range(likeliest):
            other = np.int64(latest[top[t]])
            depth = _common_depth(parent, depth_end, leaf, on_path, r, other)
            if (rare[top[t]] + many, depth, other) <= (shared, ahead, best):
                continue
            _mark_chunks(seen, other, run_offsets, runs, chunk_offsets, chunk_number, other)
            tokens = np.int64(0)
            for k in range(size):
                if seen[own[k]] == other:
                    tokens += length[k]
            if (tokens, depth, other) > (shared, ahead, best):
                shared, ahead, best = tokens, depth, other
        for v in range(voting):
            rare[voters[v]] = common[voters[v]] = 0
        if shared > 0:
            best_request[r] = best
            best_shared[r] = shared
        before = suggested[r]
        continues = before >= 0 and hits == distinct and on_path[leaf[before]] == r
        if continues:
            conversation[r] = conversation[before]
        latest[conversation[r]] = r
        noted = stamp if continues else stamp + 2
        for k in range(size):
            if mark[own[k]] >= noted:
                continue
            mark[own[k]] = stamp + 2
            if count[own[k]] >= most_holders:
                count[own[k]] = most_holders + 1
                newest[own[k]] = following[newest[own[k]]]
                holder[newest[own[k]]] = conversation[r]
                continue
            if kept == len(holder):
                holder, following = _doubled(holder), _doubled(following)
            if count[own[k]] == 0:
                begun[begun_count] = own[k]
                begun_count += 1
                following[kept] = kept
            else:
                following[kept] = following[newest[own[k]]]
                following[newest[own[k]]] = kept
            holder[kept] = conversation[r]
            newest[own[k]] = kept
            count[own[k]] += 1
            kept += 1
    return best_request, best_shared


@njit(cache=True)
def _doubled(array):  # type: ignore[no-untyped-def]
    longer = np.empty(2 * len(array), array.dtype)
    for i in range(len(array)):
        longer[i] = array[i]
    return longer


@njit(cache=True)
def _mark_chunks(marks, mark, run_offsets, runs, chunk_offsets, chunk_number, request):  # type: ignore[no-untyped-def]
    """Mark the chunks of a request; returns how many had another mark."""
    marked = 0
    for i in range(run_offsets[request], run_offsets[request + 1]):
        for c in range(chunk_offsets[runs[i]], chunk_offsets[runs[i] + 1]):
            if marks[chunk_number[c]] != mark:
                marks[chunk_number[c]] = mark
                marked += 1
    return marked


@njit(cache=True)
def _common_depth(parent, depth_end, leaf, on_path, r, other):  # type: ignore[no-untyped-def]
    """Length of the common prefix of request r, whose path is marked, with another one; -1 where there is none."""
    node = leaf[other] if other >= 0 else np.int32(-1)
    while node >= 0 and on_path[node] != r:
        node = parent[node]
    return np.int64(depth_end[node]) if node >= 0 else np.int64(-1)


@njit(cache=True)
def _insert(top, filled, who, rare, common, latest):  # type: ignore[no-untyped-def]
    """Put a conversation among those that share most, in order; returns how many these are then."""
    at = filled
    while at > 0:
        other = top[at - 1]
        if (rare[other], common[other], latest[other]) > (rare[who], common[who], latest[who]):
            break
        if at < len(top):
            top[at] = other
        at -= 1
    if at < len(top):
        top[at] = who
    return min(filled + 1, len(top))


@njit(cache=True)
def common_prefix_of_pairs(pool, run_start, run_length, run_offsets, runs, run_depth, first, second):  # type: ignore[no-untyped-def]
    """Length of the common prefix of sequences first[i] and second[i] (int64; 0 where second[i] < 0)."""
    result = np.zeros(len(first), np.int64)
    for p in range(len(first)):
        if second[p] < 0:
            continue
        i, i_end = run_offsets[first[p]], run_offsets[first[p] + 1]
        j, j_end = run_offsets[second[p]], run_offsets[second[p] + 1]
        depth = 0
        while True:
            while i < i_end and run_depth[i] + run_length[runs[i]] <= depth:
                i += 1
            while j < j_end and run_depth[j] + run_length[runs[j]] <= depth:
                j += 1
            if i == i_end or j == j_end:
                break
            stop = min(run_depth[i] + run_length[runs[i]], run_depth[j] + run_length[runs[j]])
            a = run_start[runs[i]] + depth - run_depth[i]
            b = run_start[runs[j]] + depth - run_depth[j]
            if a == b:
                depth = stop
                continue
            steps = stop - depth
            k = 0
            while k < steps and pool[a + k] == pool[b + k]:
                k += 1
            depth += k
            if k < steps:
                break
        result[p] = depth
    return result
