"""Rows that hold a request and its response: identity, times, usage and the answer as logged."""

import json
from pathlib import Path

from analyzers.logs.timestamps import NO_ZONE
from tests.analyzers.logs.writing import read_rows, user

CHAT = {"model": "gpt-4.1", "messages": [user("hi")]}
CLAUDE = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": "be brief", "messages": [user("hi")]}
SECOND = 10**9


def test_a_pair_carries_time_identity_usage_and_answer(tmp_path: Path) -> None:
    row = {
        "id": "r1",
        "timestamp": "1970-01-01T00:00:02Z",
        "provider": "openai",
        "session": "s1",
        "tenant": "t1",
        "upstream": "north",
        "request": CHAT,
        "response": {
            "id": "chatcmpl-1",
            "created": 5,
            "model": "gpt-4.1-2025-04-14",
            "service_tier": "flex",
            "choices": [{"message": {"role": "assistant", "content": "hello"}}],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
            "first_token_at": "1970-01-01T00:00:03Z",
        },
    }
    (request,) = read_rows(tmp_path, row).requests
    assert request.request_id == "r1"
    assert (request.time_ns, request.first_token_ns) == (2 * SECOND, 3 * SECOND)
    assert (request.identity.session, request.identity.tenant) == ("s1", "t1")
    assert request.identity.labels == (("upstream", "north"),)
    assert request.model == "gpt-4.1"
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.read_tokens) == (9, 4)
    assert request.usage.service_tier == "flex"
    assert request.output is not None
    assert json.loads(request.output.raw) == {"role": "assistant", "content": "hello"}


def test_usage_and_output_are_none_where_the_row_has_none(tmp_path: Path) -> None:
    (request,) = read_rows(tmp_path, {"request": CHAT}).requests
    assert request.usage is None
    assert request.output is None
    assert request.time_ns is None


def test_anthropic_usage_is_made_inclusive(tmp_path: Path) -> None:
    usage = {
        "input_tokens": 4,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 6,
        "output_tokens": 2,
    }
    content = [{"type": "text", "text": "hello"}]
    row = {"request": CLAUDE, "response": {"type": "message", "content": content, "usage": usage}}
    (request,) = read_rows(tmp_path, row).requests
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.read_tokens, request.usage.written_tokens) == (
        100,
        90,
        6,
    )
    assert request.output is not None
    assert json.loads(request.output.raw) == content


def test_usage_beside_the_request_counts_where_the_response_has_none(tmp_path: Path) -> None:
    (request,) = read_rows(tmp_path, {"request": CHAT, "usage": {"prompt_tokens": 7}}).requests
    assert request.usage is not None
    assert request.usage.prompt_tokens == 7


def test_the_answer_time_stands_in_for_a_missing_start(tmp_path: Path) -> None:
    (request,) = read_rows(tmp_path, {"request": CHAT, "response": {"created": 5, "choices": []}}).requests
    assert request.time_ns == 5 * SECOND


def test_times_without_a_zone_are_utc_and_that_is_said_once(tmp_path: Path) -> None:
    rows = [{"timestamp": "1970-01-01 00:00:01.5", "request": CHAT}] * 3
    log = read_rows(tmp_path, *rows)
    assert [request.time_ns for request in log.requests] == [3 * SECOND // 2] * 3
    assert log.notes == [NO_ZONE]


def test_bodies_logged_as_text_are_read_alike(tmp_path: Path) -> None:
    response = {
        "usage": {"prompt_tokens": 7},
        "choices": [{"message": {"role": "assistant", "content": "a"}}],
    }
    rows = [
        {"request": json.dumps(CHAT), "response": json.dumps(response)},
        {"request": {"url": "https://api.openai.com/v1/chat/completions", "body": json.dumps(CHAT)}},
    ]
    first, second = read_rows(tmp_path, *rows).requests
    assert first.usage is not None
    assert first.usage.prompt_tokens == 7
    assert second.model == "gpt-4.1"


def test_a_failed_call_is_skipped_and_said_so(tmp_path: Path) -> None:
    rows = [
        {"request": CHAT, "response": {"status_code": 429, "body": {"error": {"type": "rate_limit"}}}},
        {"request": CHAT, "response": {"error": {"type": "overloaded"}}},
        {"request": CHAT},
    ]
    log = read_rows(tmp_path, *rows, strict=True)
    assert len(log.requests) == 1
    assert log.skipped == {"failed call": 2}


def test_a_response_that_cannot_be_read_keeps_its_request(tmp_path: Path) -> None:
    log = read_rows(tmp_path, {"request": CHAT, "response": {"choices": 5}})
    assert len(log.requests) == 1
    assert any("responses could not be read" in note for note in log.notes)


def claude_trace(number: int, **response: object) -> dict[str, object]:
    return {
        "request": {
            "timestamp": 1000.5 + number,
            "method": "POST",
            "url": "https://api.anthropic.com/v1/messages?beta=true",
            "headers": {"anthropic-beta": "context-1m", "Authorization": "Bearer x"},
            "body": {**CLAUDE, "metadata": {"user_id": "user_ab_account_cd_session_01234567-89ab"}},
        },
        "response": {"timestamp": 1002.5 + number, "status_code": 200, "headers": {}, **response},
        "logged_at": "2026-01-01T00:00:00Z",
    }


EVENTS = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "model": "claude-sonnet-4-5",
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "name": "f", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"a":'},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 12}},
    {"type": "message_stop"},
]


def test_claude_trace_pairs_with_a_streamed_answer(tmp_path: Path) -> None:
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS)
    usage = {
        "input_tokens": 1,
        "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 0,
        "output_tokens": 3,
    }
    rows = [claude_trace(0, body_raw=stream), claude_trace(1, body={"content": [], "usage": usage})]
    streamed, whole = read_rows(tmp_path, *rows).requests
    assert (streamed.time_ns, streamed.end_ns) == (1000 * SECOND + SECOND // 2, 1002 * SECOND + SECOND // 2)
    assert streamed.usage is not None
    assert (streamed.usage.prompt_tokens, streamed.usage.read_tokens, streamed.usage.output_tokens) == (
        10,
        7,
        12,
    )
    assert streamed.output is not None
    assert json.loads(streamed.output.raw) == [
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "name": "f", "input": {"a": 1}},
    ]
    assert streamed.identity.session == "01234567-89ab"
    assert streamed.parameter("anthropic-beta") == "context-1m"
    assert whole.usage is not None
    assert whole.usage.prompt_tokens == 3


def test_http_exchanges_that_are_no_model_call_are_skipped(tmp_path: Path) -> None:
    count = claude_trace(0)
    count["request"]["url"] = "https://api.anthropic.com/v1/messages/count_tokens"  # type: ignore[index]
    log = read_rows(tmp_path, claude_trace(0), count, strict=True)
    assert len(log.requests) == 1
    assert log.skipped == {"not a model call": 1}


def test_claude_code_also_writes_its_user_as_json(tmp_path: Path) -> None:
    user_id = json.dumps({"device_id": "d", "account_uuid": "acc", "session_id": "s9"})
    (request,) = read_rows(tmp_path, {**CLAUDE, "metadata": {"user_id": user_id}}).requests
    assert (request.identity.user, request.identity.session) == ("acc", "s9")
