"""Misses with an equal prefix: time, identity, parameters and markers, on small logs of our own."""

from pathlib import Path
from typing import Any

import pytest

from analyzers.breakers import Breaker, breakers_of
from analyzers.misses import MissCause
from tests.analyzers.chat_log import RULES, evidence_of

Rows = list[dict[str, Any]]
MARK = {"type": "ephemeral"}


def call(
    second: float,
    *,
    read: int,
    written: int,
    messages: int = 1,
    fresh: int = 4,
    marks: tuple[int, ...] | None = None,
    name: str | None = None,
    first_token: float | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """An Anthropic call whose system text and, by default, newest message carry a marker. `fields` go into the body
    when they are parameters of it and beside it otherwise."""
    body: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[n % 2], "content": [{"type": "text", "text": f"Line {n}."}]}
        for n in range(messages)
    ]
    for index in (messages - 1,) if marks is None else marks:
        body[index]["content"][0]["cache_control"] = MARK
    inside = {k: fields.pop(k) for k in ("thinking", "tool_choice") if k in fields}
    row: dict[str, Any] = {
        "id": name or f"call at {second:g}",
        "timestamp": 1_790_000_000 + second,
        "provider": "anthropic",
        "request": {
            "model": "claude-sonnet-4-5",
            "system": [{"type": "text", "text": RULES, "cache_control": MARK}],
            "messages": body,
            **inside,
        },
        "usage": {
            "input_tokens": fresh,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
        },
        **fields,
    }
    if first_token is not None:
        row["first_token_timestamp"] = 1_790_000_000 + first_token
    return row


def found(folder: Path, rows: Rows) -> list[Breaker]:
    return breakers_of(evidence_of(folder, rows))


def only(folder: Path, rows: Rows) -> Breaker:
    breakers = found(folder, rows)
    assert len(breakers) == 1, [(b.finding.rule, b.finding.message) for b in breakers]
    return breakers[0]


def test_a_conversation_that_hits_is_silent(tmp_path: Path) -> None:
    rows = [
        call(0, read=0, written=1300),
        call(60, read=1300, written=20, messages=3),
        call(120, read=1320, written=20, messages=5),
    ]
    assert found(tmp_path, rows) == []


def test_a_pause_longer_than_the_lifetime_is_expiry(tmp_path: Path) -> None:
    breaker = only(tmp_path, [call(0, read=0, written=1300), call(700, read=0, written=1320, messages=3)])
    assert breaker.finding.rule == "PC601"
    assert breaker.finding.tokens_lost == 1300
    assert "would have kept 1 of 1" in breaker.finding.message


def test_a_pause_within_the_lifetime_is_not(tmp_path: Path) -> None:
    breaker = only(tmp_path, [call(0, read=0, written=1300), call(200, read=0, written=1320, messages=3)])
    assert breaker.finding.rule == "PC608"
    assert breaker.finding.confidence == "suspected"


def test_a_use_in_between_keeps_an_entry_alive(tmp_path: Path) -> None:
    rows = [
        call(0, read=0, written=1300),
        call(250, read=1300, written=0),
        call(500, read=0, written=1320, messages=3),
    ]
    assert only(tmp_path, rows).finding.rule == "PC608"


def test_a_setting_is_compared_with_all_requests_that_agree_in_it(tmp_path: Path) -> None:
    on, off = {"type": "enabled", "budget_tokens": 2048}, {"type": "disabled"}
    rows = [
        call(0, read=0, written=1300, thinking=on),
        call(30, read=0, written=1320, messages=3, thinking=off),
        call(60, read=1300, written=40, messages=5, thinking=on),
    ]
    breaker = only(tmp_path, rows)
    assert breaker.finding.rule == "PC402"
    assert breaker.requests == (1,)
    assert breaker.finding.tokens_lost == 1300


def test_a_setting_that_the_figures_clear_is_not_reported(tmp_path: Path) -> None:
    rows = [
        call(0, read=0, written=1300, tool_choice={"type": "auto"}),
        call(30, read=1300, written=20, messages=3, tool_choice={"type": "any"}),
    ]
    assert found(tmp_path, rows) == []


def test_calls_before_the_first_token_read_nothing(tmp_path: Path) -> None:
    rows = [
        call(0, read=0, written=1300, name="a", end_time=1_790_000_002.0),
        call(0.1, read=0, written=1300, name="b", end_time=1_790_000_002.0),
        call(0.2, read=0, written=1300, name="c", end_time=1_790_000_002.0),
        call(9, read=1300, written=0, name="d"),
    ]
    breaker = only(tmp_path, rows)
    assert breaker.finding.rule == "PC603"
    assert breaker.requests == (1, 2)
    assert breaker.finding.tokens_lost == 2600


def test_another_upstream_has_another_cache(tmp_path: Path) -> None:
    rows = [
        call(0, read=0, written=1300, upstream="north"),
        call(30, read=1300, written=20, messages=3, upstream="north"),
        call(60, read=0, written=1340, messages=5, upstream="south"),
        call(90, read=1340, written=20, messages=7, upstream="south"),
    ]
    breaker = only(tmp_path, rows)
    assert breaker.finding.rule == "PC605"
    assert breaker.requests == (2,)


