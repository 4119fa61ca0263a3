"""LiteLLM's two ways of writing down a call."""

import json
from pathlib import Path
from typing import Any

from tests.analyzers.logs.writing import raw_parts, read_rows, user

MESSAGES = [user("hi")]
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}


def spend(**more: Any) -> dict[str, Any]:
    return {
        "request_id": "r1",
        "call_type": "acompletion",
        "startTime": "2026-01-01 00:00:00.250000",
        "endTime": "2026-01-01 00:00:02.000000",
        "completionStartTime": "2026-01-01 00:00:01.000000",
        "model": "anthropic/claude-sonnet-4-5",
        "custom_llm_provider": "anthropic",
        "metadata": json.dumps({"usage_object": USAGE, "user_api_key_team_id": "team"}),
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "total_tokens": 11,
        "spend": 0.5,
        "messages": "{}",
        "response": "{}",
        "cache_hit": "None",
        "session_id": "s1",
        **more,
    }


def test_a_spend_row_without_prompts_counts_with_its_usage(tmp_path: Path) -> None:
    log = read_rows(tmp_path, spend())
    (request,) = log.requests
    assert request.parts == ()
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.read_tokens) == (9, 4)
    assert str(request.usage.reported_cost) == "0.5"
    assert (request.identity.session, request.identity.workspace) == ("s1", "team")
    assert request.time_ns is not None
    assert request.first_token_ns == request.time_ns + 750_000_000
    assert request.end_ns == request.time_ns + 1_750_000_000
    assert any("store_prompts_in_spend_logs" in note for note in log.notes)


def test_a_spend_row_with_stored_prompts_has_tools_and_messages_in_chat_form(tmp_path: Path) -> None:
    request_body = {
        "model": "x",
        "messages": MESSAGES,
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    rows = [
        spend(messages=json.dumps(MESSAGES)),
        spend(proxy_server_request=json.dumps(request_body)),
        spend(proxy_server_request={"url": "http://proxy", "body": request_body}),
    ]
    first, second, third = read_rows(tmp_path, *rows).requests
    assert raw_parts(first) == [("message", json.dumps(MESSAGES[0]))]
    assert [kind for kind, _ in raw_parts(second)] == ["tools", "message"]
    assert raw_parts(third) == raw_parts(second)
    assert {r.dialect.value for r in (first, second, third)} == {"openai-chat"}
    assert {r.model for r in (first, second, third)} == {"anthropic/claude-sonnet-4-5"}


def test_a_standard_logging_payload_carries_prompt_usage_and_answer(tmp_path: Path) -> None:
    row = {
        "id": "c1",
        "trace_id": "t1",
        "call_type": "completion",
        "startTime": 1000.5,
        "endTime": 1001.0,
        "completionStartTime": 1000.75,
        "model": "gpt-4.1",
        "custom_llm_provider": "openai",
        "messages": MESSAGES,
        "response": {"choices": [{"message": {"role": "assistant", "content": "ok"}}], "usage": USAGE},
        "model_parameters": {"reasoning_effort": "low", "temperature": 1},
        "response_cost": 0.25,
        "cache_hit": None,
        "status": "success",
    }
    (request,) = read_rows(tmp_path, row).requests
    assert request.time_ns == 1000_500_000_000
    assert request.usage is not None
    assert request.usage.read_tokens == 4
    assert request.parameter("reasoning_effort") == "low"
    assert request.output is not None
    assert request.identity.session == "t1"


def test_what_never_reached_a_model_is_skipped_by_reason(tmp_path: Path) -> None:
    rows = [spend(), spend(cache_hit="True"), spend(status="failure"), spend(call_type="aembedding")]
    log = read_rows(tmp_path, *rows, strict=True)
    assert len(log.requests) == 1
    assert log.skipped == {"answered from a response cache": 1, "failed call": 1, "not a model call": 1}
