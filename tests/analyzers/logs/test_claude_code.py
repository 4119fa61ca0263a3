from pathlib import Path
from typing import Any

from analyzers.logs import read_log
from analyzers.logs.claude_code import EARLIER_ROWS_MISSING, FIRST_FIGURES, NOT_IN_THE_FILE
from tests.analyzers.logs.session_rows import answered, read_rows, sent
from tests.shared_folder import SHARED, needs_shared

_SECOND = 10**9
_START = 1_767_225_600 * _SECOND  # 2026-01-01T00:00:00Z


def _row(kind: str, uuid: str, parent: str | None, at: int, **fields: Any) -> dict[str, Any]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s1",
        "version": "2.1.0",
        "type": kind,
        "uuid": uuid,
        "timestamp": f"2026-01-01T00:00:{at:02d}.000Z",
    } | fields


def _user(uuid: str, parent: str | None, at: int, content: Any, **fields: Any) -> dict[str, Any]:
    return _row("user", uuid, parent, at, message={"role": "user", "content": content}, **fields)


def _answer(
    uuid: str, parent: str | None, at: int, call: str, block: Any, output: int = 9, **fields: Any
) -> dict[str, Any]:
    message = {
        "id": f"msg_{call}",
        "model": "claude-sonnet-4-5",
        "role": "assistant",
        "content": [block],
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": output},
    }
    return _row("assistant", uuid, parent, at, requestId=f"req_{call}", message=message, **fields)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _use(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"b": 1, "a": 2}}


def _result(name: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": name, "content": f"result of {name}"}]


def test_each_call_is_one_request_with_the_history_before_it(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        {"type": "queue-operation", "operation": "dequeue", "sessionId": "s1"},
        _user("u1", None, 0, "hello"),
        _answer("a1", "u1", 2, "1", _text("hi"), output=1),
        _answer("a2", "a1", 3, "1", _use("t1"), output=40),
        _user("u2", "a2", 4, _result("t1")),
        _answer("a3", "u2", 7, "2", _text("done")),
    )
    first, second = log.requests
    assert sent(first) == [{"role": "user", "content": "hello"}]
    assert sent(second) == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [_text("hi"), _use("t1")]},
        {"role": "user", "content": _result("t1")},
    ]
    assert second.parts[0] is first.parts[0]
    assert answered(first)["content"] == [_text("hi"), _use("t1")]
    assert first.usage is not None
    assert (first.usage.prompt_tokens, first.usage.read_tokens, first.usage.output_tokens) == (103, 100, 40)
    assert (first.request_id, first.model, first.identity.session) == ("req_1", "claude-sonnet-4-5", "s1")
    assert (first.time_ns, first.end_ns) == (_START, _START + 3 * _SECOND)
    assert (log.merged, log.skipped) == (3, {"not a model call": 1})
    assert log.notes == [NOT_IN_THE_FILE]


def test_raw_strings_and_key_order_stay_as_in_the_file(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        '{"parentUuid":null,"sessionId":"s","type":"user","uuid":"u","message":'
        '{"role":"user","content":[{"text":"caf\\u00e9 \\/","type":"text"}]}}',
        _answer("a", "u", 1, "1", _text("x")),
    )
    raw = log.requests[0].parts[0].raw
    assert raw == b'{"role":"user","content":[{"text":"caf\\u00e9 \\/","type":"text"}]}'


def test_results_of_parallel_tool_calls_all_stand_in_the_next_prompt(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "go"),
        _answer("a1", "u1", 1, "1", _use("t1")),
        _answer("a2", "a1", 2, "1", _use("t2")),
        _user("r1", "a1", 3, _result("t1")),
        _user("r2", "a2", 4, _result("t2")),
        _answer("a3", "r2", 5, "2", _text("both read")),
    )
    assert sent(log.requests[1])[1:] == [
        {"role": "assistant", "content": [_use("t1"), _use("t2")]},
        {"role": "user", "content": _result("t1") + _result("t2")},
    ]


def test_a_block_that_follows_the_first_result_joins_its_answer(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "go"),
        _answer("a1", "u1", 1, "1", _use("t1")),
        _user("r1", "a1", 2, _result("t1")),
        _answer("a2", "a1", 3, "1", _use("t2")),
        _user("r2", "a2", 4, _result("t2")),
        _answer("a3", "r2", 5, "2", _text("done")),
    )
    assert [message["role"] for message in sent(log.requests[1])] == ["user", "assistant", "user"]


def test_a_rewound_turn_branches_off_the_history_it_names(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "one"),
        _answer("a1", "u1", 1, "1", _text("first")),
        _user("u2", "a1", 2, "two"),
        _answer("a2", "u2", 3, "2", _text("second")),
        _user("u3", "a1", 4, "other two"),
        _answer("a3", "u3", 5, "3", _text("third")),
    )
    assert [m["content"] for m in sent(log.requests[2])] == ["one", [_text("first")], "other two"]
    assert log.requests[2].parts[:2] == log.requests[1].parts[:2]


