"""What breaks a prefix, on small logs of our own: each mechanism is found under its rule, and healthy logs are silent."""

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.breakers import Breaker, breakers_of
from analyzers.divergence import ValueKind
from tests.analyzers.chat_log import RULES, assistant, chat, evidence_of, system, user
from tests.shared_folder import SHARED, needs_shared

Rows = list[dict[str, Any]]


def tool(name: str, description: str = "Does what its name says, with care.") -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


TALK = [
    user("Where is the large wrench?"),
    assistant("On shelf 12, behind the pumps."),
    user("And the small one?"),
    assistant("On shelf 14, in the blue box."),
    user("Thank you. Anything on shelf 15?"),
]


LONG = [
    part for n in range(9) for part in (user(f"Question {n}: {RULES[: 300 + n]}"), assistant(f"Answer {n}."))
]


def turns(head: list[str], gap: float = 30, **body: Any) -> Rows:
    """A conversation of three turns whose system prompt in each turn is given."""
    return [
        chat([system(text), *TALK[: 2 * turn + 1]], second=gap * turn, **body)
        for turn, text in enumerate(head)
    ]


def found(folder: Path, rows: Rows) -> list[Breaker]:
    return breakers_of(evidence_of(folder, rows))


def rules(folder: Path, rows: Rows) -> set[str]:
    return {breaker.finding.rule for breaker in found(folder, rows) if breaker.requests}


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("PC101", ["Time: 09:00:11", "Time: 09:01:40", "Time: 09:03:02"]),
        ("PC102", ["Day: 2026-10-05", "Day: 2026-10-06", "Day: 2026-10-07"]),
        ("PC103", ["trace=9f1c77ab", "trace=04de18f2", "trace=77c1b03e"]),
        ("PC104", ["Turn 1", "Turn 2", "Turn 3"]),
        ("PC105", ["branch: main", "branch: feature", "branch: fixes"]),
        ("PC107", ["Known facts:\n- likes tea very much\n", "Known facts:\n- lives by the sea\n", "Known facts:\n- has two dogs and a cat\n"]),
        ("PC110", ["Mood: cheerful", "Mood: tired", "Mood: alert"]),
        ("PC111", ["", "Answer in French.", ""]),
    ],
)  # fmt: skip
def test_a_value_before_fixed_text_is_found_and_named(tmp_path: Path, rule: str, values: list[str]) -> None:
    rows = turns([f"You run the store.\n{value}\n{RULES}" for value in values])
    (breaker,) = [b for b in found(tmp_path, rows) if b.requests]
    assert breaker.finding.rule == rule
    assert breaker.finding.location.json_path == "messages[0].content"
    assert (breaker.finding.tokens_lost or 0) > 500
    assert breaker.requests == ((1,) if rule == "PC111" else (1, 2))


def test_offsets_count_to_the_first_character_that_differs(tmp_path: Path) -> None:
    rows = turns([f"It is 10:15:0{n} now.\n{RULES}" for n in (1, 2)])
    (breaker,) = found(tmp_path, rows)
    assert breaker.finding.location.char_offset == len("It is 10:15:0")
    assert breaker.slot is not None
    assert breaker.slot.values == ("10:15:01", "10:15:02")
    assert breaker.slot.kind is ValueKind.CLOCK


def test_what_does_not_vary_is_never_reported(tmp_path: Path) -> None:
    """A constant date, id, time and counter look volatile and are not."""
    fixed = (
        f"Policy of 2024-01-01, id 0b7c4e62-93a1-4c52-8a53-4cf0f5f3f5aa, open 09:00:00, turn 1 of 9.\n{RULES}"
    )
    assert found(tmp_path, turns([fixed] * 3)) == []


def test_an_append_only_conversation_is_healthy(tmp_path: Path) -> None:
    assert found(tmp_path, turns([RULES] * 3)) == []


def test_other_questions_behind_one_system_prompt_are_healthy(tmp_path: Path) -> None:
    rows = [chat([system(RULES), user(f"Where is part {n}?")], second=20 * n) for n in range(6)]
    assert found(tmp_path, rows) == []


def test_another_answer_to_the_same_question_is_no_edit_but_in_one_session_it_is(tmp_path: Path) -> None:
    def asked_again(session: str | None) -> Rows:
        answers = ("On shelf 12, behind the pumps.", "I do not know, please ask Ann.")
        return [
            chat([system(RULES), TALK[0], assistant(answer), LONG[0]], second=30 * n, session=session)
            for n, answer in enumerate(answers)
        ]

    assert found(tmp_path, asked_again(None)) == []
    assert rules(tmp_path, asked_again("s")) == {"PC502"}


