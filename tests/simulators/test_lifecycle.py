"""The states of an entry, and what failures do."""

import numpy as np
import pytest

from analyzers.errors import UsageError
from simulators.concurrency import Concurrency
from simulators.kernels.places import entry_state
from simulators.lifecycle import EntryState, Failures, Loss
from simulators.policies import LRU
from simulators.policies.store import make_store
from simulators.replay import ReplayResult, replay
from simulators.replay_settings import ReplaySettings
from simulators.tiers import Tier
from tests.trace_builder import trace_from_tokens

A, B = [1, 2, 3], [4, 5, 6]


def test_the_states_of_an_entry() -> None:
    slots = make_store(1, 1, [4, 4], None, LRU).slots
    assert entry_state(slots, 0, 10) == EntryState.ABSENT
    slots[0]["tier"], slots[0]["ready_ns"] = 0, 20
    assert entry_state(slots, 0, 19) == EntryState.BUILDING
    assert entry_state(slots, 0, 20) == EntryState.READY
    slots[0]["tier"], slots[0]["ready_ns"] = 1, 30
    assert entry_state(slots, 0, 29) == EntryState.EVICTING
    assert entry_state(slots, 0, 30) == EntryState.READY


def with_failures(failures: Failures, prompts: list[list[int]]) -> ReplayResult:
    trace = trace_from_tokens(prompts, times=list(range(len(prompts))))
    tiers = (Tier("cpu", 6, bytes_per_s=100),)
    settings = ReplaySettings(1, 3, tiers=tiers, bytes_per_token=10, failures=failures)
    return replay(trace, settings)


def test_a_failed_write_is_never_read() -> None:
    result = with_failures(Failures(write=1.0), [A, A, A])
    assert result.hit_tokens.tolist() == [0, 0, 0]
    assert result.lost(Loss.FAILED).tolist() == [0, 2, 2]
    assert result.counters.failed_writes == 6


def test_a_failed_write_can_be_in_the_way_of_those_who_wait() -> None:
    trace = trace_from_tokens([A, A], times=[0, 1])
    settings = ReplaySettings(
        1, concurrency=Concurrency("prefill", 1.0, single_flight=True), failures=Failures(write=1.0)
    )
    result = replay(trace, settings)
    assert result.waited_ns.tolist() == [0, 2 * 10**9]
    assert result.lost(Loss.FAILED).tolist() == [0, 2]


def test_a_lost_restore_falls_back_to_prefill() -> None:
    result = with_failures(Failures(restore=1.0), [A, B, A])
    assert result.hit_tokens.tolist() == [0, 0, 0]
    assert result.lost(Loss.FAILED).tolist() == [0, 0, 2]
    assert result.counters.failed_restores == 1
    # What is computed again is there again, in the fastest tier.
    assert with_failures(Failures(restore=1.0), [A, B, A, A]).hit_tokens.tolist() == [0, 0, 0, 2]


def test_a_late_restore_falls_back_to_prefill_from_there_on() -> None:
    # A block takes 0.1 s: one is in time for a deadline of 0.15 s, the second is late.
    result = with_failures(Failures(restore_deadline_s=0.15), [A, B, A])
    assert result.hit_tokens.tolist() == [0, 0, 1]
    assert result.lost(Loss.FAILED).tolist() == [0, 0, 1]
    assert result.counters.late_restores == 1
    assert with_failures(Failures(restore_deadline_s=0.2), [A, B, A]).hit_tokens.tolist() == [0, 0, 2]


def test_the_same_seed_fails_the_same_way() -> None:
    prompts = [A, B] * 20
    some = [with_failures(Failures(0.3, 0.3, seed=seed), prompts).hit_tokens.tolist() for seed in (1, 1, 2)]
    assert some[0] == some[1] != some[2]


def test_the_share_of_failing_writes_is_as_asked() -> None:
    failing = Failures(write=0.25, seed=3).failing_writes(100_000)
    assert abs(float(np.mean(failing)) - 0.25) < 0.01


@pytest.mark.parametrize(
    "wrong", [Failures(write=1.5), Failures(restore=-0.1), Failures(restore_deadline_s=-1)]
)
def test_impossible_failures_are_refused(wrong: Failures) -> None:
    with pytest.raises(UsageError):
        with_failures(wrong, [A])
