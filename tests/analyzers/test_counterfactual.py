"""What taking a breaker out recovers, beside the same log written without it."""

import itertools
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.continuation import Continuations, common_prefix
from analyzers.counterfactual import Counterfactual, take_out
from analyzers.counterfactual_remedies import Remedy
from analyzers.divergence import Slot
from analyzers.divergences import find_divergences
from analyzers.logs import read_log
from analyzers.pipeline import TracedLog, TraceOptions, trace_log
from analyzers.reuse import reusable_depth
from analyzers.slots import find_slots
from analyzers.usage_record import usage_record
from benchmarks.breakers import run
from tests.analyzers.tokenizer_builder import byte_level

RULES = [
    f"{n}. In case {n} quote the order, name the depot and answer in the short form." for n in range(1, 31)
]
TOOLS = [
    {
        "type": "function",
        "function": {"name": f"tool_{c}", "description": f"Looks up {c} by its number and tells the state.", "parameters": {"type": "object", "properties": {c: {"type": "string"}}}},
    }
    for c in "abcde"
]  # fmt: skip

Body = dict[str, Any]


@dataclass(frozen=True)
class Told:
    slots: list[Slot]
    outcome: Counterfactual
    computed: int


Tell = Callable[..., Told]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Tell:
    """From request bodies (and fields of their rows) to what is told of their log, with a small vocabulary."""
    folder = tmp_path_factory.mktemp("counterfactual")
    vocabulary = str(byte_level(folder / "tokenizer.json"))
    return lambda bodies, **fields: _told(folder / "log.jsonl", vocabulary, bodies, fields)


def _told(
    path: Path, vocabulary: str, bodies: Sequence[Body], fields: dict[str, Callable[[int], str]]
) -> Told:
    lines = [
        json.dumps(
            {
                "id": f"r{i}",
                "timestamp": f"2026-10-05T09:{i // 60:02}:{i % 60:02}Z",
                **{name: of(i) for name, of in fields.items()},
                "request": {"model": "gpt-4.1", **body},
            }
        )
        for i, body in enumerate(bodies)
    ]
    path.write_text("\n".join(lines))
    traced = trace_log(read_log([str(path)]), TraceOptions(answers=False, tokenizer=vocabulary))
    divergences = find_divergences(traced, usage_record(traced))
    slots = find_slots(traced, divergences)
    depth, _ = reusable_depth(traced.trace.tree, traced.trace.requests.leaf)
    computed = int(traced.trace.requests.prompt_tokens.sum() - depth.sum())
    return Told(slots, take_out(traced, divergences, slots), computed)


def asked(system: str, question: int, **body: Any) -> Body:
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": f"Where is parcel {question}?"},
    ]
    return {"messages": messages, **body}


def with_line(at: int, line: str) -> str:
    return "\n".join([*RULES[:at], line, *RULES[at:]])


@settings(max_examples=12, deadline=None)
@given(at=st.integers(0, 24), requests=st.integers(3, 8), seed=st.integers(0, 99))
def test_moving_a_value_recovers_what_leaving_it_out_would(
    told: Tell, at: int, requests: int, seed: int
) -> None:
    chance = random.Random(seed)
    values = [f"{chance.getrandbits(64):016x}" for _ in range(requests)]
    broken = told([asked(with_line(at, f"Request {v}"), i) for i, v in enumerate(values)])
    without = told([asked(with_line(at, "Request "), i) for i in range(requests)])
    (recovered,) = broken.outcome.recovered
    assert recovered.remedy is Remedy.MOVE_TO_NEWEST
    assert recovered.gain_tokens == broken.computed - without.computed - recovered.moved_tokens
    assert broken.outcome.reusable_tokens_after == without.outcome.reusable_tokens


def test_sorting_tools_recovers_what_one_order_would(told: Tell) -> None:
    orders = list(itertools.permutations(TOOLS))[:12]
    shuffled = told([asked(RULES[0], i, tools=list(tools)) for i, tools in enumerate(orders)])
    ordered = told([asked(RULES[0], i, tools=TOOLS) for i in range(12)])
    (recovered,) = shuffled.outcome.recovered
    assert recovered.remedy is Remedy.SORT
    assert recovered.gain_tokens == shuffled.computed - ordered.computed


