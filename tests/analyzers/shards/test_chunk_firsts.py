"""Content behind another prefix, counted piece by piece, is what is counted over the whole log at once."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers import chunk_kernels
from analyzers.part_tokens import as_offsets
from analyzers.prefix_tree import TokenRuns, build_prefix_tree, plain_runs
from analyzers.reuse import reusable_depth
from analyzers.seen import SHORTEST_CHUNK, cut_into_chunks, tokens_seen_elsewhere
from analyzers.shards.chunk_firsts import (
    chunk_records,
    first_rows,
    partitions_for,
    run_uses,
    seen_over_pieces,
)
from analyzers.shards.piece import DistinctRuns
from analyzers.shards.room import MemoryRoom
from analyzers.trace import Int64, Ragged

LINE_END = 2
CUT_AFTER = np.array([0, 0, 1], np.uint8)
RUN = st.lists(st.integers(0, 2), max_size=24)
"""Runs of few tokens, so that chunks and runs return; long enough that stretches of known chunks count."""
REQUEST = st.tuples(st.lists(st.integers(0, 5), max_size=5), st.integers(0, 1), st.booleans())
"""Its runs, its namespace, and whether it lies in the period."""


def distinct_runs(words: list[list[int]]) -> DistinctRuns:
    runs = plain_runs([np.array(word, np.uint32) for word in words])
    chunk_offsets, start, length = chunk_kernels.cut_into_chunks(
        runs.pool, runs.start, runs.length, CUT_AFTER, SHORTEST_CHUNK
    )
    no_texts = np.empty((0, 2), np.uint64)
    return DistinctRuns(
        pool=runs.pool,
        offsets=as_offsets(runs.length),
        hash=chunk_kernels.hash_slices(runs.pool, runs.start, runs.length, no_texts),
        chunk_offsets=chunk_offsets,
        chunk_length=length,
        chunk_hash=chunk_kernels.hash_slices(runs.pool, start, length, no_texts),
    )


@given(
    words=st.lists(RUN, min_size=6, max_size=6),
    requests=st.lists(REQUEST, min_size=1, max_size=16),
    cuts=st.sets(st.integers(0, 16), max_size=4),
    partitions=st.integers(1, 3),
    seed=st.integers(0, 5),
)
@settings(max_examples=300)
def test_pieces_count_what_the_whole_log_counts(
    words: list[list[int]],
    requests: list[tuple[list[int], int, bool]],
    cuts: set[int],
    partitions: int,
    seed: int,
) -> None:
    """Requests stand in the pieces in another order than in time; every piece numbers its runs on its own."""
    shuffle = np.random.default_rng(seed)
    kept = [i for i, (_, _, inside) in enumerate(requests) if inside]
    by_time = shuffle.permutation(kept).astype(np.int64)
    row = np.full(len(requests), -1, np.int64)
    row[by_time] = np.arange(len(by_time))
    namespace = np.array([requests[i][1] for i in by_time], np.int32)

    base = plain_runs([np.array(word, np.uint32) for word in words])
    lists = [requests[i][0] for i in by_time]
    whole = TokenRuns(
        base.pool,
        base.start,
        base.length,
        as_offsets(np.array([len(runs) for runs in lists], np.int64)),
        np.array([run for runs in lists for run in runs], np.int64),
    )
    built = build_prefix_tree(whole, namespace)
    reused, _ = reusable_depth(built.tree, built.leaf)
    expected = tokens_seen_elsewhere(whole, cut_into_chunks(whole, CUT_AFTER), namespace, reused)

    borders = sorted({0, len(requests), *(min(cut, len(requests)) for cut in cuts)})
    runs_of, prompts_of, row_of = [], [], []
    for begin, end in pairwise(borders):
        number = shuffle.permutation(len(words))
        runs_of.append(distinct_runs([words[w] for w in np.argsort(number)]))
        prompts = [number[runs].tolist() if inside else [] for runs, _, inside in requests[begin:end]]
        counts = np.array([len(runs) for runs in prompts], np.int64)
        flat = np.array([run for runs in prompts for run in runs], np.int64)
        prompts_of.append(Ragged(as_offsets(counts), flat))
        row_of.append(row[begin:end])
    seen = seen_over_pieces(prompts_of, runs_of, row_of, namespace, reused, MemoryRoom(), partitions)
    assert seen.tolist() == expected.tolist()


def test_partitions_share_the_chunks_out() -> None:
    lines = np.random.default_rng(0).integers(3, 100_000, (400, 10))
    lines[:, -1] = LINE_END
    runs = distinct_runs([lines.ravel().tolist()])
    prompts = Ragged(np.array([0, 1, 2]), np.array([0, 0]))
    row, namespace = np.array([1, 0], np.int64), np.array([0, 1], np.int32)
    uses = run_uses(prompts, row, namespace)
    parts = [chunk_records(uses, runs, part, 4) for part in range(4)]
    sizes: list[int] = [len(part.place) for part in parts]
    assert sum(sizes) == uses.chunks(runs) == 2 * len(runs.chunk_length)
    assert min(sizes) > sum(sizes) / 8
    places: Int64 = np.concatenate([part.place for part in parts])
    assert sorted(places.tolist()) == list(range(sum(sizes)))


def test_a_chunk_in_two_namespaces_is_first_in_each() -> None:
    runs = distinct_runs([[0, 1, LINE_END]])
    one = run_uses(Ragged(np.array([0, 1, 2]), np.array([0, 0])), np.array([3, 5]), np.array([0] * 5 + [1]))
    other = run_uses(Ragged(np.array([0, 1]), np.array([0])), np.array([1]), np.array([0] * 6))
    records = [chunk_records(uses, runs, 0, 1) for uses in (one, other)]
    assert [first.tolist() for first in first_rows(records)] == [[1, 5], [1]]


def test_more_chunks_are_compared_in_more_partitions() -> None:
    assert partitions_for(0) == 1
    assert partitions_for(20_000_000) == 20
