"""Hashes that stand for content: equal for equal slices, told apart otherwise, and free of local numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzers.chunk_kernels import FIRST_VIRTUAL_ID, hash_slices, number_by_content
from analyzers.prefix_tree import plain_runs
from analyzers.tokenization import FIRST_VIRTUAL_ID as FIRST_OF_TOKENIZER

_SLICES = st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=12)
NO_TEXTS = np.empty((0, 2), np.uint64)


@given(_SLICES)
def test_slices_share_a_number_and_a_hash_when_their_tokens_are_equal(slices: list[list[int]]) -> None:
    runs = plain_runs([np.array(s, np.uint32) for s in slices])
    numbers: dict[tuple[int, ...], int] = {}
    expected = [numbers.setdefault(tuple(s), len(numbers)) for s in slices]
    assert number_by_content(runs.pool, runs.start, runs.length).tolist() == expected
    hashes = [tuple(row) for row in hash_slices(runs.pool, runs.start, runs.length, NO_TEXTS).tolist()]
    assert len(set(hashes)) == len(numbers)
    assert all(
        hashes[expected.index(number)] == hash_ for number, hash_ in zip(expected, hashes, strict=True)
    )


def test_each_half_of_a_hash_alone_tells_a_million_slices_apart() -> None:
    pool = np.arange(1_000_001, dtype=np.uint32)
    start = np.arange(1_000_000, dtype=np.int64)
    hashes = hash_slices(pool, start, np.full(1_000_000, 2, np.int64), NO_TEXTS)
    for half in (0, 1):
        assert len(np.unique(hashes[:, half])) == 1_000_000
        # Every bit is set in about half of them.
        bits = np.unpackbits(np.ascontiguousarray(hashes[:, half]).view(np.uint8).reshape(-1, 8), axis=1)
        assert np.abs(bits.mean(0) - 0.5).max() < 0.005


def test_an_id_that_stands_for_a_text_counts_by_the_text() -> None:
    first = int(FIRST_VIRTUAL_ID)
    assert first == FIRST_OF_TOKENIZER
    a, b = np.array([[7, 8], [9, 10]], np.uint64), np.array([[9, 10], [7, 8]], np.uint64)
    start, length = np.array([0]), np.array([3])
    one = hash_slices(np.array([1, first, first + 1], np.uint32), start, length, a)
    other = hash_slices(np.array([1, first + 1, first], np.uint32), start, length, b)
    np.testing.assert_array_equal(one, other)
    assert (one != hash_slices(np.array([1, first, first + 1], np.uint32), start, length, b)).all()
