"""Compiled kernels that find which earlier request each one should have continued."""

import numpy as np

from analyzers.compiled import njit

CANDIDATES = 6


@njit(cache=True)
def continued_requests(  # type: ignore[no-untyped-def]
    run_offsets, runs, namespace, suggested, chunk_offsets, chunk_length, chunk_number, chunks
):
    """The earlier request of its namespace whose content each request shares most (int32, -1 for none), and how many
    tokens they share wherever they stand (int64).

    Every chunk votes with its tokens for the latest request that had it; the few with most votes, and the
    `suggested` one (the latest with the longest common prefix; int32, -1 for none), are then compared in full.
    Of equals the suggested one wins, else the later.
    """
    requests = len(run_offsets) - 1
    best_request = np.full(requests, -1, np.int32)
    best_shared = np.zeros(requests, np.int64)
    # One namespace after the other, so that one array can say who held a chunk last.
    order = np.argsort(namespace, kind="mergesort")
    holder = np.full(chunks, -1, np.int32)
    votes = np.zeros(requests, np.int64)
    voted = np.empty(requests, np.int32)
    mark = np.full(chunks, -1, np.int32)
    touched = np.empty(chunks, np.int32)
    touched_count = 0
    space = np.int32(-1)
    for at in range(requests):
        r = order[at]
        if namespace[r] != space:
            for t in range(touched_count):
                holder[touched[t]] = -1
            touched_count = 0
            space = namespace[r]
        voters = 0
        for i in range(run_offsets[r], run_offsets[r + 1]):
            for c in range(chunk_offsets[runs[i]], chunk_offsets[runs[i] + 1]):
                number = chunk_number[c]
                earlier = holder[number]
                if earlier < 0:
                    holder[number] = r
                    touched[touched_count] = number
                    touched_count += 1
                elif earlier != r:
                    if votes[earlier] == 0:
                        voted[voters] = earlier
                        voters += 1
                    votes[earlier] += chunk_length[c]
                    holder[number] = r
        compared = 0
        while compared <= CANDIDATES:
            candidate = np.int32(-1)
            if compared == 0:
                candidate = suggested[r]
                if candidate >= 0:
                    votes[candidate] = 0
            else:
                for v in range(voters):
                    more = candidate < 0 or votes[voted[v]] > votes[candidate]
                    if votes[voted[v]] > 0 and more:
                        candidate = voted[v]
                if candidate < 0:
                    break
                votes[candidate] = 0
            compared += 1
            if candidate < 0:
                continue
            for i in range(run_offsets[candidate], run_offsets[candidate + 1]):
                for c in range(chunk_offsets[runs[i]], chunk_offsets[runs[i] + 1]):
                    mark[chunk_number[c]] = candidate
            shared = np.int64(0)
            for i in range(run_offsets[r], run_offsets[r + 1]):
                for c in range(chunk_offsets[runs[i]], chunk_offsets[runs[i] + 1]):
                    if mark[chunk_number[c]] == candidate:
                        shared += chunk_length[c]
            later = candidate > best_request[r] and best_request[r] != suggested[r]
            if shared > best_shared[r] or (shared == best_shared[r] and shared > 0 and later):
                best_shared[r] = shared
                best_request[r] = candidate
        for v in range(voters):
            votes[voted[v]] = 0
    return best_request, best_shared


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