def test_keys_in_one_order_recover_what_the_first_order_would(told: Tell) -> None:
    def tool(i: int) -> Body:
        members = list(TOOLS[0]["function"].items())
        return {"type": "function", "function": dict(members[i % 3 :] + members[: i % 3])}

    shuffled = told([asked("\n".join(RULES), i, tools=[tool(i), TOOLS[1]]) for i in range(6)])
    ordered = told([asked("\n".join(RULES), i, tools=[tool(0), TOOLS[1]]) for i in range(6)])
    assert shuffled.outcome.gain_tokens == shuffled.computed - ordered.computed > 0


def test_a_breaker_behind_another_gains_only_when_that_one_is_gone(told: Tell) -> None:
    def system(i: int) -> str:
        return "\n".join(
            [f"Request {i * 7919:08x}ab", *RULES[:10], f"Now: 2026-10-05T09:00:{i:02}Z", *RULES[10:]]
        )

    outcome = told([asked(system(i), i) for i in range(8)]).outcome
    first, second = outcome.recovered
    assert second.gain_tokens == 0 < second.marginal_gain_tokens
    assert first.marginal_gain_tokens == first.gain_tokens > 0
    assert outcome.gain_tokens == first.marginal_gain_tokens + second.marginal_gain_tokens


def with_every_kind_of_breaker(requests: int, planted: bool, seed: int) -> list[Body]:
    """Every kind of breaker in one prompt, the worst in front; with `planted` false the same without values."""
    chance = random.Random(seed)

    def body(i: int) -> Body:
        tools = [dict(tool, function=dict(tool["function"])) for tool in TOOLS]
        lines = list(RULES)
        if planted:
            chance.shuffle(tools)
            for tool in tools:
                members = list(tool["function"].items())
                chance.shuffle(members)
                tool["function"] = dict(members)
        for at, name, line in (
            (28, "Noted", f"turn {i}"),
            (
                20,
                "Weather report",
                f"{chance.choice(['sunny', 'cloudy', 'rainy', 'windy'])} at {i + 10} degrees",
            ),
            (12, "Signed in", f"user-{chance.randrange(3):04x}"),
            (4, "Now", f"2026-10-05T09:{chance.randrange(60):02}:{i:02}Z"),
            (0, "Request", f"{chance.getrandbits(64):016x}"),
        ):
            lines.insert(at, f"{name}: {line if planted else ''}")
        return asked("\n".join(lines), i, tools=tools)

    return [body(i) for i in range(requests)]


@pytest.mark.parametrize("seed", [5, 6, 9])
def test_breakers_that_gain_only_together_are_all_taken_out(told: Tell, seed: int) -> None:
    broken = told(with_every_kind_of_breaker(24, True, seed))
    without = told(with_every_kind_of_breaker(24, False, seed))
    moved = sum(recovered.moved_tokens for recovered in broken.outcome.recovered)
    assert broken.outcome.gain_tokens + moved >= 0.999 * (broken.computed - without.computed) > 0
    assert moved <= 0.03 * (broken.computed - without.computed)


