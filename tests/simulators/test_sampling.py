import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError, UsageError
from analyzers.trace import Trace
from simulators import sampling
from simulators.blocks import cached_sequences
from simulators.drawn_touches import DRAWN_BYTES, RecordLengths, draw_touches, merge_drawn, record_lengths
from simulators.grids import Capacities
from simulators.runs import run_sweep
from simulators.sampling import GROUPS, SampledTouches, Sampling, sample_touches
from simulators.stack_records import stack_records
from simulators.sweep import hit_tokens, least_blocks
from simulators.touch_records import touches
from tests.simulators.random_logs import TokenLog, token_logs
from tests.trace_builder import trace_from_tokens


def _conversations(count: int, seed: int) -> Trace:
    """Conversations of four applications, each turn sending the history again, interleaved."""
    chance = random.Random(seed)
    systems = [[10_000 + a] * chance.randint(20, 120) for a in range(4)]
    live: list[list[int]] = []
    prompts: list[list[int]] = []
    for number in range(count):
        if not live or chance.random() < 0.25:
            live.append([*chance.choice(systems)])
        history = live[chance.randrange(max(len(live) - 6, 0), len(live))]
        history.extend(range(20_000 + 100 * number, 20_000 + 100 * number + chance.randint(3, 60)))
        prompts.append([*history])
    return trace_from_tokens(prompts, times=list(range(count)))


@pytest.fixture
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "LEAST_REUSES", 0)


def _sample(trace: Trace, rate: float, seed: int = 0) -> SampledTouches:
    return sample_touches(cached_sequences(trace), trace.requests, Sampling(rate, seed))


@settings(max_examples=100, deadline=None)
@given(token_logs())
def test_a_sample_of_everything_has_all_touch_records(log: TokenLog):
    trace = log.trace()
    sequences = cached_sequences(trace)
    sample, whole = _sample(trace, 1.0), touches(sequences, trace.requests)
    assert sample.account.kept_records == sample.account.records
    again = sample.last >= 0
    for name in ("request", "last", "start", "end", "age_ns"):
        assert getattr(sample, name)[again].tolist() == getattr(whole, name).tolist()
    new = {
        int(r): (int(a), int(b))
        for r, a, b in zip(sample.request[~again], sample.start[~again], sample.end[~again], strict=True)
    }
    for r in range(len(trace)):
        seen = int(whole.end[whole.offsets[r + 1] - 1]) if whole.offsets[r + 1] > whole.offsets[r] else 0
        total = int(sequences.total_tokens[r])
        assert new.get(r) == ((seen, total) if total > seen else None)


@settings(max_examples=100, deadline=None)
@given(token_logs(), st.integers(0, 12))
def test_a_sample_of_everything_is_exact_in_tokens(log: TokenLog, room: int):
    trace = log.trace()
    least = least_blocks(cached_sequences(trace), 1)
    capacities = Capacities("blocks", (least, least + room, least + 1000))
    ttls = [0.0, 3.0, 8.0, None]
    (exact,) = run_sweep(trace, [1], capacities, ttls, None).sizes
    (estimate,) = run_sweep(trace, [1], capacities, ttls, None, sampling=Sampling(1.0)).sizes
    for name in ("hit_tokens", "duplicate_writes", "unbounded_hit_tokens"):
        assert getattr(estimate, name).tolist() == getattr(exact, name).tolist()
    for name in ("ceiling_tokens", "knee_blocks", "capacity_doublings", "ttl_doublings"):
        assert getattr(estimate, name) == getattr(exact, name)
    assert estimate.hit_error_tokens is not None
    assert not estimate.hit_error_tokens.any()


@settings(max_examples=100, deadline=None)
@given(token_logs(), st.integers(2, 5), st.integers(0, 12))
def test_a_sample_of_everything_is_exact_in_blocks_but_for_one_place(log: TokenLog, size: int, room: int):
    trace = log.trace()
    sequences = cached_sequences(trace)
    least = least_blocks(sequences, size)
    capacities = Capacities("blocks", (least, least + room))
    (exact,) = run_sweep(trace, [size], capacities, [4.0, None], None).sizes
    one_more = Capacities("blocks", (least + 1, least + room + 1))
    (more,) = run_sweep(trace, [size], one_more, [4.0, None], None).sizes
    (estimate,) = run_sweep(trace, [size], one_more, [4.0, None], None, sampling=Sampling(1.0)).sizes
    assert (exact.hit_tokens <= estimate.hit_tokens).all()
    assert (estimate.hit_tokens <= more.hit_tokens).all()


