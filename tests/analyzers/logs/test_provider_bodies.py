"""Bodies of each provider's API: which parts they have, in which order, byte for byte as sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.request import Dialect, PartKind
from tests.analyzers.logs.writing import raw_parts, read_rows, user

TOOL = '{"type": "function", "function": {"name": "f", "parameters": {"b": 1, "a": 2}}}'
CLAUDE_TOOL = '{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}'


def test_chat_parts_are_schema_tools_messages_exactly_as_sent(tmp_path: Path) -> None:
    schema = '{"type":"json_schema","json_schema":{"name":"s","schema":{"z":1,"a":2}}}'
    first, second = r'{"role":"system","content":"caf\u00e9"}', '{"content": "hi",  "role": "user"}'
    row = f'{{"messages":[{first}, {second}],"model":"gpt-4.1","tools":[{TOOL}],"response_format":{schema}}}'
    (request,) = read_rows(tmp_path, row).requests
    assert raw_parts(request) == [
        ("schema", schema),
        ("tools", f"[{TOOL}]"),
        ("message", first),
        ("message", second),
    ]
    assert list(request.part_paths()) == ["response_format", "tools", "messages[0]", "messages[1]"]
    assert request.model == "gpt-4.1"
    assert request.provider == "openai"


def test_the_same_bytes_are_one_part_and_other_key_order_is_another(tmp_path: Path) -> None:
    rows = [
        '{"model":"m","messages":[{"role":"user","content":"hi"}]}',
        '{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":"hi"}]}',
        '{"model":"m","messages":[{"content":"hi","role":"user"}]}',
    ]
    first, second, third = read_rows(tmp_path, *rows).requests
    assert second.parts == (first.parts[0], first.parts[0])
    assert third.parts[0] is not first.parts[0]


def test_a_json_object_format_is_a_parameter_and_no_schema(tmp_path: Path) -> None:
    row = {"model": "m", "messages": [user("hi")], "response_format": {"type": "json_object"}}
    (request,) = read_rows(tmp_path, row).requests
    assert [part.kind for part in request.parts] == [PartKind.MESSAGE]
    assert request.parameter("response_format") == {"type": "json_object"}


def test_chat_parameters_of_the_cache_key_are_kept_and_the_others_not(tmp_path: Path) -> None:
    row = {
        "model": "gpt-5.6",
        "messages": [user("hi")],
        "tool_choice": "required",
        "reasoning_effort": "high",
        "verbosity": "low",
        "parallel_tool_calls": False,
        "prompt_cache_options": {"mode": "explicit"},
        "prompt_cache_retention": "24h",
        "service_tier": "flex",
        "web_search_options": {},
        "temperature": 0.3,
        "max_tokens": 9,
        "prompt_cache_key": "desk",
        "user": "u1",
    }
    (request,) = read_rows(tmp_path, row).requests
    assert {name for name, _ in request.parameters} == set(row) - {
        "model",
        "messages",
        "temperature",
        "max_tokens",
        "prompt_cache_key",
        "user",
    }
    assert request.parameter("reasoning_effort") == "high"
    assert request.parameter("prompt_cache_options") == {"mode": "explicit"}
    assert (request.identity.prompt_cache_key, request.identity.user) == ("desk", "u1")


def test_null_fields_are_as_good_as_missing(tmp_path: Path) -> None:
    row = {"model": "m", "messages": [user("hi")], "tools": None, "tool_choice": None, "user": None}
    (request,) = read_rows(tmp_path, row).requests
    assert len(request.parts) == 1
    assert request.parameters == ()
    assert request.identity.user is None


def test_responses_parts_are_schema_tools_instructions_input(tmp_path: Path) -> None:
    row = {
        "model": "gpt-5",
        "input": [{"role": "user", "content": "hi"}, {"type": "function_call_output", "output": "1"}],
        "instructions": "be brief",
        "tools": [{"type": "web_search"}],
        "text": {"format": {"type": "json_schema", "name": "s", "schema": {}}, "verbosity": "low"},
        "reasoning": {"effort": "low"},
    }
    (request,) = read_rows(tmp_path, row).requests
    assert request.dialect is Dialect.OPENAI_RESPONSES
    assert list(request.part_paths()) == ["text.format", "tools", "instructions", "input[0]", "input[1]"]
    assert request.parameter("text.verbosity") == "low"
    assert request.parameter("reasoning") == {"effort": "low"}


def test_a_text_input_is_one_item_and_a_stored_conversation_is_said_to_be_missing(tmp_path: Path) -> None:
    log = read_rows(tmp_path, {"model": "gpt-5", "input": "hi", "previous_response_id": "resp_1"})
    assert raw_parts(log.requests[0]) == [("message", '"hi"')]
    assert any("previous_response_id" in note for note in log.notes)


def test_messages_parts_are_tools_system_messages_with_their_markers(tmp_path: Path) -> None:
    system = '[{"type":"text","text":"long","cache_control":{"type":"ephemeral","ttl":"1h"}}]'
    message = '{"role":"user","content":[{"type":"text","text":"hi"}]}'
    row = (
        f'{{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{message}],"system":{system},'
        f'"tools":[{CLAUDE_TOOL}],"thinking":{{"type":"enabled","budget_tokens":1024}},'
        '"tool_choice":{"type":"auto"},"cache_control":{"type":"ephemeral"},"speed":"fast"}'
    )
    (request,) = read_rows(tmp_path, row).requests
    assert request.dialect is Dialect.ANTHROPIC
    assert raw_parts(request) == [("tools", f"[{CLAUDE_TOOL}]"), ("system", system), ("message", message)]
    assert [name for name, _ in request.parameters] == ["tool_choice", "thinking", "cache_control", "speed"]
    assert request.provider == "anthropic"


def test_gemini_parts_are_schema_tools_system_contents(tmp_path: Path) -> None:
    row = {
        "model": "gemini-2.5-flash",
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [{"functionDeclarations": []}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "temperature": 1,
            "responseSchema": {"type": "OBJECT"},
            "thinkingConfig": {"n": 1},
        },
        "cachedContent": "cachedContents/1",
    }
    (request,) = read_rows(tmp_path, row).requests
    assert request.dialect is Dialect.GEMINI
    assert list(request.part_paths()) == [
        "generationConfig.responseSchema",
        "tools",
        "systemInstruction",
        "contents[0]",
    ]
    assert request.parameter("toolConfig") == {"functionCallingConfig": {"mode": "ANY"}}
    assert request.parameter("cachedContent") == "cachedContents/1"
    assert request.parameter("generationConfig.thinkingConfig") == {"n": 1}


def test_converse_keeps_its_cache_points(tmp_path: Path) -> None:
    tools = '[{"toolSpec":{"name":"f"}},{"cachePoint":{"type":"default"}}]'
    system = '[{"text":"be brief"},{"cachePoint":{"type":"default"}}]'
    row = (
        '{"modelId":"amazon.nova-pro-v1:0","messages":[{"role":"user","content":[{"text":"hi"}]}],'
        f'"system":{system},"toolConfig":{{"toolChoice":{{"any":{{}}}},"tools":{tools}}}}}'
    )
    (request,) = read_rows(tmp_path, row).requests
    assert request.dialect is Dialect.BEDROCK
    assert raw_parts(request)[:2] == [("tools", tools), ("system", system)]
    assert request.parameter("toolConfig.toolChoice") == {"any": {}}
    assert (request.model, request.provider) == ("amazon.nova-pro-v1:0", "bedrock")


def test_invoke_model_with_a_claude_body_is_messages_on_bedrock(tmp_path: Path) -> None:
    row = {"anthropic_version": "bedrock-2023-05-31", "messages": [user("hi")], "max_tokens": 5}
    (request,) = read_rows(tmp_path, row).requests
    assert (request.dialect, request.provider) == (Dialect.ANTHROPIC, "bedrock")


@pytest.mark.parametrize(
    ("row", "dialect"),
    [
        ({"messages": [user("hi")], "tools": json.loads(f"[{TOOL}]")}, Dialect.OPENAI_CHAT),
        ({"messages": [user("hi")], "tools": json.loads(f"[{CLAUDE_TOOL}]")}, Dialect.ANTHROPIC),
        ({"messages": [user("hi")], "system": "be brief"}, Dialect.ANTHROPIC),
        ({"messages": [user("hi")], "system": [{"text": "be brief"}]}, Dialect.BEDROCK),
        ({"messages": [user("hi")], "system": [{"type": "text", "text": "x"}]}, Dialect.ANTHROPIC),
        ({"messages": [user("hi")], "inferenceConfig": {}}, Dialect.BEDROCK),
        ({"messages": [user("hi")]}, Dialect.OPENAI_CHAT),
    ],
)
def test_the_dialect_is_told_by_the_body(tmp_path: Path, row: dict[str, Any], dialect: Dialect) -> None:
    (request,) = read_rows(tmp_path, {"model": "m", **row}).requests
    assert request.dialect is dialect


def test_the_provider_of_a_row_tells_bodies_apart_that_look_alike(tmp_path: Path) -> None:
    body = {"model": "m", "messages": [user("hi")]}
    rows = [{"provider": name, "request": body} for name in ("anthropic", "openai", "anthropic-compatible")]
    requests = read_rows(tmp_path, *rows).requests
    assert [r.dialect.value for r in requests] == ["anthropic", "openai-chat", "anthropic"]
    assert [r.provider for r in requests] == ["anthropic", "openai", "anthropic-compatible"]
