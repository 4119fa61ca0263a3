from pathlib import Path
from typing import Any

from analyzers.logs.codex import HISTORY_REWRITTEN, NOT_IN_THE_FILE
from tests.analyzers.logs.session_rows import answered, read_rows, sent


def _row(kind: str, at: int, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-05-01T10:00:{at:02d}.000Z", "type": kind, "payload": payload}


def _item(at: int, **payload: Any) -> dict[str, Any]:
    return _row("response_item", at, **payload)


def _message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _count(at: int, last: int, total: int, cached: int = 0) -> dict[str, Any]:
    figures = {
        "input_tokens": last,
        "cached_input_tokens": cached,
        "output_tokens": 5,
        "total_tokens": last + 5,
    }
    info = {"total_token_usage": figures | {"input_tokens": total}, "last_token_usage": figures}
    return _row("event_msg", at, type="token_count", info=info)


_META = _row("session_meta", 0, id="sess", cli_version="0.150.0", base_instructions={"text": "Be brief."})
_CALL = {"type": "function_call", "name": "shell", "arguments": '{"cmd": "ls"}', "call_id": "c1"}
_OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "file"}


def test_each_run_of_model_items_is_a_call_with_the_usage_that_follows(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _META,
        _row("turn_context", 1, model="gpt-5.5", effort="high"),
        _item(1, **_message("user", "list files")),
        _item(2, type="reasoning", summary=[], encrypted_content="x"),
        _item(3, **_CALL),
        _count(4, last=1000, total=1000, cached=896),
        _item(5, **_OUTPUT),
        _item(6, **_message("assistant", "one file")),
        _count(7, last=1200, total=2200, cached=1024),
    )
    first, second = log.requests
    assert sent(first) == ["Be brief.", _message("user", "list files")]
    assert [part.get("type") for part in sent(second)[1:]] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert second.parts[:2] == first.parts
    assert [item["type"] for item in answered(first)] == ["reasoning", "function_call"]
    assert first.usage is not None
    assert second.usage is not None
    assert (first.usage.prompt_tokens, first.usage.read_tokens) == (1000, 896)
    assert (second.usage.prompt_tokens, second.usage.read_tokens) == (1200, 1024)
    assert (first.model, first.identity.session) == ("gpt-5.5", "sess")
    assert first.parameter("reasoning.effort") == "high"
    assert first.end_ns is not None
    assert first.time_ns is not None
    assert first.end_ns - first.time_ns == 3 * 10**9
    assert NOT_IN_THE_FILE in log.notes


def test_usage_that_comes_after_the_tool_output_still_belongs_to_its_call(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _META,
        _item(1, **_message("user", "go")),
        _item(2, **_CALL),
        _item(3, **_OUTPUT),
        _count(4, last=500, total=500),
        _item(5, **_message("assistant", "done")),
        _count(6, last=600, total=1100),
    )
    assert [request.usage and request.usage.prompt_tokens for request in log.requests] == [500, 600]


def test_a_repeated_or_empty_count_is_no_call_and_a_new_one_is(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _META,
        _item(1, **_message("user", "go")),
        _item(2, **_message("assistant", "done")),
        _count(3, last=500, total=500),
        _count(4, last=500, total=500),
        _row("event_msg", 5, type="token_count", info=None),
        _count(6, last=90, total=90),
    )
    assert [request.usage and request.usage.prompt_tokens for request in log.requests] == [500, 90]
    assert log.requests[1].output is None


def test_compaction_starts_over_from_the_history_it_names(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _META,
        _item(1, **_message("user", "go")),
        _item(2, **_message("assistant", "done")),
        _row("compacted", 3, message="", replacement_history=[_message("user", "summary")]),
        _item(4, **_message("assistant", "next")),
        _row("compacted", 5, message="all in short"),
        _item(6, **_message("assistant", "last")),
    )
    assert sent(log.requests[1]) == ["Be brief.", _message("user", "summary")]
    assert sent(log.requests[2])[1:] == [_message("user", "all in short")]
    assert HISTORY_REWRITTEN in log.notes


def test_bare_items_of_the_first_releases_are_read(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        {"id": "old", "timestamp": "2025-06-01T00:00:00Z", "instructions": None},
        {"record_type": "state"},
        _message("user", "go"),
        _message("assistant", "done"),
    )
    (request,) = log.requests
    assert sent(request) == [_message("user", "go")]
    assert (request.identity.session, request.usage) == ("old", None)
