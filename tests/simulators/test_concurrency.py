"""When entries become readable, and who computes them twice."""

import pytest

from analyzers.errors import CannotEvaluateError, UsageError
from simulators.concurrency import Concurrency
from simulators.lifecycle import Loss
from simulators.replay import ReplayResult, replay
from simulators.replay_settings import ReplaySettings
from tests.trace_builder import trace_from_tokens

PROMPT = [1, 2, 3, 4]


def five_at_once(concurrency: Concurrency, capacity: int | None = None) -> ReplayResult:
    """Five calls within 160 ms, the first token of the first after 1.8 s, and one call after all of it."""
    times = [0, 0.04, 0.08, 0.12, 0.16, 9.0]
    trace = trace_from_tokens(
        [[*PROMPT, 10 + i] for i in range(6)],
        times=times,
        first_token_times=[t + 1.8 for t in times],
        end_times=[t + 4 for t in times],
    )
    return replay(trace, ReplaySettings(1, capacity, concurrency=concurrency))


def test_readable_at_once_lets_all_but_the_first_hit() -> None:
    assert five_at_once(Concurrency()).hit_tokens.tolist() == [0, 4, 4, 4, 4, 4]


def test_a_stampede_computes_the_prefix_five_times() -> None:
    result = five_at_once(Concurrency("first-token"))
    assert result.hit_tokens.tolist() == [0, 0, 0, 0, 0, 4]
    assert result.lost(Loss.NOT_READY).tolist() == [0, 4, 4, 4, 4, 0]
    assert result.counters.duplicate_prefills == 16
    assert not result.waited_ns.any()


def test_single_flight_computes_it_once_and_waits() -> None:
    result = five_at_once(Concurrency("first-token", single_flight=True))
    assert result.hit_tokens.tolist() == [0, 4, 4, 4, 4, 4]
    assert result.counters.duplicate_prefills == 0
    assert (result.waited_ns / 1e9).tolist() == pytest.approx([0, 1.76, 1.72, 1.68, 1.64, 0])


def test_prefill_time_follows_the_tokens_to_compute() -> None:
    # 5 tokens at 50 tokens/s are ready after 0.1 s: the calls at 0.04 and 0.08 come too early.
    result = five_at_once(Concurrency("prefill", 50.0))
    assert result.hit_tokens.tolist() == [0, 0, 0, 4, 4, 4]


def test_the_earliest_of_duplicate_builds_counts() -> None:
    # Only the first tokens say when: those of the later calls do not put off the first one's entry.
    times = [0, 1, 2.5]
    trace = trace_from_tokens([[*PROMPT, 10 + i] for i in range(3)], times=times, first_token_times=[2, 8, 9])
    result = replay(trace, ReplaySettings(1, concurrency=Concurrency("first-token")))
    assert result.hit_tokens.tolist() == [0, 0, 4]


def test_readable_only_after_the_response() -> None:
    times = [0, 3, 5]
    trace = trace_from_tokens([[*PROMPT, 10 + i] for i in range(3)], times=times, end_times=[4, 7, 9])
    result = replay(trace, ReplaySettings(1, concurrency=Concurrency("end")))
    assert result.hit_tokens.tolist() == [0, 0, 4]


def test_what_is_being_built_is_not_evicted() -> None:
    # Room for two of the prompts: the third finds it taken by builds and keeps only what fits.
    trace = trace_from_tokens([[1, 2], [3, 4], [5, 6], [5, 9]], times=[0, 0, 0, 20])
    result = replay(trace, ReplaySettings(1, 4, concurrency=Concurrency("prefill", 1.0)))
    assert result.counters.not_kept == 2
    assert result.lost(Loss.EVICTED).tolist() == [0, 0, 0, 1]


def test_a_log_without_first_tokens_needs_a_rate() -> None:
    trace = trace_from_tokens([PROMPT, PROMPT], times=[0, 1])
    with pytest.raises(CannotEvaluateError, match="first token"):
        replay(trace, ReplaySettings(1, concurrency=Concurrency("first-token")))
    with_rate = ReplaySettings(1, concurrency=Concurrency("first-token", 100.0))
    assert replay(trace, with_rate).hit_tokens.tolist() == [0, 3]
    with pytest.raises(CannotEvaluateError, match="end"):
        replay(trace, ReplaySettings(1, concurrency=Concurrency("end", 100.0)))


@pytest.mark.parametrize(
    "wrong",
    [
        Concurrency("later"),  # type: ignore[arg-type]
        Concurrency("prefill"),
        Concurrency("prefill", 0.0),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: Concurrency) -> None:
    with pytest.raises(UsageError):
        five_at_once(wrong)
