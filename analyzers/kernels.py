"""Compiled kernels of this package: plain arrays in, plain arrays out. Each has a slow twin in the tests.

A sequence is given as runs, slices of one pool of token ids: run k of the pool is
pool[run_start[k] : run_start[k] + run_length[k]], and sequence s has the runs runs[first_run[s] : last_run[s]].
Two sequences that share a run share its place in the pool, so equal runs are recognised without looking at their
tokens; a sequence that another continues may lie in the same stretch of `runs`.
"""

import numpy as np

from analyzers.compiled import njit

HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True)
def slot_of(keys, parent_key, token):  # type: ignore[no-untyped-def]
    """Slot of (parent, token) in an open-addressing table, or the free slot where it would go."""
    mask = np.uint64(len(keys) - 1)
    key = (np.int64(parent_key) << 32) | np.int64(token)
    slot = ((np.uint64(key) * HASH_MULTIPLIER) >> np.uint64(20)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot, key


@njit(cache=True)
def run_depths(run_length, offsets, runs, depth):  # type: ignore[no-untyped-def]
    """Write into `depth` the depth at which each of `runs` starts in its list runs[offsets[s] : offsets[s + 1]]."""
    for s in range(len(offsets) - 1):
        total = 0
        for i in range(offsets[s], offsets[s + 1]):
            depth[i] = total
            total += run_length[runs[i]]


@njit(cache=True)
def build_tree(  # type: ignore[no-untyped-def]
    pool, run_start, run_length, first_run, last_run, runs, run_depth, namespace, namespaces, owner, after
):
    """Insert sequences one after another into one radix forest a namespace.

    `run_depth[i]` is the depth at which runs[i] starts in its sequence. `owner[s]` is the request that brings
    sequence s, `after[s]` an earlier sequence that s continues (its whole is a prefix of s), or -1.
    Returns parent, depth_start, depth_end, first_request (int32 a node, in order of creation) and the node at
    which each sequence ends (int32, -1 where it is empty).
    """
    sequences = len(first_run)
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
        first, last = first_run[s], last_run[s]
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
            slot, key = slot_of(keys, parent_key, token)
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
            low, high = first_run[h], last_run[h]
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
            slot, key = slot_of(keys, namespaces + upper, token)
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
            slot, key = slot_of(keys, group[request], node)
            if keys[slot] == key:
                depth[request] = depth_end[node]
                break
            keys[slot] = key
            used += 1
            if 2 * used > slots:
                bigger = np.full(2 * slots, -1, np.int64)
                for old in keys:
                    if old != -1:
                        where, _ = slot_of(bigger, old >> 32, old & 0xFFFFFFFF)
                        bigger[where] = old
                keys = bigger
                slots *= 2
            node = parent[node]
    return depth


@njit(cache=True)
def inferred_conversations(parent, leaf, prompt_end):  # type: ignore[no-untyped-def]
    """Number the conversations of a log that names none (int32 a request).

    A request goes on with the conversation whose latest whole prompt is the longest proper prefix of its own;
    any other request begins a new one. `prompt_end` (int32 by node, -1) is working space.
    """
    conversation = np.empty(len(leaf), np.int32)
    begun = 0
    for request in range(len(leaf)):
        own = leaf[request]
        node = parent[own] if own >= 0 else np.int32(-1)
        while node >= 0 and prompt_end[node] < 0:
            node = parent[node]
        if node >= 0:
            conversation[request] = conversation[prompt_end[node]]
        else:
            conversation[request] = begun
            begun += 1
        if own >= 0:
            prompt_end[own] = request
    return conversation


@njit(cache=True)
def requests_through(parent, leaf):  # type: ignore[no-untyped-def]
    """How many prompts run through each node (int64)."""
    count = np.zeros(len(parent), np.int64)
    for request in range(len(leaf)):
        if leaf[request] >= 0:
            count[leaf[request]] += 1
    for node in range(len(parent) - 1, -1, -1):  # children stand behind their parents
        if parent[node] >= 0:
            count[parent[node]] += count[node]
    return count


@njit(cache=True)
def reuse_intervals(parent, depth_start, depth_end, leaf, prompt_tokens, time):  # type: ignore[no-untyped-def]
    """Each return to tokens used before: time since their last use (int64, unit of `time`) and how many (int64)."""
    count = 0
    last = np.full(len(parent), -1, np.int32)
    for request in range(len(leaf)):
        node = leaf[request]
        while node >= 0:
            count += last[node] >= 0
            last[node] = request
            node = parent[node]
    interval = np.empty(count, np.int64)
    tokens = np.empty(count, np.int64)
    last[:] = -1
    at = 0
    for request in range(len(leaf)):
        node = leaf[request]
        while node >= 0:
            if last[node] >= 0:
                interval[at] = time[request] - time[last[node]]
                tokens[at] = min(depth_end[node], prompt_tokens[request]) - depth_start[node]
                at += 1
            last[node] = request
            node = parent[node]
    return interval, tokens


@njit(cache=True)
def latest_with_prefix(parent, leaf, first):  # type: ignore[no-untyped-def]
    """The latest earlier request that has the reused prefix of each prompt too (int32, -1 for none).

    `first` is from first_prompt_of_nodes.
    """
    latest = np.full(len(parent), -1, np.int32)
    source = np.full(len(leaf), -1, np.int32)
    for request in range(len(leaf)):
        node = leaf[request]
        while node >= 0 and first[node] == request:
            latest[node] = request
            node = parent[node]
        if node >= 0:
            source[request] = latest[node]
        while node >= 0:
            latest[node] = request
            node = parent[node]
    return source