def test_what_fixes_gain_does_not_depend_on_the_requests_that_were_compared(
    told: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbours that share a value by chance show less of it than others do."""
    bodies = with_every_kind_of_breaker(24, True, 6)
    expected = told(bodies).outcome
    for seed in range(3):
        chance = random.Random(seed)

        def any_earlier(traced: TracedLog, chance: random.Random = chance) -> Continuations:
            others = np.array([-1, *(chance.randrange(row) for row in range(1, 24))], np.int32)
            prompt = traced.sequences.totals()
            shared = np.where(others >= 0, np.minimum(prompt, prompt[others]), 0)
            return Continuations(others, shared, common_prefix(traced, others))

        monkeypatch.setattr("analyzers.divergences.find_continuations", any_earlier)
        outcome = told(bodies).outcome
        assert outcome.gain_tokens == expected.gain_tokens
        gains = [sorted(r.marginal_gain_tokens for r in o.recovered) for o in (outcome, expected)]
        assert gains[0] == gains[1]


def test_a_value_whose_halves_vary_by_themselves_is_moved_whole(told: Tell) -> None:
    """Of two requests with one weather the comparison shows the degrees alone; the weather must go too."""
    weather = ["sunny", "sunny", "rainy", "rainy", "sunny", "rainy", "rainy", "sunny"]
    broken = told(
        [asked(with_line(9, f"Weather: {w} at {i + 10} degrees"), i) for i, w in enumerate(weather)]
    )
    without = told([asked(with_line(9, "Weather:  degrees"), i) for i in range(len(weather))])
    (recovered,) = broken.outcome.recovered
    assert recovered.gain_tokens == broken.computed - without.computed - recovered.moved_tokens


def test_a_history_left_alone_recovers_what_appending_would(told: Tell) -> None:
    def turns(first: int, last: int) -> list[dict[str, str]]:
        return [
            {
                "role": role,
                "content": f"Turn {n}: the {role} tells of depot {n} and its parcels at some length.",
            }
            for n in range(first, last)
            for role in ("user", "assistant")
        ]

    def body(messages: list[dict[str, str]]) -> Body:
        return {"messages": [{"role": "system", "content": RULES[0]}, *messages]}

    sliding = told([body(turns(n, n + 6)[:-1]) for n in range(5)])
    growing = told([body(turns(0, n + 6)[:-1]) for n in range(5)])
    (recovered,) = sliding.outcome.recovered
    assert recovered.remedy is Remedy.KEEP_HISTORY
    assert recovered.gain_tokens == sliding.computed - growing.computed > 0
    assert recovered.added_tokens == growing.outcome.prompt_tokens - sliding.outcome.prompt_tokens
    assert any("grow" in caveat for caveat in recovered.caveats)


def test_a_value_of_one_user_moves_behind_and_carries_a_warning(told: Tell) -> None:
    def system(i: int) -> str:
        return "\n".join([f"Account {('Fernhill', 'Oakdale')[i % 2]} Parts", *RULES])

    shared = [asked(system(i), i, user=("fern", "oak")[i % 2]) for i in range(12)]
    (recovered,) = told(shared).outcome.recovered
    assert recovered.remedy is Remedy.MOVE_BEHIND_PART
    assert any("one user" in caveat for caveat in recovered.caveats)


def test_a_value_that_was_shown_whole_and_in_part_moves_once(told: Tell) -> None:
    accounts = ["Fernhill 17", "Fernhill 25", "Oakdale 36"]

    def outcome(system: Callable[[str], str]) -> Counterfactual:
        bodies = [asked(system(accounts[i % 3]), i, user=accounts[i % 3]) for i in range(12)]
        return told(bodies).outcome

    broken = outcome(lambda account: with_line(3, f"Account: {account}"))
    behind = outcome(lambda account: with_line(3, "Account: ") + f"\n{account}")
    assert broken.prompt_tokens_after == behind.prompt_tokens
    assert broken.reusable_tokens_after == behind.reusable_tokens > broken.reusable_tokens


def test_no_fix_shares_across_namespaces(told: Tell) -> None:
    def system(i: int) -> str:
        return "\n".join([f"Account {('Fernhill', 'Oakdale')[i % 2]} Parts", *RULES])

    shared = [asked(system(i), i) for i in range(12)]
    outcome = told(shared, tenant_id=lambda i: ("fern", "oak")[i % 2]).outcome
    assert outcome.gain_tokens == 0
    assert outcome.reusable_tokens_after == outcome.reusable_tokens


def test_a_fix_recovers_what_each_tenant_could_reuse_of_its_own(told: Tell) -> None:
    def tenant(i: int) -> str:
        return ("fern", "oak", "elm")[i % 3]

    ids = [f"Request {i * 7919:08x}ab" for i in range(12)]
    broken = told([asked(with_line(3, line), i) for i, line in enumerate(ids)], tenant_id=tenant)
    without = told([asked(with_line(3, "Request "), i) for i in range(12)], tenant_id=tenant)
    assert broken.outcome.prompt_tokens - broken.outcome.reusable_tokens == broken.computed
    after = broken.outcome.prompt_tokens_after - broken.outcome.reusable_tokens_after
    assert after == without.computed + sum(r.moved_tokens for r in broken.outcome.recovered)


def test_a_healthy_log_has_nothing_to_recover(told: Tell) -> None:
    messages = [{"role": "system", "content": with_line(0, "Today is 5 October 2026. Request 7f3a99c0.")}]
    bodies = []
    for turn in range(6):
        messages = [*messages, {"role": "user", "content": f"Question {turn} of 2026-10-0{turn + 1}"}]
        bodies.append({"messages": messages})
        messages = [*messages, {"role": "assistant", "content": f"Answer {turn}"}]
    outcome = told(bodies).outcome
    assert outcome.recovered == ()
    assert outcome.gain_tokens == 0


def test_planted_breakers_are_all_found_and_their_fixes_recover_the_possible_gain(tmp_path: Path) -> None:
    result = run(tmp_path, requests=1600, seed=1)
    assert result.recall == 1
    assert result.false_alarms == ()
    assert result.share >= 0.95
