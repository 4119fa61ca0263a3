"""Compiled kernels over the content of prompts: cut into chunks, find what stood in an earlier prompt."""

import numpy as np

from analyzers.compiled import njit
from analyzers.kernels import HASH_MULTIPLIER, slot_of

FIRST_VIRTUAL_ID = np.uint32(1 << 31)
"""As in `analyzers.tokenization`: ids from here on are numbered as they are met, so no cut may depend on them."""


@njit(cache=True)
def cut_into_chunks(pool, run_start, run_length, cut_after, shortest):  # type: ignore[no-untyped-def]
    """Cut every run into chunks by its content.

    A chunk ends behind a token that `cut_after` (uint8 by token id) marks, or, so that long lines are cut too,
    behind one token in 32 of the vocabulary, chosen by its id, once the chunk has `shortest` tokens. The chunks of
    run k are [offsets[k], offsets[k + 1]) (int64); returns these offsets, and start (int64) and length (int32) of
    each chunk in the pool.
    """
    runs = len(run_start)
    offsets = np.zeros(runs + 1, np.int64)
    marked = np.uint32(len(cut_after))
    for counting in (True, False):
        if not counting:
            starts = np.empty(offsets[runs], np.int64)
            lengths = np.empty(offsets[runs], np.int32)
        at = 0
        for k in range(runs):
            end = run_start[k] + run_length[k]
            start = run_start[k]
            for i in range(start, end):
                token = pool[i]
                cut = i + 1 == end or (token < marked and cut_after[token] != 0)
                if not cut and i + 1 - start >= shortest and token < FIRST_VIRTUAL_ID:
                    mixed = (np.uint64(token) + np.uint64(1)) * HASH_MULTIPLIER
                    cut = (mixed >> np.uint64(59)) == np.uint64(0)
                if cut:
                    if not counting:
                        starts[at] = start
                        lengths[at] = i + 1 - start
                    at += 1
                    start = i + 1
            offsets[k + 1] = at
    return offsets, starts, lengths


@njit(cache=True)
def number_by_content(pool, starts, lengths):  # type: ignore[no-untyped-def]
    """Number equal slices pool[starts[i] : starts[i] + lengths[i]] alike (int32, in the order of first appearance).

    Exact: equal hashes are compared token by token.
    """
    count = len(starts)
    numbers = np.empty(count, np.int32)
    example = np.empty(count, np.int64)  # where in the pool a slice of this number stands
    sizes = np.empty(count, np.int32)
    slots = 16
    while slots < 2 * count:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    distinct = 0
    for i in range(count):
        start, size = starts[i], lengths[i]
        hash_ = np.uint64(0)
        for at in range(start, start + size):
            mixed = (np.uint64(pool[at]) + np.uint64(1)) * HASH_MULTIPLIER
            hash_ = (hash_ ^ mixed) * np.uint64(0xD6E8FEB86659FD93)
            hash_ ^= hash_ >> np.uint64(32)
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
        numbers[i] = number
    return numbers


@njit(cache=True)
def _rotated(value, by):  # type: ignore[no-untyped-def]
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


@njit(cache=True)
def _avalanche(value):  # type: ignore[no-untyped-def]
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@njit(cache=True)
def hash_step(a, b, first, second):  # type: ignore[no-untyped-def]
    """Take one token into two lanes that feed each other, as in MurmurHash3 for 64-bit machines (Austin Appleby,
    public domain); `first` and `second` are what the token counts by in each lane."""
    one, two = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
    five = np.uint64(5)
    a ^= _rotated(first * one, 31) * two
    a = (_rotated(a, 27) + b) * five + np.uint64(0x52DCE729)
    b ^= _rotated(second * two, 33) * one
    b = (_rotated(b, 31) + a) * five + np.uint64(0x38495AB5)
    return a, b


@njit(cache=True)
def hash_end(a, b, length):  # type: ignore[no-untyped-def]
    """The 128 bits that two lanes come to after so many tokens."""
    a ^= np.uint64(length)
    b ^= np.uint64(length)
    a += b
    b += a
    a, b = _avalanche(a), _avalanche(b)
    a += b
    return a, b + a


@njit(cache=True)
def hash_slices(pool, starts, lengths, virtual):  # type: ignore[no-untyped-def]
    """128 bits of content (uint64, slices x 2) of each slice pool[starts[i] : starts[i] + lengths[i]].

    An id from FIRST_VIRTUAL_ID on counts by virtual[id - FIRST_VIRTUAL_ID] (uint64 x 2), the hash of its text, where
    there is one.
    """
    hashes = np.empty((len(starts), 2), np.uint64)
    for i in range(len(starts)):
        a, b = np.uint64(0), np.uint64(0)
        for at in range(starts[i], starts[i] + lengths[i]):
            token = pool[at]
            first = np.uint64(token)
            second = first
            if token >= FIRST_VIRTUAL_ID and token - FIRST_VIRTUAL_ID < len(virtual):
                first = virtual[token - FIRST_VIRTUAL_ID, 0]
                second = virtual[token - FIRST_VIRTUAL_ID, 1]
            a, b = hash_step(a, b, first, second)
        hashes[i, 0], hashes[i, 1] = hash_end(a, b, lengths[i])
    return hashes


@njit(cache=True)
def _first_request_with(keys, values, group, member, request):  # type: ignore[no-untyped-def]
    """Who first brought (group, member): an earlier request, or `request` itself if nobody did (then noted)."""
    slot, key = slot_of(keys, group, member)
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
            slot, key = slot_of(bigger, keys[old] >> 32, keys[old] & 0xFFFFFFFF)
            bigger[slot] = key
            moved[slot] = values[old]
    return bigger, moved


@njit(cache=True)
def seen_behind_another_prefix(  # type: ignore[no-untyped-def]
    run_length,
    run_offsets,
    runs,
    namespace,
    reused,
    chunk_offsets,
    chunk_length,
    chunk_number,
    shortest_stretch,
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
