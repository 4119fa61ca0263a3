"""Compiled kernels of the merge: runs interned by their hash, the first request that brought each chunk, and what
sequences begin with.

Hashes are uint64 of shape (entries, 2), 128 bits of content; equal hashes are taken for equal content.
"""

import numpy as np

from analyzers.chunk_kernels import hash_end, hash_step
from analyzers.compiled import njit
from analyzers.kernels import HASH_MULTIPLIER, slot_of

FIRST_VIRTUAL_ID = np.uint32(1 << 31)
"""As in `analyzers.tokenization`: ids from here on are numbered by each piece."""


@njit(cache=True)
def intern_hashes(hashes, table, known, count, number):  # type: ignore[no-untyped-def]
    """Number hashes from `count` on, equal ones alike, and return the new count.

    `table` (int32, a power of two of slots, -1 where free) and `known` (the hash of each number) go on from call to
    call. Writes the number of each hash into `number`.
    """
    mask = np.uint64(len(table) - 1)
    for i in range(len(hashes)):
        slot = hashes[i, 0] & mask
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = count
                known[count, 0] = hashes[i, 0]
                known[count, 1] = hashes[i, 1]
                found = count
                count += 1
                break
            if known[found, 0] == hashes[i, 0] and known[found, 1] == hashes[i, 1]:
                break
            slot = (slot + np.uint64(1)) & mask
        number[i] = found
    return count


@njit(cache=True)
def copy_runs(pool, offsets, which, virtual, target, at):  # type: ignore[no-untyped-def]
    """Copy the runs `which` one behind the other to target[at:]; `virtual` (uint32) gives the new ids of a piece's."""
    for run in which:
        for i in range(offsets[run], offsets[run + 1]):
            token = pool[i]
            if token >= FIRST_VIRTUAL_ID and token - FIRST_VIRTUAL_ID < len(virtual):
                token = virtual[token - FIRST_VIRTUAL_ID]
            target[at] = token
            at += 1


@njit(cache=True)
def first_uses(offsets, runs, row, namespace):  # type: ignore[no-untyped-def]
    """Distinct (namespace, run) pairs of a piece's prompts: run, namespace and first row that has it (int32 each).

    `row` is the row of each request in the Trace (-1: none), `namespace` that of each row.
    """
    pair_run = np.empty(1024, np.int32)
    pair_namespace = np.empty(1024, np.int32)
    first = np.empty(1024, np.int32)
    keys, numbers = np.full(4096, -1, np.int64), np.empty(4096, np.int32)
    count = 0
    for request in range(len(row)):
        if row[request] < 0:
            continue
        space = namespace[row[request]]
        for i in range(offsets[request], offsets[request + 1]):
            slot, key = slot_of(keys, space, runs[i])
            if keys[slot] == key:
                first[numbers[slot]] = min(first[numbers[slot]], row[request])
                continue
            keys[slot] = key
            numbers[slot] = count
            pair_run[count] = runs[i]
            pair_namespace[count] = space
            first[count] = row[request]
            count += 1
            if count == len(first):
                pair_run = np.concatenate((pair_run, np.empty_like(pair_run)))
                pair_namespace = np.concatenate((pair_namespace, np.empty_like(pair_namespace)))
                first = np.concatenate((first, np.empty_like(first)))
                keys, numbers = _pair_table(pair_run, pair_namespace, count)
    return pair_run[:count].copy(), pair_namespace[:count].copy(), first[:count].copy()


@njit(cache=True)
def _pair_table(pair_run, pair_namespace, count):  # type: ignore[no-untyped-def]
    """Look-up table of the first `count` pairs, with room for as many more."""
    slots = 1024
    while slots < 4 * count:
        slots *= 2
    keys, numbers = np.full(slots, -1, np.int64), np.empty(slots, np.int32)
    for pair in range(count):
        slot, key = slot_of(keys, pair_namespace[pair], pair_run[pair])
        keys[slot] = key
        numbers[slot] = pair
    return keys, numbers


@njit(cache=True)
def _chunk_key(hashes, chunk, namespace):  # type: ignore[no-untyped-def]
    """The content hash of a chunk and its namespace in one 128-bit key."""
    mixed = (np.uint64(namespace) + np.uint64(1)) * HASH_MULTIPLIER
    mixed ^= mixed >> np.uint64(31)
    return hashes[chunk, 0] ^ mixed, hashes[chunk, 1] + mixed * np.uint64(0xD6E8FEB86659FD93)


@njit(cache=True)
def chunks_of_partition(  # type: ignore[no-untyped-def]
    pair_run, pair_namespace, first, chunk_offsets, chunk_hash, partition, partitions
):
    """The chunks of all pairs whose key falls into a partition: keys, first row (int32), and place (int64).

    The place counts the chunks of pair after pair.
    """
    at = 0
    for counting in (True, False):
        if not counting:
            keys = np.empty((at, 2), np.uint64)
            rows = np.empty(at, np.int32)
            places = np.empty(at, np.int64)
        at = 0
        place = 0
        for pair in range(len(pair_run)):
            run = pair_run[pair]
            for chunk in range(chunk_offsets[run], chunk_offsets[run + 1]):
                a, b = _chunk_key(chunk_hash, chunk, pair_namespace[pair])
                if ((b >> np.uint64(32)) * np.uint64(partitions)) >> np.uint64(32) == np.uint64(partition):
                    if not counting:
                        keys[at, 0] = a
                        keys[at, 1] = b
                        rows[at] = first[pair]
                        places[at] = place
                    at += 1
                place += 1
    return keys, rows, places


