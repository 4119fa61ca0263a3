"""Whatever stands in whatever place of a record, it is read or skipped with a reason, and the account balances."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.errors import PcacheError
from tests.analyzers.logs.session_rows import assistant, read_rows, user

_CHAT = [{"role": "system", "content": "s"}, user("hi"), assistant("hello")]
_CALLS = [{"id": "c", "function": "f", "arguments": {"a": 1}}]
_SPAN = {
    "name": "chat",
    "context": {"trace_id": "t", "span_id": "s"},
    "start_time": 1_700_000_000,
    "attributes": {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "x"}]}]),
    },
    "events": [{"name": "gen_ai.user.message", "attributes": {"content": "x"}}],
}
_OPEN_INFERENCE = {
    "openinference": {"span": {"kind": "LLM"}},
    "llm": {
        "input_messages": [{"message": {"role": "user", "contents": [{"message_content": {"text": "x"}}]}}],
        "tools": [{"tool": {"json_schema": "{}"}}],
        "token_count": {"prompt": 3},
    },
}
_EVENT = {
    "event": "model",
    "timestamp": "2026-01-01T00:00:00Z",
    "model": "openai/m",
    "input": [user("x"), assistant("y") | {"tool_calls": _CALLS}],
    "output": {"choices": [{"message": assistant("z")}], "usage": {"input_tokens": 3}},
    "call": {"request": {"messages": [user("x")]}, "response": {"choices": [{"message": assistant("z")}]}},
}
_OPENHANDS = {
    "id": 3,
    "timestamp": "2025-05-01T00:00:00",
    "source": "agent",
    "action": "run",
    "args": {"content": "x", "tools": [{}]},
    "content": "y",
    "tool_call_metadata": {
        "function_name": "f",
        "tool_call_id": "c",
        "model_response": {
            "id": "r",
            "choices": [{"message": assistant("z")}],
            "usage": {"prompt_tokens": 3},
        },
    },
}
_ATIF = {
    "schema_version": "ATIF-v1.6",
    "session_id": "s",
    "agent": {"name": "a", "version": "1", "model_name": "m", "tool_definitions": [{}]},
    "steps": [
        {"source": "user", "message": "x", "timestamp": "2026-01-01T00:00:00Z"},
        {
            "source": "agent",
            "message": "y",
            "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
            "observation": {"results": [{"source_call_id": "c", "content": "z"}]},
            "metrics": {"prompt_tokens": 3, "cost_usd": 1},
        },
    ],
}
_OTLP_SPAN = {
    "traceId": "t",
    "spanId": "s",
    "startTimeUnixNano": "1767225600000000000",
    "attributes": [{"key": "gen_ai.prompt.0.content", "value": {"stringValue": "x"}}],
}
RECORDS: dict[str, Any] = {
    "claude-code": {
        "type": "assistant",
        "uuid": "u",
        "parentUuid": None,
        "sessionId": "s",
        "requestId": "r",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {
            "id": "m",
            "role": "assistant",
            "content": [{"type": "text"}],
            "usage": {"output_tokens": 1},
        },
    },
    "codex": {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "x"}],
        },
    },
    "tau-bench": {"task_id": 0, "trial": 0, "traj": _CHAT},
    "swe-agent": {"history": _CHAT, "trajectory": [{"query": _CHAT, "response": "x"}]},
    "openhands": _OPENHANDS,
    "openhands row": {"instance_id": "i", "history": [_OPENHANDS]},
    "atif": _ATIF | {"subagent_trajectories": [_ATIF]},
    "inspect-ai": {
        "eval": {},
        "status": "s",
        "samples": [{"id": 1, "attachments": {"a": "b"}, "events": [_EVENT]}],
    },
    "langfuse": {"id": "g", "traceId": "t", "type": "GENERATION", "input": _CHAT[:2], "usage": {"input": 3}},
    "langfuse trace": {"id": "t", "observations": [{"type": "GENERATION", "input": "x", "output": {"x": 1}}]},
    "opentelemetry": _SPAN,
    "otlp": {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [_OTLP_SPAN]}]}]},
    "openinference": _SPAN | {"attributes": _OPEN_INFERENCE},
    "lmcache": {"timestamp": 1760587752017385, "input": "x", "output": "y", "session_id": "s"},
    "hash-trace": {"timestamp": 1, "input_length": 600, "output_length": 1, "hash_ids": [1, 2], "chat_id": 3},
    "token-ids": {"prompt": [1, 2], "output": [3], "usage": {"prompt_tokens": 2}},
    "aibrix": {"timestamp": 1, "requests": [{"Prompt Length": 3, "prompt": "x"}]},
    "cache-objects": {"call": 1, "cache_object": "c", "prefix_tokens": 3, "cache_len_before": 3},
    "prompts": {"question": "x", "ts": 1, "usage": {"prompt_tokens": 3}, "output": "y"},
}
_ODD = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        2**70,
        "",
        "x",
        "[",
        '[{"role":1}]',
        "{}",
        [],
        {},
        [None],
        [[]],
        [1],
        [{}],
        {"x": 1},
    ]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _places(each, (*path, key))


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copied


@pytest.mark.parametrize("name", RECORDS)
@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_odd_value_anywhere_is_read_or_skipped(tmp_path: Path, name: str, data: st.DataObject) -> None:
    record = RECORDS[name]
    places = data.draw(st.lists(st.sampled_from(list(_places(record))), min_size=1, max_size=2))
    odd = record
    for place in sorted(set(places), key=len, reverse=True):
        odd = _replaced(odd, place, data.draw(_ODD))
    try:
        log = read_rows(tmp_path, record, odd)
    except PcacheError:
        return
    for request in log.requests:
        assert len(list(request.part_paths())) == len(request.parts)


@pytest.mark.parametrize("name", RECORDS)
def test_the_undamaged_record_is_read_as_its_format(tmp_path: Path, name: str) -> None:
    log = read_rows(tmp_path, RECORDS[name])
    expected = {"openhands row": "openhands", "langfuse trace": "langfuse", "otlp": "opentelemetry"}
    assert list(log.formats.values()) == [expected.get(name, name)]
    assert log.requests
