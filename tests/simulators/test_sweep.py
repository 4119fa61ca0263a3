import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError, UsageError
from analyzers.logs import read_log
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.trace import Trace
from simulators.blocks import cached_sequences
from simulators.stack_records import stack_records
from simulators.sweep import (
    check_capacity,
    hits_by_request,
    least_blocks,
    reuse_interval_percentiles,
    sweep_block_size,
)
from simulators.touch_records import touches
from simulators.working_set import working_sets
from tests.shared_folder import SHARED, needs_shared
from tests.simulators.random_logs import BlockRequest, TokenLog, block_requests, direct_lru, token_logs
from tests.trace_builder import trace_from_tokens


def _sweep(trace: Trace, size: int, capacities: list[int], ttls: list[float | None]):
    sequences = cached_sequences(trace)
    touched = touches(sequences, trace.requests)
    return sweep_block_size(sequences, touched, stack_records(sequences, touched, size), capacities, ttls)


@settings(max_examples=400, deadline=None)
@given(token_logs(), st.integers(1, 5), st.integers(0, 12))
def test_the_sweep_is_what_a_direct_simulation_of_each_point_gives(log: TokenLog, size: int, room: int):
    trace = log.trace()
    sequences = cached_sequences(trace)
    touched = touches(sequences, trace.requests)
    records = stack_records(sequences, touched, size)
    least = least_blocks(sequences, size)
    capacities = [least, least + room, least + 1000]
    ttls: list[float | None] = [0.0, 2.0, 5.0, 11.0, None]
    requests = block_requests(log, size)
    result = sweep_block_size(sequences, touched, records, capacities, ttls)
    for c, capacity in enumerate(result.capacity_blocks.tolist()):
        for t, ttl in enumerate(result.ttl_s):
            direct = direct_lru(requests, size, capacity, ttl)
            assert hits_by_request(records, touched, capacity, ttl).tolist() == direct.hits
            assert result.hit_tokens[t, c] == sum(direct.hits)
            assert result.duplicate_writes[t, c] == direct.duplicate_writes


@settings(max_examples=100, deadline=None)
@given(token_logs(), st.integers(1, 4))
def test_more_capacity_or_a_longer_lifetime_never_hits_less(log: TokenLog, size: int):
    sequences = cached_sequences(log.trace())
    least = least_blocks(sequences, size)
    result = _sweep(log.trace(), size, list(range(least, least + 30)), [0.0, 1.0, 3.0, 9.0, None])
    assert (np.diff(result.hit_tokens, axis=0) >= 0).all()
    assert (np.diff(result.hit_tokens, axis=1) >= 0).all()


