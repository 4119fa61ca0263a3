"""Where markers should stand, on logs whose answer is plain, and beside every other choice of spots."""

from itertools import combinations

import pytest

from analyzers.errors import CannotEvaluateError
from simulators.marker_placement import Spot, _Habit, best_placement, costs_of, spot_depths
from simulators.providers.replay import replay
from simulators.providers.rules import load_rule_book
from tests.simulators.provider_logs import Sent, trace_of

BOOK = load_rule_book()
FIVE = 300


def placed(requests: list[Sent], model: str = "claude-opus-5", provider: str = "anthropic"):
    return best_placement(trace_of(requests, model, provider), BOOK)


ONE_QUESTION_EACH = [Sent(f"T S question{n}", {2: FIVE}, at=5 * n) for n in range(6)]
ONE_CONVERSATION = [
    Sent(" ".join(["T", "S", *(f"m{d}" for d in range(2 * n + 1))]), at=9 * n) for n in range(6)
]


def test_what_varies_gets_no_marker_and_what_stays_gets_one() -> None:
    found = placed(ONE_QUESTION_EACH)
    assert found.spots == (Spot.SYSTEM,)
    assert found.logged.read == 0
    assert found.placed.read == 5 * 2000
    assert found.saved == pytest.approx(found.logged.price - found.placed.price)
    assert found.saved > 0


def test_a_shared_first_block_is_marked_though_its_message_varies() -> None:
    trace = trace_of([Sent(f"rubric answer{n}", {1: FIVE}, at=5 * n) for n in range(4)])
    for index, path in enumerate(trace.paths):
        number, block = path.removeprefix("messages[").split("].content[")
        assert block == "0]"
        trace.paths[index] = f"messages[0].content[{number}]"
    found = best_placement(trace, BOOK)
    assert found.spots == (Spot.FIRST_BLOCK,)
    assert found.placed.read == 3 * 1000


def test_a_conversation_is_marked_at_its_newest_message() -> None:
    found = placed(ONE_CONVERSATION)
    assert found.spots[0] is Spot.NEWEST
    assert found.placed.read == sum(2000 + 1000 * (2 * n + 1) for n in range(5))


def test_no_habit_beats_the_one_found() -> None:
    """Greedy against all choices of up to three spots."""
    requests = sorted([*ONE_QUESTION_EACH, *ONE_CONVERSATION], key=lambda sent: sent.at)
    trace = trace_of(requests)
    found = best_placement(trace, BOOK)
    depths = spot_depths(trace)
    known = {spot for places in depths for spot in places}
    for size in range(4):
        for spots in combinations(sorted(known), size):
            habit = _Habit(spots=spots, lifetime=FIVE, depths=depths)
            assert found.placed.price <= costs_of(replay(trace, BOOK, what_if=habit)).price


def test_markers_beyond_the_look_back_find_help_further_back() -> None:
    wide = [" ".join(f"w{t}_{n}" for n in range(24)) for t in range(4)]
    requests = [Sent("S " + " ".join(wide[: t + 1]), at=9 * t) for t in range(4)]
    found = placed(requests)
    assert found.placed.read == sum(1000 * (1 + 24 * t) for t in range(1, 4))
    assert len(found.spots) > 1


def test_prompts_below_the_minimum_get_no_markers() -> None:
    small = {"S": 20, **{f"q{n}": 10 for n in range(4)}}
    found = placed([Sent(f"S q{n}", at=n, sizes=small) for n in range(4)])
    assert found.spots == ()
    assert found.placed.read == 0


def test_pauses_longer_than_the_short_lifetime_call_for_the_long_one() -> None:
    found = placed([Sent(f"S q{n}", at=900 * n, sizes={"S": 9000}) for n in range(6)])
    assert (found.spots, found.ttl_s) == ((Spot.SYSTEM,), 3600)
    assert found.placed.read == 5 * 9000


def test_a_provider_without_markers_is_said_to_have_none() -> None:
    with pytest.raises(CannotEvaluateError, match="no markers"):
        placed(ONE_QUESTION_EACH, "deepseek-chat", "deepseek")
