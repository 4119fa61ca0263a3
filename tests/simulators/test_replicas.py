"""Who serves a request, and what that costs in hits."""

import numpy as np
import pytest

from analyzers.errors import UsageError
from analyzers.trace import Trace
from simulators.lifecycle import Loss
from simulators.replay import replay
from simulators.replay_settings import ReplaySettings
from simulators.replicas import ROUTINGS, Change, Replicas, Routing, route
from tests.trace_builder import trace_from_tokens

SECOND = 10**9


def conversations(count: int, turns: int) -> Trace:
    """Interleaved conversations of `turns` growing prompts each, one request a second."""
    prompts, sessions = [], []
    for turn in range(1, turns + 1):
        for talk in range(count):
            prompts.append([100 * talk + i for i in range(4 * turn)])
            sessions.append(f"talk {talk}")
    return trace_from_tokens(prompts, times=list(range(len(prompts))), sessions=sessions)


def routes(trace: Trace, replicas: Replicas) -> np.ndarray:
    return replay(trace, ReplaySettings(1, replicas=replicas)).replica


def test_one_replica_is_one_cache() -> None:
    trace = conversations(5, 4)
    alone = replay(trace, ReplaySettings(2, 40)).hit_tokens
    for routing in ROUTINGS:
        assert replay(trace, ReplaySettings(2, 40, replicas=Replicas(1, routing))).hit_tokens.tolist() == (
            alone.tolist()
        )


def test_round_robin_takes_turns_and_tears_conversations_apart() -> None:
    trace = conversations(3, 4)
    result = replay(trace, ReplaySettings(1, replicas=Replicas(2, "round-robin")))
    assert result.replica.tolist() == [0, 1] * 6
    assert result.lost(Loss.OTHER_REPLICA).sum() > 0
    assert result.lost(Loss.EVICTED).sum() == 0


@pytest.mark.parametrize(
    "routing", ["session-hash", "prefix-hash", "consistent-session", "consistent-prefix"]
)
def test_hashing_keeps_a_conversation_together(routing: Routing) -> None:
    trace = conversations(40, 4)
    result = replay(trace, ReplaySettings(1, replicas=Replicas(4, routing, prefix_tokens=4)))
    assert result.lost(Loss.OTHER_REPLICA).sum() == 0
    assert result.hit_tokens.tolist() == result.servable_tokens.tolist()
    assert set(result.replica.tolist()) == {0, 1, 2, 3}


def test_random_routing_is_seeded_and_fair() -> None:
    trace = conversations(100, 10)
    first, again = (routes(trace, Replicas(4, "random", seed=7)) for _ in range(2))
    other = routes(trace, Replicas(4, "random", seed=8))
    assert first.tolist() == again.tolist() != other.tolist()
    assert np.bincount(first, minlength=4).min() > 200


def test_without_a_session_the_prefix_decides() -> None:
    trace = trace_from_tokens([[1, 2], [9, 8], [1, 2]], times=[0, 1, 2], sessions=[None, None, None])
    chosen = routes(trace, Replicas(8, "session-hash"))
    assert chosen[0] == chosen[2]


def test_the_output_does_not_move_a_request() -> None:
    prompts = [[1, 2]] * 30
    outputs = [[100 + i, 200 + i, 300 + i] for i in range(30)]
    trace = trace_from_tokens(prompts, outputs, list(range(30)))
    assert len(set(routes(trace, Replicas(4, "prefix-hash")).tolist())) == 1


def moved(routing: Routing) -> float:
    """Share of conversations served elsewhere after the last of five replicas left."""
    trace = conversations(400, 2)
    leaves = Change(400 * SECOND, 4, False)
    chosen = routes(trace, Replicas(5, routing, changes=(leaves,)))
    before, after = chosen[:400], chosen[400:]
    assert not (after == 4).any()
    return float(np.mean(before != after))


def test_consistent_hashing_moves_only_the_keys_of_the_replica_that_left() -> None:
    trace = conversations(400, 2)
    chosen = routes(trace, Replicas(5, "consistent-session", changes=(Change(400 * SECOND, 4, False),)))
    before, after = chosen[:400], chosen[400:]
    assert (after[before != 4] == before[before != 4]).all()
    assert 0.1 < moved("consistent-session") < 0.3
    assert moved("session-hash") > 0.6


def test_a_replica_that_left_comes_back_empty() -> None:
    trace = trace_from_tokens([[1, 2, 3]] * 3, times=[0, 10, 20])
    changes = (Change(5 * SECOND, 0, False), Change(15 * SECOND, 0, True))
    with pytest.raises(UsageError, match="'r2' comes while there is no replica"):
        replay(trace, ReplaySettings(1, replicas=Replicas(1, changes=changes)))
    late = (Change(12 * SECOND, 0, False), Change(15 * SECOND, 0, True))
    result = replay(trace, ReplaySettings(1, replicas=Replicas(1, changes=late)))
    assert result.hit_tokens.tolist() == [0, 2, 0]
    assert result.counters.lost_with_replicas == 3
    assert result.lost(Loss.OTHER_REPLICA).tolist() == [0, 0, 2]


def test_a_replica_that_joins_first_was_not_there_before() -> None:
    trace = conversations(10, 2)
    chosen = routes(trace, Replicas(2, "round-robin", changes=(Change(10 * SECOND, 1, True),)))
    assert set(chosen[:10].tolist()) == {0}
    assert set(chosen[10:].tolist()) == {0, 1}


def test_prefix_aware_follows_the_prefix() -> None:
    trace = conversations(10, 6)
    result = replay(trace, ReplaySettings(1, replicas=Replicas(3, "prefix-aware", balance=2.0)))
    assert result.hit_tokens.sum() == result.servable_tokens.sum()
    assert len(set(result.replica.tolist())) == 3


def test_prefix_aware_leaves_an_overloaded_replica() -> None:
    # Everyone shares one prefix and brings much of their own: following it blindly would keep one replica busy.
    prompts = [[1, 2, *range(100 * i, 100 * i + 50)] for i in range(1, 40)]
    trace = trace_from_tokens(prompts, times=[i / 10 for i in range(39)])
    chosen = routes(trace, Replicas(3, "prefix-aware", balance=1.0))
    assert np.bincount(chosen, minlength=3).min() >= 10
    blind = routes(trace, Replicas(3, "prefix-aware", balance=1000.0))
    assert np.bincount(blind, minlength=3).max() >= 36


@pytest.mark.parametrize(
    "wrong",
    [
        Replicas(0),
        Replicas(2, "nearest"),  # type: ignore[arg-type]
        Replicas(2, balance=0.5),
        Replicas(2, half_life_s=0),
        Replicas(2, changes=(Change(0, 2, False),)),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: Replicas) -> None:
    with pytest.raises(UsageError):
        replay(conversations(1, 1), ReplaySettings(1, replicas=wrong))


def test_routes_do_not_depend_on_the_process() -> None:
    # The hash is BLAKE2b of the key, not Python's own, which differs from run to run.
    trace = conversations(12, 1)
    keys = np.arange(12, dtype=np.int64)
    chosen = route(Replicas(4, "session-hash"), trace, trace.requests.time_ns, keys)
    assert chosen.tolist() == [0, 1, 1, 2, 2, 1, 1, 1, 1, 2, 1, 3]