@pytest.mark.usefixtures("_few_are_enough")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(token_logs(), st.integers(1, 3), st.floats(0.2, 1.0), st.integers(0, 5))
def test_distances_are_sums_of_drawn_records_in_between(log: TokenLog, size: int, rate: float, seed: int):
    trace = log.trace()
    sample = _sample(trace, rate, seed)
    records = sample.stack_records(cached_sequences(trace), size)
    request, last = sample.request.tolist(), sample.last.tolist()
    stands_for = [
        (end // size - start // size) * weight
        for start, end, weight in zip(
            sample.start.tolist(), sample.end.tolist(), sample.weights().tolist(), strict=True
        )
    ]
    for i in range(len(request)):
        if last[i] < 0:
            continue
        between = sum(
            stands_for[k]
            for k in range(len(request))
            if last[i] < request[k] < request[i] and last[k] <= last[i]
        )
        above = max(between / 4096, int(sample.start[i]) // size) + (size > 1)
        assert abs(records.distance[i] - above) <= 1 + sample.account.tokens_a_sample / 2 / size


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.floats(0.01, 1))
def test_the_length_a_sample_stands_for_keeps_the_rate(lengths: list[int], rate: float):
    counts = np.array([0, *lengths], np.int64)
    z = RecordLengths(counts, np.zeros_like(counts)).tokens_a_sample(rate)
    kept = (counts * np.minimum(1, np.arange(len(counts)) / z)).sum()
    assert kept == pytest.approx(rate * counts.sum()) or (z == 1 and kept <= counts.sum())


@pytest.mark.usefixtures("_few_are_enough")
def test_weights_make_up_for_what_is_left_out():
    trace = _conversations(150, 2)
    all_tokens = int(cached_sequences(trace).total_tokens.sum())
    found, kept = [], []
    for seed in range(200):
        sample = _sample(trace, 0.2, seed)
        found.append(((sample.end - sample.start) * sample.weights()).sum() / 4096)
        kept.append(sample.account.kept_records)
    assert np.mean(found) == pytest.approx(all_tokens, rel=0.02)
    assert np.mean(kept) == pytest.approx(0.2 * sample.account.records, rel=0.02)


@pytest.mark.usefixtures("_few_are_enough")
def test_estimates_without_each_part_average_to_the_estimate():
    sample = _sample(_conversations(150, 3), 0.3)
    without = np.stack([sample.weights(group) for group in range(GROUPS)])
    assert without.mean(axis=0) == pytest.approx(sample.weights(), rel=1e-3)
    assert {int(g) for g in sample.group} - {-1} == set(range(GROUPS))


def test_outputs_of_known_length_take_room_in_a_sample():
    prompts = [[n, n + 1, n + 2] for n in range(0, 900, 3)] * 2
    sequences = cached_sequences(trace_from_tokens(prompts, output_lengths=[9] * 600))
    sample = _sample(trace_from_tokens(prompts, output_lengths=[9] * 600), 0.5)
    new = sample.last < 0
    assert set(sample.end[new].tolist()) == {int(sequences.total_tokens[0])} == {11}
    assert set(sample.end[~new].tolist()) == {3}


@pytest.mark.parametrize("size", [1, 8])
def test_the_stated_error_holds_the_exact_curve_nineteen_times_in_twenty(size: int):
    inside = []
    for seed in range(10):
        trace = _conversations(600, seed)
        sequences = cached_sequences(trace)
        touched = touches(sequences, trace.requests)
        exact = stack_records(sequences, touched, size)
        (estimate,) = run_sweep(
            trace, [size], None, [5.0, 30.0, None], None, sampling=Sampling(0.1, seed)
        ).sizes
        hits = hit_tokens(touched, exact, exact.readable, estimate.capacity_blocks, estimate.ttl_s)
        assert estimate.hit_error_tokens is not None
        assert 0 < estimate.hit_error_tokens[-1].max() < 0.5 * estimate.ceiling_tokens
        inside.append(np.abs(estimate.hit_tokens - hits) <= estimate.hit_error_tokens)
    assert np.mean(np.concatenate([i.reshape(-1) for i in inside])) >= 0.95


def test_what_an_unbounded_cache_hits_is_exact():
    trace = _conversations(400, 4)
    for size in (1, 4, 16):
        (exact,) = run_sweep(trace, [size], None, [None], None).sizes
        (estimate,) = run_sweep(trace, [size], None, [None], None, sampling=Sampling(0.1)).sizes
        assert estimate.ceiling_tokens == exact.ceiling_tokens == estimate.unbounded_hit_tokens[-1]


@pytest.mark.usefixtures("_few_are_enough")
def test_memory_goes_down_with_the_rate():
    trace = _conversations(2000, 5)
    kept = [_sample(trace, rate).account.kept_records for rate in (1.0, 0.1, 0.01)]
    assert kept[1] == pytest.approx(kept[0] / 10, rel=0.2)
    assert kept[2] == pytest.approx(kept[0] / 100, rel=0.5)


def test_the_seed_chooses_the_sample():
    trace = _conversations(300, 6)
    first, again, other = (_sample(trace, 0.2, seed).request.tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_what_a_sample_cannot_tell_is_left_unknown():
    sweep = run_sweep(_conversations(600, 7), [1], None, None, None, sampling=Sampling(0.1))
    (size,) = sweep.sizes
    assert size.flat_blocks is None
    assert max(size.stack_distance_blocks) < 1
    assert sweep.working_sets == ()
    assert sweep.sample is not None
    assert size.capacity_blocks.min() >= sweep.sample.tokens_a_sample
    with pytest.raises(UsageError, match="less than a sample of"):
        run_sweep(
            _conversations(2000, 7), [1], Capacities("tokens", (2100,)), None, None, sampling=Sampling(0.01)
        )


def test_a_sample_that_misses_nothing_is_exact():
    trace = _conversations(40, 6)
    sampling = next(
        Sampling(0.97, seed)
        for seed in range(200)
        if (account := _sample(trace, 0.97, seed).account).kept_records == account.records
    )
    (exact,), (found,) = (
        run_sweep(
            trace, [1], Capacities("tokens", tuple(range(500, 4000, 5))), None, None, sampling=chosen
        ).sizes
        for chosen in (None, sampling)
    )
    np.testing.assert_array_equal(found.hit_tokens, exact.hit_tokens)
    assert found.hit_error_tokens is not None
    assert not found.hit_error_tokens.any()


def test_a_capacity_that_a_sample_cannot_tell_is_named_in_tokens_too():
    says = r"at block size 4 a capacity of 700 blocks \(2,800 tokens\) is less .* blocks \([\d,]+ tokens\) or larger"
    capacity, sampling = Capacities("blocks", (700,)), Sampling(0.01)
    with pytest.raises(UsageError, match=says):
        run_sweep(_conversations(2000, 7), [4, 16], capacity, None, None, sampling=sampling)


def test_too_small_a_sample_is_refused():
    with pytest.raises(CannotEvaluateError, match="too few to judge the estimate by"):
        _sample(_conversations(100, 8), 0.001)
    for rate in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(UsageError, match="not possible"):
            Sampling(rate)
    for seed in (-1, 2**63):
        with pytest.raises(UsageError, match="not possible"):
            Sampling(0.5, seed)


@settings(max_examples=80, deadline=None)
@given(token_logs(), st.floats(0.1, 1.0), st.integers(0, 9))
def test_trees_draw_on_their_own_what_the_forest_draws(log: TokenLog, rate: float, seed: int):
    sequences = cached_sequences(log.trace())
    root = np.arange(len(sequences.parent))
    for node in np.argsort(sequences.depth_start, kind="stable").tolist():
        if sequences.parent[node] >= 0:
            root[node] = root[sequences.parent[node]]
    tree_of = np.array([-1 if leaf < 0 else root[leaf] for leaf in sequences.leaf.tolist()])
    lengths, rows_of = (
        record_lengths(sequences),
        [np.flatnonzero(tree_of == t) for t in set(tree_of.tolist())],
    )
    trees = [
        replace(
            sequences,
            leaf=sequences.leaf[rows],
            prompt_tokens=sequences.prompt_tokens[rows],
            known_tokens=sequences.known_tokens[rows],
            total_tokens=sequences.total_tokens[rows],
        )
        for rows in rows_of
    ]
    together = sum((record_lengths(tree) for tree in trees), RecordLengths(*np.zeros((2, 1), np.int64)))
    assert (together.again == lengths.again).all()
    assert (together.new == lengths.new).all()
    z = lengths.tokens_a_sample(rate)
    drawn = [
        draw_touches(tree, rows.astype(np.int32), z, seed, GROUPS)
        for tree, rows in zip(trees, rows_of, strict=True)
    ]
    whole = draw_touches(sequences, np.arange(len(sequences), dtype=np.int32), z, seed, GROUPS)
    merged = merge_drawn(drawn[::-1])
    for name in ("request", "last", "start", "end", "group"):
        assert getattr(merged, name).tolist() == getattr(whole, name).tolist()
    assert (
        sum(getattr(whole, name).itemsize for name in ("request", "last", "start", "end", "group"))
        == DRAWN_BYTES
    )