def test_a_turn_of_many_blocks_hides_the_entry(tmp_path: Path) -> None:
    rows = [
        call(0, read=0, written=1310),
        call(30, read=900, written=620, messages=27),
    ]
    log = evidence_of(tmp_path, rows)
    (miss,) = log.misses
    assert miss.cause is MissCause.LOOKBACK
    assert miss.blocks == 26
    assert [b.finding.rule for b in breakers_of(log)] == ["PC304"]


def test_twenty_blocks_are_within_the_lookback(tmp_path: Path) -> None:
    rows = [call(0, read=0, written=1310), call(30, read=0, written=1420, messages=21)]
    assert only(tmp_path, rows).finding.rule == "PC608"


def test_a_marker_on_what_differs_writes_and_never_reads(tmp_path: Path) -> None:
    rows: Rows = []
    for n in range(3):
        row = call(10 * n, read=0, written=1500)
        row["request"]["system"][0].pop("cache_control")
        row["request"]["messages"][0]["content"][0]["text"] = f"Answer {n}: {RULES[n * 100 : n * 100 + 800]}"
        rows.append(row)
    breaker = only(tmp_path, rows)
    assert breaker.finding.rule == "PC306"
    assert breaker.finding.location.json_path == "messages[0].content[0]"
    assert "4,500 tokens were written by 3 requests and 0 read" in breaker.finding.message


def test_no_marker_at_all(tmp_path: Path) -> None:
    rows = [call(10 * n, read=0, written=0, fresh=1300, marks=(), messages=2 * n + 1) for n in range(3)]
    for row in rows:
        row["request"]["system"][0].pop("cache_control")
    breaker = only(tmp_path, rows)
    assert breaker.finding.rule == "PC307"
    assert breaker.requests == (1, 2)


def test_a_marker_that_moves_back(tmp_path: Path) -> None:
    rows = [
        call(0, read=0, written=3000, messages=1),
        call(30, read=1200, written=0, fresh=1830, messages=3, marks=()),
    ]
    for row in rows:
        row["request"]["messages"][0]["content"][0]["text"] = RULES + RULES
    assert "PC313" in [b.finding.rule for b in found(tmp_path, rows)]


def test_more_markers_than_the_provider_takes(tmp_path: Path) -> None:
    breaker = only(tmp_path, [call(0, read=0, written=0, messages=7, marks=(0, 2, 4, 6))])
    assert breaker.finding.rule == "PC301"
    assert breaker.finding.location.json_path == "messages[6].content[0]"


def test_one_lifetime_and_then_another(tmp_path: Path) -> None:
    rows = []
    for n in range(6):
        split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
        split["ephemeral_1h_input_tokens" if n < 3 else "ephemeral_5m_input_tokens"] = 20
        usage = {
            "input_tokens": 4,
            "cache_read_input_tokens": 900,
            "cache_creation_input_tokens": 20,
            "cache_creation": split,
        }
        rows.append(
            {
                "id": f"row {n}",
                "timestamp": 1_790_000_000 + 20 * n,
                "model": "claude-sonnet-4-5",
                "usage": usage,
            }
        )
    breaker = only(tmp_path, rows)
    assert breaker.finding.rule == "PC606"
    assert "between row 2 and row 3" in breaker.finding.message


@pytest.mark.parametrize("gap", [100, 900])
def test_a_recorded_hash_that_changed_outweighs_the_pause(tmp_path: Path, gap: int) -> None:
    rows = [
        {
            "id": f"row {n}",
            "timestamp": 1_790_000_000 + gap * n,
            "session": "s",
            "model": "claude-sonnet-4-5",
            "prefix_hashes": {"system": "aa", "history": f"h{n}"},
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 5000},
        }
        for n in range(2)
    ]
    breaker = only(tmp_path, rows)
    assert breaker.finding.rule == "PC502"
    assert ("expired as well" in breaker.finding.message) is (gap > 300)


def test_an_answer_that_comes_back_in_other_ids(tmp_path: Path) -> None:
    prompt, answer = list(range(100, 180)), list(range(500, 540))
    again = [*answer[:9], 901, 902, *answer[11:]]
    rows = [{"prompt": prompt, "output": answer}, {"prompt": [*prompt, *again, 7, 8, 9]}]
    breaker = only(tmp_path, rows)
    assert breaker.finding.rule == "PC511"
    assert breaker.finding.location.token_offset == 89
    assert breaker.finding.tokens_lost == 120 - 89


def test_an_answer_that_comes_back_as_it_was_is_silent(tmp_path: Path) -> None:
    prompt, answer = list(range(100, 180)), list(range(500, 540))
    assert (
        found(tmp_path, [{"prompt": prompt, "output": answer}, {"prompt": [*prompt, *answer, 7, 8, 9]}]) == []
    )


def test_a_doubled_start_token(tmp_path: Path) -> None:
    text = list(range(100, 160))
    breaker = only(tmp_path, [{"prompt": [1, *text]}, {"prompt": [1, 1, *text, 5]}])
    assert breaker.finding.rule == "PC513"
    assert breaker.finding.location.token_offset == 1
