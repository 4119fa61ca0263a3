from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError, InputError
from analyzers.trace import NO_TIME, Trace
from simulators.blocks import CachedSequences, cached_sequences
from simulators.stack_records import StackPass, hits_in_pieces, stack_records
from simulators.sweep import least_blocks
from simulators.touch_records import (
    TouchedRequests,
    TouchRecords,
    merge_touches,
    open_touches,
    save_touches,
    touched_requests,
    touches,
)
from tests.simulators.random_logs import TokenLog, block_requests, direct_lru, token_logs
from tests.trace_builder import trace_from_tokens

Row = tuple[int, int, int, int]


def _rows(records: TouchRecords) -> list[Row]:
    return list(
        zip(
            records.request.tolist(),
            records.last.tolist(),
            records.start.tolist(),
            records.end.tolist(),
            strict=True,
        )
    )


def _whole(trace: Trace) -> TouchRecords:
    return touches(cached_sequences(trace), trace.requests).records(np.arange(len(trace), dtype=np.int32))


def _records_by_comparison(log: TokenLog) -> list[Row]:
    """Token by token: the latest earlier request of the namespace with the same beginning."""
    rows: list[list[int]] = []
    for r in range(len(log.prompts)):
        kept = log.kept(r)
        for depth in range(len(kept)):
            same = [
                j
                for j in range(r)
                if log.namespaces[j] == log.namespaces[r] and log.kept(j)[: depth + 1] == kept[: depth + 1]
            ]
            if not same:
                break
            if rows and rows[-1][:2] == [r, same[-1]] and rows[-1][3] == depth:
                rows[-1][3] += 1
            else:
                rows.append([r, same[-1], depth, depth + 1])
    return [(request, last, start, end) for request, last, start, end in rows]


def _parts(sequences: CachedSequences, trace: Trace, cut_above: set[int]) -> list[TouchRecords]:
    """Each connected piece of the forest walked on its own, with only the requests that enter it."""
    order = np.argsort(sequences.depth_start, kind="stable").tolist()
    piece = np.zeros(len(sequences.parent), np.int32)
    for node in order:
        parent = int(sequences.parent[node])
        piece[node] = node if parent < 0 or node in cut_above else piece[parent]
    parts = []
    for top in np.unique(piece).tolist():
        leaf = sequences.leaf.copy()
        for r in range(len(leaf)):
            while leaf[r] >= 0 and piece[leaf[r]] != top:
                leaf[r] = sequences.parent[leaf[r]]
        rows = np.flatnonzero(leaf >= 0).astype(np.int32)
        inside = np.where(piece == top, sequences.parent, -1).astype(np.int32)
        inside[top] = -1
        alone = replace(sequences, parent=inside, leaf=leaf[rows])
        table = replace(trace.requests, time_ns=trace.requests.time_ns[rows])
        parts.append(touches(alone, table).records(rows))
    return parts


@settings(max_examples=150, deadline=None)
@given(token_logs())
def test_a_record_names_the_last_request_with_the_same_beginning(log: TokenLog):
    assert _rows(_whole(log.trace())) == _records_by_comparison(log)


@settings(max_examples=150, deadline=None)
@given(token_logs(), st.data())
def test_trees_and_parts_of_trees_merge_to_the_whole(log: TokenLog, data: st.DataObject):
    trace = log.trace()
    sequences = cached_sequences(trace)
    nodes = range(len(sequences.parent))
    cuts = set(data.draw(st.lists(st.sampled_from(nodes), max_size=4))) if nodes else set()
    parts = _parts(sequences, trace, cuts)
    parts = data.draw(st.permutations(parts))
    assert _rows(merge_touches(parts, 0, len(trace))) == _rows(_whole(trace))


@settings(max_examples=50, deadline=None)
@given(token_logs(), st.integers(0, 14))
def test_a_range_of_requests_merges_on_its_own(log: TokenLog, at: int):
    trace = log.trace()
    parts = _parts(cached_sequences(trace), trace, set())
    halves = [merge_touches(parts, 0, at), merge_touches(parts, at, len(trace))]
    assert [row for half in halves for row in _rows(half)] == _rows(_whole(trace))