def test_a_value_of_each_user_is_told_from_one_of_each_request(tmp_path: Path) -> None:
    rows: Rows = []
    for visit, name in enumerate(["Ann Lee", "Bo Park", "Cy Moss"]):
        head = system(f"You run the store.\nCustomer: {name}\n{RULES}")
        for turn in range(2):
            second = 500 * visit + 30 * turn
            talk = LONG[4 * visit : 4 * visit + 2 * turn + 1]
            rows.append(chat([head, *talk], second=second, session=f"visit {visit}"))
    (breaker,) = found(tmp_path, rows)
    assert breaker.finding.rule == "PC106"
    assert breaker.finding.evidence.scope == "session"
    assert breaker.requests == (2, 4)


def test_two_values_of_one_text_are_two_slots_of_which_the_first_breaks(tmp_path: Path) -> None:
    rows = turns(
        [f"Time: 09:0{n}:11\n{RULES}\nMood: {m}\n{RULES}" for n, m in enumerate(["glad", "sad", "calm"])]
    )
    first, second = found(tmp_path, rows)
    assert [first.finding.rule, second.finding.rule] == ["PC101", "PC110"]
    assert first.requests == (1, 2)
    assert second.requests == ()
    assert second.finding.tokens_lost == 0
    assert second.finding.level == "info"


def test_tools_reordered_are_not_tools_changed(tmp_path: Path) -> None:
    rows = turns([RULES, RULES])
    rows[0]["request"]["tools"] = [tool("find"), tool("lend"), tool("count")]
    rows[1]["request"]["tools"] = [tool("lend"), tool("count"), tool("find")]
    assert rules(tmp_path, rows) == {"PC201"}


@pytest.mark.parametrize(
    "tools",
    [
        [tool("find"), tool("lend"), tool("count")],
        [tool("find")],
        [tool("find"), tool("lend", "Lends a tool to a person who asks.")],
    ],
)
def test_tools_added_removed_and_redefined(tmp_path: Path, tools: list[dict[str, Any]]) -> None:
    rows = turns([RULES, RULES])
    rows[0]["request"]["tools"] = [tool("find"), tool("lend")]
    rows[1]["request"]["tools"] = tools
    assert rules(tmp_path, rows) == {"PC203"}


def test_key_order_is_told_by_the_path_of_the_object(tmp_path: Path) -> None:
    rows = turns([RULES, RULES])
    rows[0]["request"]["tools"] = [tool("find")]
    other = tool("find")
    properties = other["function"]["parameters"]["properties"]
    other["function"]["parameters"]["properties"] = dict(reversed(properties.items()))
    rows[1]["request"]["tools"] = [other]
    (breaker,) = found(tmp_path, rows)
    assert breaker.finding.rule == "PC202"
    assert breaker.finding.location.json_path == "tools[0].function.parameters.properties"
    assert breaker.finding.location.char_offset == len('{"')


def test_a_schema_that_changes(tmp_path: Path) -> None:
    rows = turns([RULES, RULES])
    for row, key in zip(rows, ("shelf", "box"), strict=True):
        schema = {"name": "answer", "schema": {"type": "object", "properties": {key: {"type": "string"}}}}
        row["request"]["response_format"] = {"type": "json_schema", "json_schema": schema}
    assert rules(tmp_path, rows) == {"PC405"}


def edited(position: int, message: dict[str, Any]) -> Rows:
    """A conversation in one session that is sent again, longer, with one old message changed."""
    changed = [*LONG[:position], message, *LONG[position + 1 :]]
    return [
        chat([system(RULES), *LONG[:13]], second=0, session="s"),
        chat([system(RULES), *changed[:15]], second=30, session="s"),
    ]


def test_an_edited_message(tmp_path: Path) -> None:
    (breaker,) = found(tmp_path, edited(4, user(f"Another question altogether: {RULES[900:1200]}")))
    assert breaker.finding.rule == "PC502"
    assert breaker.finding.location.json_path == "messages[5].content"


def test_white_space_in_an_old_message(tmp_path: Path) -> None:
    (breaker,) = found(tmp_path, edited(5, assistant("Answer 2.\n")))
    assert breaker.finding.rule == "PC505"
    assert "U+000A at the end" in breaker.finding.message


def test_a_role_that_changes(tmp_path: Path) -> None:
    assert rules(tmp_path, edited(5, {**LONG[5], "role": "user"})) == {"PC510"}


def test_a_window_that_slides_is_one_shift(tmp_path: Path) -> None:
    rows = [chat([system(RULES), *LONG[2 * n : 2 * n + 8]], second=30 * n) for n in range(4)]
    (breaker,) = found(tmp_path, rows)
    assert breaker.finding.rule == "PC501"
    assert breaker.finding.location.json_path == "messages[1]"
    assert breaker.slot is not None
    assert [d.shift for d in breaker.slot.differences] == [2, 2, 2]


def test_a_history_that_becomes_a_summary(tmp_path: Path) -> None:
    summary = user("So far: they asked about many parts, and each was found.")
    rows = [
        chat([system(RULES), *LONG[:13]], second=0, session="s"),
        chat([system(RULES), summary, *LONG[8:15]], second=30, session="s"),
    ]
    assert rules(tmp_path, rows) == {"PC508"}


