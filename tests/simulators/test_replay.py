"""The replay against its slow twin, against the sweep, and the statements that hold for every setting."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError, UsageError
from analyzers.logs import read_log
from analyzers.pipeline import trace_log
from simulators.blocks import cached_sequences
from simulators.invalidation import Invalidation
from simulators.lifecycle import Loss
from simulators.policies import POLICIES, structures
from simulators.policies.lifetime import Lifetime
from simulators.policies.priority import PriorityRule
from simulators.replay import replay
from simulators.replay_settings import ReplaySettings
from simulators.replicas import Replicas
from simulators.stack_records import stack_records
from simulators.sweep import hits_by_request, least_blocks
from simulators.tiers import Tier
from simulators.touch_records import touches
from tests.shared_folder import SHARED, needs_shared
from tests.simulators.replay_scenarios import (
    assert_same,
    both,
    least_capacity,
    random_log,
    random_settings,
)
from tests.trace_builder import trace_from_tokens

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True, scope="module")
def heaps_without_spare_room() -> Iterator[None]:
    """So that sweeping out dead entries happens in small logs too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structures, "SPARE", 1)
        yield


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_replay_equals_its_slow_twin(policy: str, seed: int) -> None:
    rng = random.Random(seed)
    log = random_log(rng)
    result, twin = both(log, random_settings(rng, log, policy))
    assert_same(result, twin)


@settings(max_examples=150, deadline=None)
@given(seed=seeds)
def test_lru_is_the_sweep(seed: int) -> None:
    rng = random.Random(seed)
    log = random_log(rng)
    size, ttl = rng.choice([1, 2, 3]), rng.choice([None, 2, 9])
    capacity = least_capacity(log, size) + rng.randint(0, 8)
    trace = log.trace()
    sequences = cached_sequences(trace)
    touched = touches(sequences, trace.requests)
    swept = hits_by_request(stack_records(sequences, touched, size), touched, capacity, ttl)
    lifetime = None if ttl is None else Lifetime(ttl)
    replayed = replay(trace, ReplaySettings(size, capacity, "lru", lifetime))
    assert swept.tolist() == replayed.hit_tokens.tolist()


@needs_shared
@pytest.mark.parametrize(
    ("name", "size"), [("mooncake/synthetic_trace.jsonl", 512), ("lmcache_agent_trace", 16)]
)
def test_lru_is_the_sweep_on_real_logs(name: str, size: int) -> None:
    assert SHARED is not None
    trace = trace_log(read_log([str(SHARED / "data" / name)])).trace
    sequences = cached_sequences(trace)
    touched = touches(sequences, trace.requests)
    records = stack_records(sequences, touched, size)
    timed = touched.age_ns is not None
    for times_least in (1, 3, 20):
        capacity = times_least * least_blocks(sequences, size)
        for ttl in (None, 20.0) if timed else (None,):
            lifetime = None if ttl is None else Lifetime(ttl)
            replayed = replay(trace, ReplaySettings(size, capacity, "lru", lifetime))
            assert replayed.hit_tokens.tolist() == hits_by_request(records, touched, capacity, ttl).tolist()


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_tokens_add_up_and_the_last_token_is_always_computed(policy: str, seed: int) -> None:
    rng = random.Random(seed)
    log = random_log(rng)
    result = replay(log.trace(), random_settings(rng, log, policy))
    assert (result.hit_tokens + result.lost_tokens.sum(axis=1) == result.servable_tokens).all()
    assert (result.lost_tokens >= 0).all()
    assert (result.lost_tokens[:, 0] == 0).all()
    assert (result.hit_tokens <= np.maximum(result.prompt_tokens - 1, 0)).all()
    assert (result.hit_tokens % result.settings.block_size == 0).all()
    assert (result.tier_hit_tokens.sum(axis=1) == result.hit_tokens).all()


@settings(max_examples=40, deadline=None)
@given(seed=seeds, policy=st.sampled_from([name for name in POLICIES if name != "belady"]))
def test_without_bounds_every_policy_serves_all_there_is(seed: int, policy: str) -> None:
    log = random_log(random.Random(seed))
    result = replay(log.trace(), ReplaySettings(2, None, policy))
    assert result.hit_tokens.tolist() == result.servable_tokens.tolist()
    assert result.counters.evicted == 0