def _blocks(trace: Trace, length: int) -> list[TouchedRequests]:
    sequences, whole = cached_sequences(trace), _whole(trace)
    blocks = []
    for first in range(0, len(trace), length):
        rows = slice(first, first + length)
        blocks.append(
            touched_requests(
                merge_touches([whole], first, first + length),
                first,
                sequences.prompt_tokens[rows],
                sequences.total_tokens[rows],
                trace.requests.time_ns[rows],
            )
        )
    return blocks


@settings(max_examples=80, deadline=None)
@given(token_logs(), st.integers(1, 5), st.integers(1, 4), st.integers(0, 9))
def test_a_log_in_pieces_is_what_a_direct_simulation_gives(log: TokenLog, length: int, size: int, room: int):
    trace = log.trace()
    least = least_blocks(cached_sequences(trace), size)
    capacities, ttls = [least, least + room], [2.0, 7.0, None]
    hits = hits_in_pieces(_blocks(trace, length), len(trace), size, capacities, ttls)
    requests = block_requests(log, size)
    for t, ttl in enumerate(ttls):
        for c, capacity in enumerate(capacities):
            assert hits[t, c] == sum(direct_lru(requests, size, capacity, ttl).hits)


@settings(max_examples=50, deadline=None)
@given(token_logs(), st.integers(1, 5), st.integers(1, 3))
def test_stack_distances_do_not_depend_on_the_pieces(log: TokenLog, length: int, size: int):
    trace = log.trace()
    sequences = cached_sequences(trace)
    whole = stack_records(sequences, touches(sequences, trace.requests), size)
    passing = StackPass(size, len(trace))
    pieces = [
        passing.records(b.offsets, b.last, b.start(), b.end, b.prompt_tokens, b.total_tokens)
        for b in _blocks(trace, length)
    ]
    for name in ("distance", "readable", "width"):
        assert np.concatenate([getattr(p, name) for p in pieces]).tolist() == getattr(whole, name).tolist()


def test_a_file_gives_back_the_blocks_it_was_given(tmp_path: Path):
    trace = trace_from_tokens([[1, 2, 3], [], [1, 2, 4], [9], [1, 2, 3, 5]], times=[0, 1, 2, 3, 4])
    path = tmp_path / "touches.parquet"
    save_touches(path, _blocks(trace, 2))
    file = open_touches(path)
    assert file.requests == 5
    for read, given_ in zip(file, _blocks(trace, 2), strict=True):
        for name in ("prompt_tokens", "total_tokens", "time_ns", "offsets", "last", "end"):
            assert getattr(read, name).tolist() == getattr(given_, name).tolist()
    assert hits_in_pieces(file, file.requests, 1, [20], [None]).tolist() == [[0 + 0 + 2 + 0 + 3]]


def test_a_file_keeps_that_times_are_unknown(tmp_path: Path):
    trace = trace_from_tokens([[1, 2], [1, 2, 3]])
    save_touches(tmp_path / "touches.parquet", _blocks(trace, 9))
    file = open_touches(tmp_path / "touches.parquet")
    assert [block.time_ns.tolist() for block in file] == [[NO_TIME, NO_TIME]]
    with pytest.raises(CannotEvaluateError, match="no time"):
        hits_in_pieces(file, 2, 1, [9], [60.0])


def test_what_is_no_file_of_touches_is_refused(tmp_path: Path):
    text = tmp_path / "log.jsonl"
    text.write_text("{}\n")
    with pytest.raises(InputError, match=r"cannot read .* as touch records"):
        open_touches(text)
    with pytest.raises(InputError, match="cannot write touch records"):
        save_touches(tmp_path / "missing" / "touches.parquet", [])


def test_a_record_takes_sixteen_bytes():
    records = _whole(trace_from_tokens([[1, 2], [1, 2, 3], [1, 2, 3]]))
    arrays = (records.request, records.last, records.start, records.end)
    assert sum(array.nbytes for array in arrays) == 16 * len(records) == 16 * 2