def test_a_sidechain_has_a_history_of_its_own(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "main"),
        _answer("a1", "u1", 1, "1", _use("t1")),
        _user("s1", None, 2, "sub task", isSidechain=True),
        _answer("b1", "s1", 3, "2", _text("sub answer"), isSidechain=True),
        _user("r1", "a1", 4, _result("t1")),
        _answer("a2", "r1", 5, "3", _text("done")),
    )
    main, sub, after = log.requests
    assert [m["content"] for m in sent(sub)] == ["sub task"]
    assert (main.identity.route, sub.identity.route) == (None, "sidechain")
    assert [m["content"] for m in sent(after)] == ["main", [_use("t1")], _result("t1")]


def test_a_resumed_session_counts_its_copied_rows_once(tmp_path: Path) -> None:
    copied = [_user("u1", None, 0, "hello"), _answer("a1", "u1", 1, "1", _text("hi"))]
    read_rows(tmp_path, *copied, name="a.jsonl")
    read_rows(
        tmp_path,
        *copied,
        _user("u2", "a1", 2, "more"),
        _answer("a2", "u2", 3, "2", _text("yes")),
        name="b.jsonl",
    )
    log = read_log([str(tmp_path)])
    assert [request.request_id for request in log.requests] == ["req_1", "req_2"]
    assert [m["content"] for m in sent(log.requests[1])] == ["hello", [_text("hi")], "more"]
    assert (log.records, log.merged) == (6, 4)


def test_a_repeated_row_changes_neither_the_answer_nor_its_end(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "hello"),
        _answer("a1", "u1", 1, "1", _text("hi")),
        _answer("a2", "a1", 30, "1", _text("hi")),
    )
    (request,) = log.requests
    assert answered(request)["content"] == [_text("hi")]
    assert request.end_ns == _START + _SECOND


def test_a_late_block_joins_an_answer_that_a_prompt_already_held(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "go"),
        _answer("a1", "u1", 1, "1", _text("one")),
        _answer("b1", "a1", 2, "2", _text("two")),
        _answer("a2", "b1", 3, "1", _text("late")),
        _answer("c1", "a2", 4, "3", _text("three")),
    )
    assert sent(log.requests[2])[1]["content"] == [_text("one"), _text("late")]


def test_errors_shown_by_the_client_are_no_calls_and_are_not_sent(tmp_path: Path) -> None:
    error = _answer("e1", "u1", 1, "0", _text("API Error"), isApiErrorMessage=True)
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "hello"),
        error,
        _user("u2", "e1", 2, "again"),
        _answer("a1", "u2", 3, "1", _text("hi")),
    )
    (request,) = log.requests
    assert sent(request) == [{"role": "user", "content": [_text("hello"), _text("again")]}]


def test_missing_earlier_rows_are_said_to_be_missing(tmp_path: Path) -> None:
    log = read_rows(tmp_path, _user("u5", "gone", 0, "go on"), _answer("a5", "u5", 1, "1", _text("ok")))
    assert EARLIER_ROWS_MISSING in log.notes


def test_an_output_figure_too_small_for_its_answer_is_pointed_out(tmp_path: Path) -> None:
    rows = [_user("u1", None, 0, "hello"), _answer("a1", "u1", 1, "1", _text("word " * 300), output=1)]
    assert FIRST_FIGURES in read_rows(tmp_path, *rows).notes
    rows[1]["message"]["usage"]["output_tokens"] = 300
    assert FIRST_FIGURES not in read_rows(tmp_path, *rows).notes


def test_message_ids_tell_the_cloud(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "hello"),
        _answer("a1", "u1", 1, "bdrk_1", _text("x")),
        _answer("a2", "a1", 2, "1", _text("y")),
    )
    assert [request.provider for request in log.requests] == ["bedrock", "anthropic"]


def test_a_damaged_row_is_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _user("u1", None, 0, "hello"),
        '{"type":"assistant","uuid":"a0","message":{"id":',
        _answer("a1", "u1", 1, "1", _text("hi")),
    )
    assert (len(log.requests), log.skipped) == (1, {"not JSON": 1})


@needs_shared
def test_the_largest_output_of_a_call_is_kept_across_files() -> None:
    assert SHARED is not None
    log = read_log([str(SHARED / "cases/30-transcript-rows-repeat-usage")])
    usages = [request.usage for request in log.requests]
    assert [usage.output_tokens for usage in usages if usage] == [212, 88, 31]
    assert sum(usage.read_tokens or 0 for usage in usages if usage) == 154_500
    assert sum(usage.written_tokens or 0 for usage in usages if usage) == 2_550
    assert sum(usage.uncached_tokens or 0 for usage in usages if usage) == 8


@needs_shared
def test_recorded_sessions_read_in_full() -> None:
    assert SHARED is not None
    log = read_log([str(SHARED / "data/claude_code_sessions")])
    assert (len(log.requests), log.records, log.merged) == (70, 175, 98)
    for before, after in zip(log.requests, log.requests[1:], strict=False):
        if before.identity.session == after.identity.session:
            assert after.parts[: len(before.parts)] == before.parts