@njit(cache=True)
def least_of_each(keys, rows):  # type: ignore[no-untyped-def]
    """For each entry the least row among all entries of its key (int32)."""
    slots = 16
    while slots < 2 * len(keys):
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, np.int32)
    same_as = np.empty(len(keys), np.int32)
    least = rows.copy()
    for i in range(len(keys)):
        slot = keys[i, 0] & mask
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = i
                found = i
                break
            if keys[found, 0] == keys[i, 0] and keys[found, 1] == keys[i, 1]:
                least[found] = min(least[found], rows[i])
                break
            slot = (slot + np.uint64(1)) & mask
        same_as[i] = found
    for i in range(len(keys)):
        least[i] = least[same_as[i]]
    return least


@njit(cache=True)
def seen_in_piece(  # type: ignore[no-untyped-def]
    offsets,
    runs,
    row,
    namespace,
    reused,
    run_offsets,
    chunk_offsets,
    chunk_length,
    pair_run,
    pair_namespace,
    first_of_chunk,
    shortest_stretch,
):
    """Tokens of each of a piece's prompts beyond its reused prefix whose content stood in an earlier prompt (int64).

    `first_of_chunk` gives the first row of the log with the chunk, for the chunks of pair after pair (as in
    chunks_of_partition). Counted as `analyzers.chunk_kernels.seen_behind_another_prefix` counts.
    """
    pairs = len(pair_run)
    keys, numbers = _pair_table(pair_run, pair_namespace, pairs)
    first_place = np.empty(pairs, np.int64)
    latest = np.full(pairs, -1, np.int32)  # a row behind it has seen every chunk of the pair's run before
    place = 0
    for pair in range(pairs):
        first_place[pair] = place
        for _ in range(chunk_offsets[pair_run[pair]], chunk_offsets[pair_run[pair] + 1]):
            latest[pair] = max(latest[pair], first_of_chunk[place])
            place += 1
    seen = np.zeros(len(row), np.int64)
    for request in range(len(row)):
        own = row[request]
        if own < 0:
            continue
        depth = 0
        stretch = 0
        for i in range(offsets[request], offsets[request + 1]):
            run = runs[i]
            length = run_offsets[run + 1] - run_offsets[run]
            if depth + length <= reused[own]:
                depth += length
                continue
            slot, _ = slot_of(keys, namespace[own], run)
            pair = numbers[slot]
            if latest[pair] < own:
                stretch += depth + length - max(depth, reused[own])
                depth += length
                continue
            place = first_place[pair]
            for chunk in range(chunk_offsets[run], chunk_offsets[run + 1]):
                beyond = depth + chunk_length[chunk] - max(depth, reused[own])
                depth += chunk_length[chunk]
                if first_of_chunk[place] < own:
                    stretch += max(0, beyond)
                else:
                    if stretch >= shortest_stretch:
                        seen[request] += stretch
                    stretch = 0
                place += 1
        if stretch >= shortest_stretch:
            seen[request] += stretch
    return seen


@njit(cache=True)
def hash_prefixes(pool, start, length, offsets, runs, tokens):  # type: ignore[no-untyped-def]
    """128 bits of content (uint64, sequences x 2) of the first tokens[s] tokens of each sequence; zeros where it
    has fewer. Sequences and runs as in `analyzers.kernels`; lanes as in `analyzers.chunk_kernels.hash_slices`."""
    hashes = np.zeros((len(tokens), 2), np.uint64)
    for s in range(len(tokens)):
        a, b = np.uint64(0), np.uint64(0)
        left = tokens[s]
        for i in range(offsets[s], offsets[s + 1]):
            steps = min(left, length[runs[i]])
            for at in range(start[runs[i]], start[runs[i]] + steps):
                a, b = hash_step(a, b, np.uint64(pool[at]), np.uint64(pool[at]))
            left -= steps
            if left == 0:
                break
        if left == 0:
            hashes[s, 0], hashes[s, 1] = hash_end(a, b, tokens[s])
    return hashes


@njit(cache=True)
def common_prefixes(pool, start, length, offsets, runs, other):  # type: ignore[no-untyped-def]
    """How many tokens each sequence s has in common with sequence other[s] at its beginning (int64)."""
    common = np.zeros(len(other), np.int64)
    for s in range(len(other)):
        i, j = offsets[s], offsets[other[s]]
        a = b = 0  # tokens of the runs i and j that are compared
        while i < offsets[s + 1] and j < offsets[other[s] + 1]:
            steps = min(length[runs[i]] - a, length[runs[j]] - b)
            same = 0
            if start[runs[i]] + a == start[runs[j]] + b:
                same = steps
            else:
                while same < steps and pool[start[runs[i]] + a + same] == pool[start[runs[j]] + b + same]:
                    same += 1
            common[s] += same
            if same < steps:
                break
            a += steps
            b += steps
            if a == length[runs[i]]:
                i += 1
                a = 0
            if b == length[runs[j]]:
                j += 1
                b = 0
    return common
