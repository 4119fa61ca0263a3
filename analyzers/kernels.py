"""Compiled kernels of this package: plain arrays in, plain arrays out. Each has a slow twin in the tests.

A sequence is given as runs, slices of one pool of token ids: run k of the pool is
pool[run_start[k] : run_start[k] + run_length[k]], and sequence s has the runs
sequence_runs[sequence_offsets[s] : sequence_offsets[s + 1]]. Two sequences that share a run share its place in
the pool, so equal runs are recognised without looking at their tokens.
"""

import numpy as np
from numba import njit

_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True)
def _slot_of(keys, parent_key, token):  # type: ignore[no-untyped-def]
    """Slot of (parent, token) in an open-addressing table, or the free slot where it would go."""
    mask = np.uint64(len(keys) - 1)
    key = (np.int64(parent_key) << 32) | np.int64(token)
    slot = ((np.uint64(key) * _HASH_MULTIPLIER) >> np.uint64(20)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot, key


@njit(cache=True)
def build_tree(  # type: ignore[no-untyped-def]
    pool, run_start, run_length, run_offsets, runs, run_depth, namespace, namespaces, owner, after
):
    """Insert sequences one after another into one radix forest a namespace.

    `run_depth[i]` is the depth at which runs[i] starts in its sequence. `owner[s]` is the request that brings
    sequence s, `after[s]` an earlier sequence that s continues (its whole is a prefix of s), or -1.
    Returns parent, depth_start, depth_end, first_request (int32 a node, in order of creation) and the node at
    which each sequence ends (int32, -1 where it is empty).
    """
    sequences = len(run_offsets) - 1
    most_nodes = 2 * sequences + 1
    parent = np.empty(most_nodes, np.int32)
    depth_start = np.empty(most_nodes, np.int32)
    depth_end = np.empty(most_nodes, np.int32)
    holder = np.empty(most_nodes, np.int32)  # a sequence that runs through the node, to read its tokens from
    first_request = np.empty(most_nodes, np.int32)
    leaf = np.full(sequences, -1, np.int32)
    slots = 16
    while slots < 3 * most_nodes:
        slots *= 2
    keys = np.full(slots, -1, np.int64)
    child = np.empty(slots, np.int32)
    nodes = 0
    for s in range(sequences):
        first, last = run_offsets[s], run_offsets[s + 1]
        total = 0
        if last > first:
            total = run_depth[last - 1] + run_length[runs[last - 1]]
        node = np.int32(-1)
        depth = 0
        if after[s] >= 0:
            node = leaf[after[s]]
            if node >= 0:
                depth = depth_end[node]
        i = first
        while depth < total:
            while i < last and run_depth[i] + run_length[runs[i]] <= depth:
                i += 1
            # Keys below `namespaces` are the roots; a node's own key follows.
            parent_key = namespace[s] if node < 0 else namespaces + node
            token = pool[run_start[runs[i]] + depth - run_depth[i]]
            slot, key = _slot_of(keys, parent_key, token)
            if keys[slot] == -1:
                keys[slot] = key
                child[slot] = nodes
                parent[nodes] = node
                depth_start[nodes] = depth
                depth_end[nodes] = total
                holder[nodes] = s
                first_request[nodes] = owner[s]
                node = np.int32(nodes)
                nodes += 1
                depth = total
                break
            edge = child[slot]
            end = min(depth_end[edge], total)
            h = holder[edge]
            # First run of the holder that reaches beyond `depth`, by bisection on run_depth.
            low, high = run_offsets[h], run_offsets[h + 1]
            while high - low > 1:
                middle = (low + high) // 2
                if run_depth[middle] <= depth:
                    low = middle
                else:
                    high = middle
            j = low
            equal = True
            while depth < end and equal:
                while run_depth[i] + run_length[runs[i]] <= depth:
                    i += 1
                while run_depth[j] + run_length[runs[j]] <= depth:
                    j += 1
                stop = min(end, run_depth[i] + run_length[runs[i]], run_depth[j] + run_length[runs[j]])
                a = run_start[runs[i]] + depth - run_depth[i]
                b = run_start[runs[j]] + depth - run_depth[j]
                if a == b:
                    depth = stop
                else:
                    steps = stop - depth
                    k = 0
                    while k < steps and pool[a + k] == pool[b + k]:
                        k += 1
                    depth += k
                    equal = k == steps
            if depth == depth_end[edge]:
                node = edge
                continue
            # The sequence leaves (or ends inside) this edge: the upper part becomes a node of its own, the
            # lower part keeps its number, because sequences that end there point to it.
            upper = np.int32(nodes)
            nodes += 1
            parent[upper] = node
            depth_start[upper] = depth_start[edge]
            depth_end[upper] = depth
            holder[upper] = h
            first_request[upper] = first_request[edge]
            child[slot] = upper
            parent[edge] = upper
            depth_start[edge] = depth
            while run_depth[j] + run_length[runs[j]] <= depth:
                j += 1
            token = pool[run_start[runs[j]] + depth - run_depth[j]]
            slot, key = _slot_of(keys, namespaces + upper, token)
            keys[slot] = key
            child[slot] = edge
            node = upper
        leaf[s] = node
    return (
        parent[:nodes].copy(),
        depth_start[:nodes].copy(),
        depth_end[:nodes].copy(),
        first_request[:nodes].copy(),
        leaf,
    )


@njit(cache=True)
def first_prompt_of_nodes(parent, leaf):  # type: ignore[no-untyped-def]
    """First request whose prompt runs through each node (int32), -1 where only outputs do."""
    first = np.full(len(parent), -1, np.int32)
    for request in range(len(leaf)):
        node = leaf[request]
        while node >= 0 and first[node] < 0:
            first[node] = request
            node = parent[node]
    return first


@njit(cache=True)
def reused_depth(parent, depth_end, first, leaf):  # type: ignore[no-untyped-def]
    """Depth of the longest prefix of each prompt that an earlier prompt has too (int64), and the earliest
    request that has it (int32, -1 where there is none). `first` is from first_prompt_of_nodes."""
    depth = np.zeros(len(leaf), np.int64)
    source = np.full(len(leaf), -1, np.int32)
    for request in range(len(leaf)):
        node = leaf[request]
        while node >= 0 and first[node] == request:
            node = parent[node]
        if node >= 0:
            depth[request] = depth_end[node]
            source[request] = first[node]
    return depth, source


@njit(cache=True)
def reused_depth_within(parent, depth_end, leaf, group, groups_hint):  # type: ignore[no-untyped-def]
    """Like reused_depth, counting only earlier prompts of the same group (int64 depths; 0 where group < 0)."""
    slots = 16
    while slots < 4 * groups_hint:
        slots *= 2
    keys = np.full(slots, -1, np.int64)
    used = 0
    depth = np.zeros(len(leaf), np.int64)
    for request in range(len(leaf)):
        if group[request] < 0:
            continue
        node = leaf[request]
        while node >= 0:
            slot, key = _slot_of(keys, group[request], node)
            if keys[slot] == key:
                depth[request] = depth_end[node]
                break
            keys[slot] = key
            used += 1
            if 2 * used > slots:
                bigger = np.full(2 * slots, -1, np.int64)
                for old in keys:
                    if old != -1:
                        where, _ = _slot_of(bigger, old >> 32, old & 0xFFFFFFFF)
                        bigger[where] = old
                keys = bigger
                slots *= 2
            node = parent[node]
    return depth


@njit(cache=True)
def cut_into_chunks(pool, run_start, run_length, cut_after, shortest):  # type: ignore[no-untyped-def]
    """Cut every run into chunks by its content, and number equal chunks alike.

    A chunk ends behind a token that `cut_after` (uint8 by token id) marks, or, so that long lines are cut too,
    behind one token in 32 chosen by its id once the chunk has `shortest` tokens. Returns the chunks of run k as
    [chunk_offsets[k], chunk_offsets[k + 1]), their lengths (int32) and numbers (int32); numbering is exact: equal
    hashes are compared token by token.
    """
    runs = len(run_start)
    chunk_offsets = np.zeros(runs + 1, np.int64)
    marked = np.uint32(len(cut_after))
    for counting in (True, False):
        if not counting:
            count = chunk_offsets[runs]
            lengths = np.empty(count, np.int32)
            numbers = np.empty(count, np.int32)
            example = np.empty(count, np.int64)  # where in the pool a chunk of this number stands
            slots = 16
            while slots < 2 * count:
                slots *= 2
            table = np.full(slots, -1, np.int32)
            sizes = np.empty(count, np.int32)
            distinct = 0
        at = 0
        for k in range(runs):
            begin = run_start[k]
            end = begin + run_length[k]
            start = begin
            hash_ = np.uint64(0)
            for i in range(begin, end):
                token = pool[i]
                mixed = (np.uint64(token) + np.uint64(1)) * _HASH_MULTIPLIER
                hash_ = (hash_ ^ mixed) * np.uint64(0xD6E8FEB86659FD93)
                hash_ ^= hash_ >> np.uint64(32)
                cut = i + 1 == end or (token < marked and cut_after[token] != 0)
                if not cut and i + 1 - start >= shortest:
                    cut = (mixed >> np.uint64(59)) == np.uint64(0)
                if not cut:
                    continue
                if not counting:
                    size = i + 1 - start
                    slot = hash_ & np.uint64(slots - 1)
                    while True:
                        number = table[slot]
                        if number < 0:
                            table[slot] = distinct
                            example[distinct] = start
                            sizes[distinct] = size
                            number = distinct
                            distinct += 1
                            break
                        if sizes[number] == size:
                            same = 0
                            while same < size and pool[example[number] + same] == pool[start + same]:
                                same += 1
                            if same == size:
                                break
                        slot = (slot + np.uint64(1)) & np.uint64(slots - 1)
                    lengths[at] = size
                    numbers[at] = number
                at += 1
                start = i + 1
                hash_ = np.uint64(0)
            chunk_offsets[k + 1] = at
    return chunk_offsets, lengths, numbers


@njit(cache=True)
def _first_request_with(keys, values, group, member, request):  # type: ignore[no-untyped-def]
    """Who first brought (group, member): an earlier request, or `request` itself if nobody did (then noted)."""
    slot, key = _slot_of(keys, group, member)
    if keys[slot] != key:
        keys[slot] = key
        values[slot] = request
        return request, True
    return values[slot], False


@njit(cache=True)
def _grown(keys, values):  # type: ignore[no-untyped-def]
    bigger = np.full(2 * len(keys), -1, np.int64)
    moved = np.empty(2 * len(keys), np.int32)
    for old in range(len(keys)):
        if keys[old] != -1:
            slot, key = _slot_of(bigger, keys[old] >> 32, keys[old] & 0xFFFFFFFF)
            bigger[slot] = key
            moved[slot] = values[old]
    return bigger, moved


@njit(cache=True)
def seen_behind_another_prefix(  # type: ignore[no-untyped-def]
    run_length, run_offsets, runs, namespace, reused, chunk_offsets, chunk_length, chunk_number, shortest_stretch
):
    """Tokens of each prompt beyond its reused prefix whose content stood in an earlier prompt (int64).

    Content is compared by chunks within a namespace; a stretch of chunks seen before counts when it has at
    least `shortest_stretch` tokens, so that a lone bracket or greeting does not.
    """
    requests = len(run_offsets) - 1
    seen = np.zeros(requests, np.int64)
    run_keys, run_values, runs_noted = np.full(1024, -1, np.int64), np.empty(1024, np.int32), 0
    chunk_keys, chunk_values, chunks_noted = np.full(1024, -1, np.int64), np.empty(1024, np.int32), 0
    for r in range(requests):
        depth = 0
        stretch = 0
        for i in range(run_offsets[r], run_offsets[r + 1]):
            run = runs[i]
            if 2 * runs_noted > len(run_keys):
                run_keys, run_values = _grown(run_keys, run_values)
            first, noted = _first_request_with(run_keys, run_values, namespace[r], run, r)
            runs_noted += noted
            if first < r:
                # A whole run that an earlier prompt had: all its chunks are known.
                stretch += max(0, depth + run_length[run] - max(depth, reused[r]))
                depth += run_length[run]
                continue
            for c in range(chunk_offsets[run], chunk_offsets[run + 1]):
                if 2 * chunks_noted > len(chunk_keys):
                    chunk_keys, chunk_values = _grown(chunk_keys, chunk_values)
                first, noted = _first_request_with(chunk_keys, chunk_values, namespace[r], chunk_number[c], r)
                chunks_noted += noted
                beyond = depth + chunk_length[c] - max(depth, reused[r])
                depth += chunk_length[c]
                if first < r:
                    stretch += max(0, beyond)
                else:
                    if stretch >= shortest_stretch:
                        seen[r] += stretch
                    stretch = 0
        if stretch >= shortest_stretch:
            seen[r] += stretch
    return seen
