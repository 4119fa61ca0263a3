"""What each policy keeps, by hand on small logs; Belady against every possible choice of evictions."""

import random
from functools import cache
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import UsageError
from simulators.policies import POLICIES, structures
from simulators.policies.lifetime import Lifetime
from simulators.policies.priority import PriorityRule
from simulators.replay import ReplayResult, replay
from simulators.replay_settings import ReplaySettings
from tests.simulators.replay_scenarios import least_capacity, random_log
from tests.simulators.slow_replay import Block
from tests.trace_builder import trace_from_tokens


def hits(prompts: list[list[int]], policy: str, capacity: int) -> list[int]:
    """Hit tokens with blocks of one token. Each prompt ends in a token nobody shares, which is never a hit."""
    return replay(trace_from_tokens(prompts), ReplaySettings(1, capacity, policy)).hit_tokens.tolist()


def test_fifo_ignores_use_and_lru_does_not() -> None:
    # One-token prompts fill the cache; 1 is used again (by 1, 7) before 3 has to make room.
    prompts = [[1], [2], [1, 7], [3], [4], [1, 8]]
    assert hits(prompts, "lru", 4) == [0, 0, 1, 0, 0, 1]
    assert hits(prompts, "fifo", 4) == [0, 0, 1, 0, 0, 0]


def test_lfu_keeps_what_was_served_often() -> None:
    often = [[1, 10], [1, 11], [1, 12]]
    once = [[20 + i, 30 + i] for i in range(3)]
    assert hits([*often, *once, [1, 13]], "lfu", 3)[-1] == 1
    assert hits([*often, *once, [1, 13]], "lru", 3)[-1] == 0


def test_lfu_counts_no_service_that_did_not_happen() -> None:
    # [5] is computed three times (a prompt's last token is), so it counts as written once; [1] was served once.
    prompts = [[5], [5], [5], [1], [1, 2], [7], [8], [1, 3], [5, 9]]
    assert hits(prompts, "lfu", 4)[-2:] == [1, 0]


def test_size_aware_keeps_the_long_prefix() -> None:
    long, short = [1, 2, 3, 4, 5, 6], [7, 8]
    trace = trace_from_tokens([long, short, [20, 21], [*long, 9], [*short, 9]])
    aware = ReplaySettings(1, 8, "size-aware", attention_equals_rest=3)
    assert replay(trace, aware).hit_tokens.tolist()[3] == 6
    assert replay(trace, ReplaySettings(1, 8, "lru")).hit_tokens.tolist()[3] < 6


def test_size_aware_lets_dear_entries_age() -> None:
    long = [1, 2, 3, 4, 5, 6]
    others = [[20 + 2 * i, 21 + 2 * i] for i in range(12)]
    trace = trace_from_tokens([long, *others, [*long, 9]])
    aged = replay(trace, ReplaySettings(1, 8, "size-aware", attention_equals_rest=3))
    assert aged.hit_tokens[-1] < 6


def by_class(*rules: PriorityRule, capacity: int = 4) -> ReplayResult:
    trace = trace_from_tokens(
        [[1, 2], [3, 4], [5, 6], [1, 9], [3, 9]], tenants=["gold", "free", "free", "gold", "free"]
    )
    return replay(trace, ReplaySettings(1, capacity, "priority", priorities=rules))


def test_a_higher_class_outlives_a_lower_one() -> None:
    assert by_class().hit_tokens.tolist() == [0, 0, 0, 0, 0]
    assert by_class(PriorityRule("tenant", "gold", 1)).hit_tokens.tolist() == [0, 0, 0, 1, 0]


def test_pins_hold_until_nothing_else_can_go() -> None:
    gold, free = PriorityRule("tenant", "gold", pinned=True), PriorityRule("tenant", "free", pinned=True)
    assert by_class(gold).hit_tokens.tolist() == [0, 0, 0, 1, 0]
    assert by_class(gold, capacity=5).counters.pins_broken == 0
    assert by_class(gold, free).counters.pins_broken > 0


def test_a_priority_names_something_there_is() -> None:
    with pytest.raises(UsageError, match="tenant 'silver', which no request"):
        by_class(PriorityRule("tenant", "silver", 1))
    with pytest.raises(UsageError, match="colour"):
        by_class(PriorityRule("colour", "red", 1))
    with pytest.raises(UsageError, match="out of range"):
        by_class(PriorityRule("tenant", "gold", -1))


def test_s3_fifo_lets_a_scan_pass_by() -> None:
    often = [[1, 10], [1, 11], [1, 12]]
    scan = [[20 + i, 50 + i] for i in range(12)]
    prompts = [*often, *scan, [1, 13]]
    assert hits(prompts, "s3-fifo", 10)[-1] == 1
    assert hits(prompts, "lru", 10)[-1] == 0
    assert hits(prompts, "fifo", 10)[-1] == 0


def test_arc_keeps_what_was_served_from_a_scan() -> None:
    often = [[1, 10], [1, 11]]
    scan = [[20 + i, 50 + i] for i in range(12)]
    assert hits([*often, *scan, [1, 13]], "arc", 6)[-1] == 1
    assert hits([*often, *scan, [1, 13]], "lru", 6)[-1] == 0