def test_messages_put_into_the_history(tmp_path: Path) -> None:
    added = [*LONG[:4], user("A reminder that was put in later."), *LONG[4:15]]
    rows = [
        chat([system(RULES), *LONG[:13]], second=0, session="s"),
        chat([system(RULES), *added], second=30, session="s"),
    ]
    assert rules(tmp_path, rows) == {"PC502"}


def call(arguments: str) -> dict[str, Any]:
    function = {"name": "find", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


def test_arguments_that_come_back_in_another_form(tmp_path: Path) -> None:
    result = {"role": "tool", "tool_call_id": "c1", "content": RULES[:900]}
    rows = [
        chat([system(RULES), TALK[0], call('{"query":"wrench","limit":3}'), result], second=0),
        chat(
            [system(RULES), TALK[0], call('{"limit": 3, "query": "wrench"}'), result, *TALK[1:3]], second=30
        ),
    ]
    (breaker,) = found(tmp_path, rows)
    assert breaker.finding.rule == "PC506"
    assert breaker.finding.location.json_path == "messages[2].tool_calls[0].function.arguments"


@pytest.mark.parametrize(("new", "rule"), [("[removed]", "PC504"), (RULES[:700], "PC515")])
def test_a_tool_result_that_is_cleared_or_cut(tmp_path: Path, new: str, rule: str) -> None:
    def history(result: str) -> list[dict[str, Any]]:
        output = {"role": "tool", "tool_call_id": "c1", "content": result}
        return [system(RULES[500:]), TALK[0], call('{"query":"wrench"}'), output, *LONG[1:8]]

    rows = [
        chat(history(RULES), second=0, session="s"),
        chat([*history(new), *LONG[8:10]], second=30, session="s"),
    ]
    assert rules(tmp_path, rows) == {rule}


def test_passages_in_another_order(tmp_path: Path) -> None:
    passages = [f"[{n}] {RULES[n * 400 : n * 400 + 380]}\n" for n in range(5)]
    rows = [
        chat([user("Documents:\n" + "".join(order) + f"\nQuestion {n}?")], second=20 * n)
        for n, order in enumerate([passages, passages[3:] + passages[:3], passages[::-1]])
    ]
    assert rules(tmp_path, rows) == {"PC210"}


def test_the_users_text_before_a_long_fixed_text(tmp_path: Path) -> None:
    rows = [
        chat([user(f"Question: where is {what}?\nManual:\n{RULES}")], second=20 * n)
        for n, what in enumerate(["the wrench", "a saw", "the largest pump"])
    ]
    (breaker,) = found(tmp_path, rows)
    assert breaker.finding.rule in ("PC107", "PC108")
    assert breaker.requests == (1, 2)


def test_no_prompt_text_is_in_a_finding_but_in_its_excerpt(tmp_path: Path) -> None:
    rows = turns([f"You run the store.\nMood: {mood}\n{RULES}" for mood in ("cheerfully-secret", "b", "c")])
    (breaker,) = found(tmp_path, rows)
    finding = breaker.finding
    assert "secret" in (finding.evidence.excerpt or "")
    assert "secret" not in finding.message + finding.subject + str(finding.location) + str(finding.fix)


def test_sample_logs_are_judged_as_they_were_made() -> None:
    from analyzers.log_evidence import log_evidence
    from analyzers.logs import read_log
    from analyzers.pipeline import TraceOptions, trace_log

    folder = Path(__file__).resolve().parents[2] / "sample_logs"
    expected = {
        "healthy_agent.jsonl": set(),
        "support_bot_clock.jsonl": {"PC101"},
        "coding_agent_markers.jsonl": {"PC601"},
    }
    for name, wanted in expected.items():
        log = log_evidence(trace_log(read_log([str(folder / name)]), TraceOptions(answers=False)))
        assert {breaker.finding.rule for breaker in breakers_of(log)} == wanted, name


@needs_shared
@pytest.mark.parametrize("name", ["tau_bench", "claude_code_sessions"])
def test_real_conversations_without_a_breaker_are_silent(name: str) -> None:
    from analyzers.log_evidence import log_evidence
    from analyzers.logs import read_log
    from analyzers.pipeline import TraceOptions, trace_log

    assert SHARED is not None
    log = log_evidence(trace_log(read_log([str(SHARED / "data" / name)]), TraceOptions(answers=False)))
    assert breakers_of(log) == []


def test_findings_are_plain_json(tmp_path: Path) -> None:
    from pcache_cli.reports.as_json import plain_value

    rows = turns([f"Time: 09:0{n}:11\n{RULES}" for n in range(3)])
    json.dumps([plain_value(breaker.finding) for breaker in found(tmp_path, rows)], allow_nan=False)
