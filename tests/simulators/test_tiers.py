"""What moves between tiers, and what it costs."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import UsageError
from simulators.lifecycle import Loss
from simulators.replay import ReplayResult, replay
from simulators.replay_settings import ReplaySettings
from simulators.replicas import Replicas
from simulators.tiers import Tier
from tests.simulators.replay_scenarios import assert_same, both, least_capacity, random_log
from tests.trace_builder import trace_from_tokens

A, B, C = [1, 2, 3], [4, 5, 6], [7, 8, 9]


def below(*tiers: Tier, prompts: list[list[int]], replicas: int = 1) -> ReplayResult:
    """Three blocks of one token in the fastest tier, the others below it; one request a second."""
    trace = trace_from_tokens(prompts, times=list(range(len(prompts))))
    asked = ReplaySettings(1, 3, tiers=tiers, bytes_per_token=10, replicas=Replicas(replicas))
    return replay(trace, asked)


def test_what_finds_no_room_moves_down_and_is_read_from_there() -> None:
    result = below(Tier("cpu", 3), prompts=[A, B, A])
    assert result.hit_tokens.tolist() == [0, 0, 2]
    assert result.tier_hit_tokens.tolist() == [[0, 0], [0, 0], [0, 2]]
    gpu, cpu = result.tiers
    assert (gpu.hit_blocks, cpu.hit_blocks) == (0, 2)
    # A's three blocks came down for B, B's for A; two of A's went up to be read, the third was computed again.
    assert (cpu.moved_in_blocks, cpu.moved_out_blocks) == (6, 2)
    assert (cpu.bytes_in, cpu.bytes_out) == (60, 20)
    assert result.counters.evicted == 0


def test_without_a_lower_tier_it_is_gone() -> None:
    result = below(prompts=[A, B, A])
    assert result.hit_tokens.tolist() == [0, 0, 0]
    assert result.lost(Loss.EVICTED).tolist() == [0, 0, 2]
    assert result.counters.evicted == 6


def test_each_tier_gives_its_oldest_to_the_next() -> None:
    result = below(Tier("cpu", 3), Tier("disk", 3), prompts=[A, B, C, A])
    assert result.tier_hit_tokens[3].tolist() == [0, 0, 2]
    assert result.hit_tokens.tolist() == [0, 0, 0, 2]
    smaller = below(Tier("cpu", 3), Tier("disk", 1), prompts=[A, B, C, A])
    # Of A only the root is still on the disk: a prefix loses its tail first.
    assert smaller.tier_hit_tokens[3].tolist() == [0, 0, 1]


def test_bytes_are_unknown_when_the_size_of_a_token_is() -> None:
    trace = trace_from_tokens([A, B, A])
    result = replay(trace, ReplaySettings(1, 3, tiers=(Tier("cpu", 3),)))
    assert result.tiers[1].moved_in_blocks == 6
    assert result.tiers[1].bytes_in is None


def test_a_move_takes_its_time_and_cannot_be_read_meanwhile() -> None:
    # 10 bytes a block at 5 bytes/s: what came down at second 1 can be read at second 3, not at second 2.
    slow = Tier("cpu", 6, bytes_per_s=5)
    assert below(slow, prompts=[A, B, A]).lost(Loss.NOT_READY).tolist() == [0, 0, 2]
    assert below(slow, prompts=[A, B, B, A]).hit_tokens.tolist() == [0, 0, 2, 2]


def test_a_shared_tier_serves_every_replica_and_keeps_its_copy() -> None:
    # Round robin: A, B on replica 0 (requests 1 and 3), C on replica 1, which then reads A from the shared tier.
    prompts = [A, C, B, A, B, A]
    alone = below(Tier("remote", 9), prompts=prompts, replicas=2)
    shared = below(Tier("remote", 9, shared=True), prompts=prompts, replicas=2)
    assert alone.lost(Loss.OTHER_REPLICA).tolist() == [0, 0, 0, 2, 0, 0]
    assert shared.tier_hit_tokens[3].tolist() == [0, 2]
    assert shared.hit_tokens.tolist() == [0, 0, 0, 2, 2, 2]
    assert shared.tiers[1].capacity_blocks == 9


@pytest.mark.parametrize(
    ("tiers", "why"),
    [
        ((Tier("cpu", 0),), "holds 0 blocks"),
        ((Tier("cpu", 5), Tier("cpu", 9)), "twice"),
        ((Tier("gpu", 5),), "twice"),
        ((Tier("cpu", 5, 0.0),), "positive rate"),
        ((Tier("remote", 5, shared=True), Tier("disk", 9)), "last"),
    ],
)
def test_tiers_that_make_no_sense_are_refused(tiers: tuple[Tier, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        below(*tiers, prompts=[A])


def test_a_rate_needs_the_size_of_a_token() -> None:
    trace = trace_from_tokens([A], times=[0])
    with pytest.raises(UsageError, match="KV bytes per token"):
        replay(trace, ReplaySettings(1, 3, tiers=(Tier("cpu", 3, 100.0),)))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_crowded_tiers_equal_the_slow_twin(seed: int) -> None:
    rng = random.Random(seed)
    log = random_log(rng, 30)
    tiers: tuple[Tier, ...] = (Tier("remote", rng.randint(1, 8), shared=True),)
    if rng.random() < 0.5:
        tiers = (Tier("cpu", rng.randint(1, 4)), *tiers)
    capacity = least_capacity(log, 1) + rng.randint(0, 2)
    replicas = Replicas(rng.randint(1, 2), "random")
    assert_same(*both(log, ReplaySettings(1, capacity, "lru", tiers=tiers, replicas=replicas)))