def test_a_lifetime_from_creation_is_not_put_off() -> None:
    trace = trace_from_tokens([[1, 2]] * 4, times=[0, 4, 8, 12])
    created = ReplaySettings(1, lifetime=Lifetime(5, "creation"))
    assert replay(trace, created).hit_tokens.tolist() == [0, 1, 0, 1]
    used = ReplaySettings(1, lifetime=Lifetime(5, "last-use"))
    assert replay(trace, used).hit_tokens.tolist() == [0, 1, 1, 1]


def test_a_longer_lifetime_from_creation_can_hit_less() -> None:
    trace = trace_from_tokens([[1, 2]] * 3, times=[0, 6, 10])
    total = {
        ttl: replay(trace, ReplaySettings(1, lifetime=Lifetime(ttl, "creation"))).hit_tokens.tolist()
        for ttl in (5, 9)
    }
    assert total == {5: [0, 0, 1], 9: [0, 1, 0]}


def test_a_lifetime_by_hits_grows_with_use() -> None:
    # After ten uses the lifetime has doubled: 1 + log10(10).
    times = [*range(10), 9 + 18, 9 + 18 + 25]
    trace = trace_from_tokens([[1, 2]] * 12, times=times)
    result = replay(trace, ReplaySettings(1, lifetime=Lifetime(10, "hits")))
    assert result.hit_tokens.tolist() == [0] + [1] * 10 + [0]


def test_an_entry_is_read_at_the_very_end_of_its_lifetime() -> None:
    trace = trace_from_tokens([[1, 2]] * 3, times=[0, 5, 10.1])
    assert replay(trace, ReplaySettings(1, lifetime=Lifetime(5))).hit_tokens.tolist() == [0, 1, 0]


def test_many_requests_at_one_moment_do_not_lose_an_end_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structures, "SPARE", 1)
    crowd = [[1, 2, 3, 4]] * 40
    trace = trace_from_tokens([[7, 8], *crowd, [7, 9]], times=[0] * 41 + [10])
    result = replay(trace, ReplaySettings(1, lifetime=Lifetime(5)))
    assert result.hit_tokens.tolist() == [0, 0] + [3] * 39 + [0]
    assert result.counters.expired == 6


def test_expired_entries_take_no_room() -> None:
    # At 20 the pair of 0 has expired, so the one of 10 need not go although LFU would prefer it.
    trace = trace_from_tokens([[1, 2], [1, 2], [3, 4], [5, 6], [3, 9]], times=[0, 1, 10, 20, 21])
    result = replay(trace, ReplaySettings(1, 4, "lfu", Lifetime(15)))
    assert result.hit_tokens.tolist() == [0, 1, 0, 0, 1]
    assert result.counters.expired == 2


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_choice_of_evictions_beats_belady(seed: int) -> None:
    rng = random.Random(seed)
    log = random_log(rng, 7)
    size = rng.choice([1, 2, 3])
    capacity = least_capacity(log, size) + rng.randint(0, 2)
    best = best_possible(
        tuple(
            tuple(p + (o[:-1] if log.outputs_known else []))
            for p, o in zip(log.prompts, log.outputs, strict=True)
        ),
        tuple(map(len, log.prompts)),
        tuple(
            -(-(len(p) + max(len(o) - 1, 0)) // size) for p, o in zip(log.prompts, log.outputs, strict=True)
        ),
        size,
        capacity,
    )
    found = replay(log.trace(), ReplaySettings(size, capacity, "belady")).hit_tokens.sum()
    assert found == best * size


def best_possible(
    ids: tuple[tuple[int, ...], ...],
    prompts: tuple[int, ...],
    occupied: tuple[int, ...],
    size: int,
    capacity: int,
) -> int:
    """Most hit blocks of all ways to keep any subset of the other blocks beside each running request."""
    blocks = [[tuple(i[: e * size]) for e in range(1, len(i) // size + 1)] for i in ids]

    @cache
    def from_here(request: int, kept: frozenset[Block]) -> int:
        if request == len(ids):
            return 0
        own = blocks[request]
        served = 0
        while served < (prompts[request] - 1) // size and own[served] in kept:
            served += 1
        others = sorted(kept - set(own))
        room = min(len(others), capacity - occupied[request])
        return served + max(
            from_here(request + 1, frozenset(own) | frozenset(chosen))
            for chosen in combinations(others, room)
        )

    return from_here(0, frozenset())


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), policy=st.sampled_from(list(POLICIES)))
def test_no_policy_beats_belady(seed: int, policy: str) -> None:
    rng = random.Random(seed)
    log = random_log(rng)
    size = rng.choice([1, 2])
    capacity = least_capacity(log, size) + rng.randint(0, 5)
    best = replay(log.trace(), ReplaySettings(size, capacity, "belady")).hit_tokens.sum()
    assert replay(log.trace(), ReplaySettings(size, capacity, policy)).hit_tokens.sum() <= best


def test_belady_of_equal_reach_keeps_the_root() -> None:
    assert hits([[1, 2, 3], [7, 8], [1, 2, 9]], "belady", 4) == [0, 0, 2]
    assert hits([[1, 2, 3], [7, 8], [1, 2, 9]], "belady", 3) == [0, 0, 1]
