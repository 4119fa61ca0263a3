import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulators.blocks import cached_sequences
from simulators.miss_classes import MissClass, classify_misses, sweep_losses
from simulators.stack_records import stack_records
from simulators.sweep import hits_by_request, least_blocks
from simulators.touch_records import touches
from tests.simulators.random_logs import TokenLog, token_logs
from tests.trace_builder import trace_from_tokens


def _classes(log: TokenLog, size: int, capacity: int | None, ttl: float | None, **content):
    trace = log.trace()
    sequences = cached_sequences(trace)
    touched = touches(sequences, trace.requests)
    records = stack_records(sequences, touched, size)
    hits = hits_by_request(records, touched, capacity, ttl)
    losses = sweep_losses(sequences, records, touched, capacity, ttl)
    return classify_misses(sequences, hits, sequences.servable_tokens(size), losses, **content)


@settings(max_examples=150, deadline=None)
@given(token_logs(), st.integers(1, 4), st.integers(0, 10), st.sampled_from([None, 0.0, 3.0]))
def test_the_classes_add_up_to_the_prompt(log: TokenLog, size: int, room: int, ttl: float | None):
    capacity = least_blocks(cached_sequences(log.trace()), size) + room
    elsewhere = np.array([min(3, len(p)) for p in log.prompts], np.int64)
    isolated = np.array([len(p) // 2 for p in log.prompts], np.int64)
    classes = _classes(log, size, capacity, ttl, isolated=isolated, seen_elsewhere=elsewhere)
    assert list(classes.tokens) == list(MissClass)
    assert all((tokens >= 0).all() for tokens in classes.tokens.values())
    total = sum(classes.tokens.values())
    assert total.tolist() == [len(p) for p in log.prompts]


@settings(max_examples=100, deadline=None)
@given(token_logs(), st.integers(1, 4), st.integers(0, 10))
def test_what_is_lost_to_eviction_is_what_an_unbounded_cache_adds(log: TokenLog, size: int, room: int):
    capacity = least_blocks(cached_sequences(log.trace()), size) + room
    bounded, unbounded = _classes(log, size, capacity, 4.0), _classes(log, size, None, 4.0)
    gained = unbounded.tokens[MissClass.HIT] - bounded.tokens[MissClass.HIT]
    assert gained.tolist() == bounded.tokens[MissClass.EVICTED].tolist()
    assert unbounded.tokens[MissClass.EXPIRED].tolist() == bounded.tokens[MissClass.EXPIRED].tolist()


def test_each_token_has_the_reason_it_was_computed():
    known = [1, 2, 3, 4, 5, 6]
    log = TokenLog([known, [9, 9], [*known[:5], 7, 8]], [[], [], []], [0.0, 1.0, 100.0], ["a"] * 3)
    expired = _classes(log, 2, None, 60.0, seen_elsewhere=np.array([0, 0, 1]))
    last = {c: int(tokens[2]) for c, tokens in expired.tokens.items() if tokens[2]}
    assert last == {
        MissClass.EXPIRED: 4,
        MissClass.BLOCK_TAIL: 1,
        MissClass.DIVERGED: 1,
        MissClass.COLD: 1,
    }
    evicted = _classes(log, 2, 4, None)
    last = {c: int(tokens[2]) for c, tokens in evicted.tokens.items() if tokens[2]}
    assert last == {MissClass.HIT: 4, MissClass.BLOCK_TAIL: 1, MissClass.COLD: 2}


def test_without_content_diverged_is_unknown_not_zero():
    log = TokenLog([[1, 2]], [[]], [0.0], ["a"])
    classes = _classes(log, 1, None, None, seen_elsewhere=np.array([-1]))
    assert classes.totals()[MissClass.DIVERGED] is None
    assert classes.totals()[MissClass.ISOLATION] is None
    assert classes.totals()[MissClass.COLD] == 2


def test_losses_that_do_not_add_up_are_refused():
    sequences = cached_sequences(trace_from_tokens([[1, 2], [1, 2]]))
    with pytest.raises(ValueError, match="do not add up"):
        classify_misses(sequences, np.array([0, 0]), np.array([0, 1]), {})