@settings(max_examples=20, deadline=None)
@given(seed=seeds, policy=st.sampled_from(list(POLICIES)))
def test_the_same_replay_twice_gives_the_same_bytes(seed: int, policy: str) -> None:
    rng = random.Random(seed)
    log = random_log(rng)
    configuration = random_settings(rng, log, policy)
    first, second = replay(log.trace(), configuration), replay(log.trace(), configuration)
    assert first.hit_tokens.tobytes() == second.hit_tokens.tobytes()
    assert first.lost_tokens.tobytes() == second.lost_tokens.tobytes()
    assert first.counters == second.counters


def test_only_an_unbroken_prefix_is_served() -> None:
    # FIFO gives up the oldest block, the root, although both blocks behind it are still there.
    trace = trace_from_tokens([[1], [1, 2], [1, 2, 3], [8], [9], [1, 2, 3, 4]])
    result = replay(trace, ReplaySettings(1, 4, "fifo"))
    assert result.hit_tokens.tolist() == [0, 1, 2, 0, 0, 0]
    assert result.lost(Loss.EVICTED).tolist() == [0, 0, 0, 0, 0, 3]


def test_an_empty_trace_has_no_ratio() -> None:
    result = replay(trace_from_tokens([]), ReplaySettings())
    assert result.hit_ratio() is None
    assert len(result.hit_tokens) == 0


def test_outputs_can_be_left_out() -> None:
    trace = trace_from_tokens([[1, 2], [1, 2, 3, 4, 9]], outputs=[[3, 4, 5], []])
    assert replay(trace, ReplaySettings(1)).hit_tokens.tolist() == [0, 4]
    assert replay(trace, ReplaySettings(1, ignore_outputs=True)).hit_tokens.tolist() == [0, 2]


def test_hash_traces_replay_at_their_own_block_length() -> None:
    trace = trace_from_tokens([[1, 2], [1, 2, 3]], unit=512, prompt_lengths=[600, 1536])
    result = replay(trace, ReplaySettings(512, 8))
    assert result.hit_tokens.tolist() == [0, 512]
    assert np.asarray(result.prompt_tokens).tolist() == [600, 1536]


def test_a_request_that_cannot_fit_is_named() -> None:
    trace = trace_from_tokens([[1, 2, 3, 4, 5]], request_ids=["big one"])
    with pytest.raises(UsageError, match="big one"):
        replay(trace, ReplaySettings(1, 4))


@pytest.mark.parametrize(
    "wrong",
    [
        ReplaySettings(policy="mru"),
        ReplaySettings(policy="lru", priorities=(PriorityRule("tenant", "a", 1),)),
        ReplaySettings(policy="belady", lifetime=Lifetime(5)),
        ReplaySettings(policy="size-aware", attention_equals_rest=0),
        ReplaySettings(lifetime=Lifetime(0)),
        ReplaySettings(lifetime=Lifetime(5, "birth")),  # type: ignore[arg-type]
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: ReplaySettings) -> None:
    with pytest.raises(UsageError):
        replay(trace_from_tokens([[1, 2, 3]], times=[1]), wrong)


@pytest.mark.parametrize(
    "timed",
    [
        ReplaySettings(lifetime=Lifetime(5)),
        ReplaySettings(tiers=(Tier("cpu", 5, 100.0),), bytes_per_token=1),
        ReplaySettings(replicas=Replicas(2, "prefix-aware")),
        ReplaySettings(invalidations=(Invalidation(5, "model", (("model", "m"),)),)),
    ],
)
def test_what_needs_times_is_not_guessed_without_them(timed: ReplaySettings) -> None:
    trace = trace_from_tokens([[1, 2, 3], [1, 2, 4]])
    with pytest.raises(CannotEvaluateError, match="no time"):
        replay(trace, timed)
    assert replay(trace, ReplaySettings(1)).hit_tokens.tolist() == [0, 2]