@settings(max_examples=100, deadline=None)
@given(token_logs(), st.integers(1, 4), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_the_least_capacity_for_a_share_is_the_first_that_reaches_it(log: TokenLog, size: int, share: float):
    sequences = cached_sequences(log.trace())
    touched = touches(sequences, log.trace().requests)
    records = stack_records(sequences, touched, size)
    found = records.least_capacity(share)
    hits = [np.clip(c - records.distance, 0, records.readable).sum() for c in range(found + 1)]
    wanted = np.ceil(share * records.readable.sum())
    assert hits[-1] >= wanted
    assert found == 0 or hits[-2] < wanted


def test_hit_stays_below_the_last_token():
    trace = trace_from_tokens([list(range(8)), list(range(8))])
    assert _sweep(trace, 4, [10], [None]).hit_tokens.tolist() == [[4]]
    assert _sweep(trace, 1, [10], [None]).hit_tokens.tolist() == [[7]]


def test_blocks_written_twice_are_counted():
    trace = trace_from_tokens([list(range(8)), list(range(8))])
    assert _sweep(trace, 4, [10], [None]).duplicate_writes.tolist() == [[1]]


def test_the_tail_of_a_sequence_is_evicted_first():
    trace = trace_from_tokens([[1, 2, 3, 4], [9, 9], [1, 2, 3, 4, 5]])
    assert _sweep(trace, 1, [5, 6], [None]).hit_tokens.tolist() == [[3, 4]]


def test_outputs_of_known_length_take_room_but_cannot_be_read():
    prompts = [[1, 2, 3], [7], [1, 2, 3, 4]]
    silent = trace_from_tokens(prompts, output_lengths=[0, 0, 0])
    chatty = trace_from_tokens(prompts, output_lengths=[0, 3, 0])
    assert _sweep(silent, 1, [4, 5, 6], [None]).hit_tokens.tolist() == [[3, 3, 3]]
    assert _sweep(chatty, 1, [4, 5, 6], [None]).hit_tokens.tolist() == [[1, 2, 3]]


def test_a_lifetime_includes_its_last_moment():
    trace = trace_from_tokens([[1, 2], [1, 2, 3]], times=[0, 30])
    result = _sweep(trace, 1, [9], [29.9, 30.0, None])
    assert result.hit_tokens[:, 0].tolist() == [0, 2, 2]


def test_each_access_renews_the_lifetime():
    trace = trace_from_tokens([[1, 2], [1, 2, 3], [1, 2, 4]], times=[0, 20, 40])
    assert _sweep(trace, 1, [9], [25.0]).hit_tokens.tolist() == [[4]]


def test_namespaces_share_room_but_not_prefixes():
    trace = trace_from_tokens([[1, 2], [1, 2]], namespaces=["a", "b"])
    assert _sweep(trace, 1, [4], [None]).ceiling_tokens == 0


def test_lifetimes_without_times_cannot_be_evaluated():
    trace = trace_from_tokens([[1, 2], [1, 2]])
    with pytest.raises(CannotEvaluateError, match="no time"):
        _sweep(trace, 1, [4], [60.0])


def test_a_capacity_below_the_largest_request_names_it():
    trace = trace_from_tokens([[1], list(range(40))], request_ids=["small", "huge"])
    with pytest.raises(UsageError, match="'huge' of 40 tokens; give at least 3 blocks"):
        check_capacity(cached_sequences(trace), trace.requests, 16, 2)
    check_capacity(cached_sequences(trace), trace.requests, 16, 3)


def test_doublings_reach_the_ceiling():
    prompts = [[n, n, n] for n in range(20)] * 2
    trace = trace_from_tokens(prompts, times=list(range(40)))
    result = _sweep(trace, 1, [64], [None])
    assert result.capacity_doublings[-1].hit_tokens == result.ceiling_tokens == 40
    assert result.ttl_doublings[-1].hit_tokens == 40
    assert sum(d.gained_tokens or 0 for d in result.ttl_doublings) == 40 - result.ttl_doublings[0].hit_tokens


def test_reuse_intervals_are_weighted_by_tokens():
    trace = trace_from_tokens([[1, 2, 3], [8], [1, 2, 3, 4], [8, 9]], times=[0, 1, 10, 101])
    sequences = cached_sequences(trace)
    touched = touches(sequences, trace.requests)
    interval = reuse_interval_percentiles(touched, stack_records(sequences, touched, 1))
    assert interval is not None
    assert interval[0.5] == 10
    assert interval[0.9] == interval[1.0] == 100


@settings(max_examples=60, deadline=None)
@given(token_logs(), st.integers(1, 3), st.integers(0, 8))
def test_the_working_set_is_the_distinct_blocks_of_the_window(log: TokenLog, size: int, window: int):
    trace = log.trace()
    sequences = cached_sequences(trace)
    touched = touches(sequences, trace.requests)
    (result,) = working_sets(sequences, touched, stack_records(sequences, touched, size), [float(window)])
    peaks = []
    for now in log.times:
        recent = [r for r in range(len(log.times)) if now - window <= log.times[r] <= now]
        blocks = {
            (log.namespaces[r], tuple(log.kept(r)[: (k + 1) * size]))
            for r in recent
            for k in range(len(log.kept(r)) // size)
        }
        peaks.append(len(blocks) * size)
    assert result.peak_tokens == max(peaks)
    assert result.peak_in_span_tokens.max() == max(peaks)


def _compare(trace: Trace, requests: list[BlockRequest], size: int, shares: list[float]):
    sequences = cached_sequences(trace)
    touched = touches(sequences, trace.requests)
    records = stack_records(sequences, touched, size)
    least = least_blocks(sequences, size)
    flat = max(records.least_capacity(1.0), least)
    for share in shares:
        capacity = round(least * (flat / least) ** share)
        for ttl in (None,) if touched.age_ns is None else (None, 30.0, 240.0):
            direct = direct_lru(requests, size, capacity, ttl)
            assert hits_by_request(records, touched, capacity, ttl).tolist() == direct.hits


@needs_shared
@pytest.mark.parametrize("size", [512, 1024])
def test_the_sweep_of_a_hash_trace_is_a_direct_simulation(size: int):
    assert SHARED is not None
    path = SHARED / "data" / "mooncake" / "synthetic_trace.jsonl"
    requests = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        prompt, total = row["input_length"], row["input_length"] + max(row["output_length"] - 1, 0)
        # Ids are chained: the last one of a block stands for the whole prefix.
        keys = [row["hash_ids"][(k + 1) * (size // 512) - 1] for k in range(prompt // size)]
        requests.append(BlockRequest(keys, prompt, total, row["timestamp"] / 1000))
    _compare(trace_log(read_log([str(path)])).trace, requests, size, [0.0, 0.4, 0.8])


@needs_shared
@pytest.mark.parametrize("name", ["lmcache_agent_trace", "tau_bench/gpt-4o-airline.json"])
def test_the_sweep_of_a_text_log_is_a_direct_simulation(name: str):
    assert SHARED is not None
    log = read_log([str(Path(SHARED, "data", name))])
    traced = trace_log(log, TraceOptions(answers=False))
    table = traced.trace.requests
    known: dict[object, int] = {}
    requests = []
    for r in range(len(table)):
        tokens = traced.sequences.tokens(r).tolist()
        key: object = ("namespace", int(table.namespace[r]))
        keys: list[object] = []
        for k in range(len(tokens) // 16):
            key = known.setdefault((key, tuple(tokens[k * 16 : (k + 1) * 16])), len(known))
            keys.append(key)
        total = len(tokens) + max(int(table.output_tokens[r]) - 1, 0)
        requests.append(BlockRequest(keys, len(tokens), total, int(table.time_ns[r]) / 1e9))
    _compare(traced.trace, requests, 16, [0.0, 0.5])
