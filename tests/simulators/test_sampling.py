import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError, UsageError
from analyzers.trace import Trace
from simulators import sampling
from simulators.blocks import cached_sequences
from simulators.grids import Capacities
from simulators.kernels.sampling import path_counts
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
@given(token_logs(), st.integers(1, 4), st.integers(0, 12))
def test_a_sample_of_everything_is_exact(log: TokenLog, size: int, room: int):
    trace = log.trace()
    least = least_blocks(cached_sequences(trace), size)
    capacities = Capacities("blocks", (least, least + room, least + 1000))
    ttls = [0.0, 3.0, 8.0, None]
    exact = run_sweep(trace, [size], capacities, ttls, None)
    (whole,) = exact.sizes
    (estimate,) = run_sweep(trace, [size], capacities, ttls, None, sampling=Sampling(1.0)).sizes
    for name in ("hit_tokens", "duplicate_writes", "unbounded_hit_tokens"):
        assert getattr(estimate, name).tolist() == getattr(whole, name).tolist()
    for name in ("ceiling_tokens", "knee_blocks", "capacity_doublings", "ttl_doublings"):
        assert getattr(estimate, name) == getattr(whole, name)
    assert estimate.hit_error_tokens is not None
    assert not estimate.hit_error_tokens.any()


def _estimate_by_comparison(trace: Trace, sample: SampledTouches, capacity: int) -> float:
    """Hit tokens at block size 1 before the correction: every sampled token on its own, in a plain dictionary.

    A token is known by the edge it lies on and its depth; `touched[token]` is who touched it last and its weight.
    """
    sequences = cached_sequences(trace)
    weight = dict(
        zip(
            zip(sample.touched.request.tolist(), sample.touched.start.tolist(), strict=True),
            (sample.weights() / 4096).tolist(),
            strict=True,
        )
    )
    place = {row: k for k, row in enumerate(sample.rows.tolist())}
    touched: dict[tuple[int, int], tuple[int, float]] = {}
    hits = 0.0
    for request in range(len(trace)):
        path = []
        node = int(sequences.leaf[request])
        while node >= 0:
            start, end = int(sequences.depth_start[node]), int(sequences.depth_end[node])
            kept = weight.get((place.get(request, -1), start))
            path += [((node, depth), kept) for depth in range(start, end) if kept is not None]
            node = int(sequences.parent[node])
        mine = {token for token, _ in path}
        for token, kept in path:
            if token not in touched or token[1] >= sequences.prompt_tokens[request] - 1:
                continue
            since = touched[token][0]
            foreign = sum(w for t, (last, w) in touched.items() if last > since and t not in mine)
            hits += (token[1] + int(foreign + 1e-9) < capacity) * (kept or 0)
        for token, kept in path:
            touched[token] = (request, kept or 0)
        alone = weight.get((place.get(request, -1), int(sequences.known_tokens[request])))
        if alone is not None and sequences.total_tokens[request] > sequences.known_tokens[request]:
            for depth in range(int(sequences.known_tokens[request]), int(sequences.total_tokens[request])):
                touched[(-1 - request, depth)] = (request, alone)
    return hits


@pytest.mark.usefixtures("_few_are_enough")
@pytest.mark.parametrize("seed", range(6))
def test_the_estimate_is_what_a_plain_count_of_sampled_tokens_gives(seed: int):
    trace = _conversations(40, seed)
    sample = _sample(trace, 0.4, seed)
    assert 0 < sample.account.kept_touches < sample.account.touches
    records = sample.stack_records(cached_sequences(trace), 1)
    for capacity in (200, 400, 800, 5000):
        plain = _estimate_by_comparison(trace, sample, capacity)
        kept = np.clip(capacity - records.distance, 0, records.readable)
        assert (kept * records.weight).sum() / 4096 == pytest.approx(plain, rel=1e-9)


def test_outputs_of_known_length_are_sampled_too():
    prompts = [[n, n + 1, n + 2] for n in range(0, 900, 3)] * 2
    trace = trace_from_tokens(prompts, output_lengths=[9] * 600)
    sample = _sample(trace, 0.5)
    alone = (sample.touched.start == 3) & (sample.touched.end == 11)
    assert 0 < np.count_nonzero(alone) < 600
    assert (sample.touched.last[alone] == -1).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(1, 50)), min_size=1, max_size=30), st.floats(0.01, 1)
)
def test_the_length_a_sample_stands_for_keeps_the_rate(edges: list[tuple[int, int]], rate: float):
    tokens, counts = np.array(edges, np.int64).T
    z = sampling._tokens_a_sample(tokens, counts, rate)
    kept = (counts * np.minimum(1, tokens / z)).sum()
    assert kept == pytest.approx(rate * counts.sum()) or (z == 1 and kept <= counts.sum())


@pytest.mark.usefixtures("_few_are_enough")
def test_an_edge_is_in_the_sample_for_all_its_requests_or_for_none():
    trace = _conversations(300, 1)
    sequences = cached_sequences(trace)
    sample = _sample(trace, 0.2)
    counts = path_counts(sequences.parent, sequences.leaf)
    kept: dict[int, int] = {}
    for k, row in enumerate(sample.rows.tolist()):
        starts = set(sample.touched.start[sample.touched.offsets[k] : sample.touched.offsets[k + 1]].tolist())
        node = int(sequences.leaf[row])
        while node >= 0:
            if int(sequences.depth_start[node]) in starts:
                kept[node] = kept.get(node, 0) + 1
            node = int(sequences.parent[node])
    assert kept == {node: int(counts[node]) for node in kept}
    assert sum(kept.values()) == sample.account.kept_touches


@pytest.mark.usefixtures("_few_are_enough")
def test_weights_make_up_for_what_is_left_out():
    trace = _conversations(150, 2)
    sequences = cached_sequences(trace)
    lengths = (sequences.depth_end - sequences.depth_start).astype(np.int64)
    all_tokens = (lengths * path_counts(sequences.parent, sequences.leaf)).sum()
    found, kept = [], []
    for seed in range(300):
        sample = _sample(trace, 0.2, seed)
        touched = sample.touched
        found.append(((touched.end - touched.start) * sample.weights()).sum() / 4096)
        kept.append(sample.account.kept_touches)
    assert np.mean(found) == pytest.approx(all_tokens, rel=0.03)
    assert np.mean(kept) == pytest.approx(0.2 * sample.account.touches, rel=0.03)


@pytest.mark.usefixtures("_few_are_enough")
def test_estimates_without_each_part_average_to_the_estimate():
    sample = _sample(_conversations(150, 3), 0.3)
    without = np.stack([sample.weights(group) for group in range(GROUPS)])
    assert without.mean(axis=0) == pytest.approx(sample.weights(), rel=1e-3)
    assert {int(g) for g in sample.group} - {-1} == set(range(GROUPS))


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
    kept = [
        np.mean([_sample(trace, rate, seed).account.kept_touches for seed in range(20)])
        for rate in (1.0, 0.1, 0.01)
    ]
    assert kept[1] == pytest.approx(kept[0] / 10, rel=0.1)
    assert kept[2] < kept[0] / 50


def test_the_seed_chooses_the_sample():
    trace = _conversations(300, 6)
    first, again, other = (_sample(trace, 0.2, seed).rows.tolist() for seed in (1, 1, 2))
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


def test_too_small_a_sample_is_refused():
    with pytest.raises(CannotEvaluateError, match="too few to judge the estimate by"):
        _sample(_conversations(100, 8), 0.001)
    for rate in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(UsageError, match="not possible"):
            Sampling(rate)
