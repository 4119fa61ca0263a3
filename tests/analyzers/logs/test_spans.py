"""OpenTelemetry GenAI and OpenInference spans, Langfuse exports and inspect_ai logs."""

import json
from pathlib import Path
from typing import Any

from analyzers.logs.langfuse import NO_INPUT
from analyzers.logs.telemetry import NOT_CAPTURED
from analyzers.request import Dialect, PartKind
from tests.analyzers.logs.session_rows import answered, assistant, read_rows, sent, user

_SYSTEM = {"role": "system", "content": "be kind"}
_TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def _span(**attributes: Any) -> dict[str, Any]:
    return {
        "name": "chat m",
        "context": {"trace_id": "0xt", "span_id": "0xs"},
        "start_time": "2026-01-01T00:00:00.000000Z",
        "end_time": "2026-01-01T00:00:02.000000Z",
        "attributes": attributes,
        "events": [],
    }


def _otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    def value(inner: Any) -> dict[str, Any]:
        return {"intValue": str(inner)} if isinstance(inner, int) else {"stringValue": inner}

    made = [
        {
            "traceId": "t",
            "spanId": "s",
            "name": span["name"],
            "startTimeUnixNano": "1767225600000000000",
            "endTimeUnixNano": "1767225602000000000",
            "attributes": [{"key": k, "value": value(v)} for k, v in span["attributes"].items()],
        }
        for span in spans
    ]
    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {"resourceSpans": [{"resource": service, "scopeSpans": [{"scope": {}, "spans": made}]}]}


_CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.conversation.id": "c1",
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.cache_read.input_tokens": 100,
    "gen_ai.usage.output_tokens": 8,
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "be kind"}]),
    "gen_ai.input.messages": json.dumps(
        [
            {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"b": 1, "a": 2}}],
            },
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": {"ok": True}}]},
        ]
    ),
    "gen_ai.output.messages": json.dumps(
        [{"role": "assistant", "parts": [{"type": "text", "content": "hello"}], "finish_reason": "stop"}]
    ),
    "gen_ai.tool.definitions": json.dumps([_TOOL]),
}


def test_a_gen_ai_span_is_one_call(tmp_path: Path) -> None:
    (request,) = read_rows(tmp_path, _otlp(_span(**_CHAT))).requests
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"b":1,"a":2}'}}
    assert sent(request) == [
        [_TOOL],
        _SYSTEM,
        user("hi"),
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"ok":true}'},
    ]
    assert answered(request) == assistant("hello")
    assert (request.time_ns, request.end_ns) == (1767225600 * 10**9, 1767225602 * 10**9)
    assert (request.model, request.provider) == ("gpt-5", "openai")
    assert (request.identity.session, request.identity.route, request.request_id) == ("c1", "shop", "s")
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.read_tokens) == (120, 100)


def test_flat_spans_and_otlp_give_the_same_parts(tmp_path: Path) -> None:
    flat = read_rows(tmp_path, _span(**_CHAT), name="flat.jsonl").requests[0]
    wrapped = read_rows(tmp_path, _otlp(_span(**_CHAT)), name="otlp.json").requests[0]
    assert sent(flat) == sent(wrapped)
    assert (flat.time_ns, flat.end_ns) == (wrapped.time_ns, wrapped.end_ns)


def test_numbered_prompts_of_openllmetry_are_put_in_order(tmp_path: Path) -> None:
    prompts = {f"gen_ai.prompt.{n}.role": "user" for n in range(11)}
    prompts |= {f"gen_ai.prompt.{n}.content": f"m{n}" for n in range(11)}
    attributes = {
        "llm.request.type": "chat",
        "gen_ai.completion.0.content": "hello",
        "gen_ai.completion.0.role": "assistant",
        "llm.request.functions.0.name": "f",
        "llm.request.functions.0.parameters": '{"type": "object"}',
    }
    (request,) = read_rows(tmp_path, _span(**attributes, **prompts)).requests
    assert sent(request) == [[_TOOL], *(user(f"m{n}") for n in range(11))]
    assert answered(request) == assistant("hello")


def test_messages_in_events_are_read(tmp_path: Path) -> None:
    span = _span(**{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    span["events"] = [
        {"name": "gen_ai.system.message", "attributes": {"content": "be kind"}},
        {"name": "gen_ai.user.message", "attributes": {"content": "hi"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": '{"content": "hello"}'}},
    ]
    (request,) = read_rows(tmp_path, span).requests
    assert sent(request) == [_SYSTEM, user("hi")]
    assert answered(request) == assistant("hello")


def test_spans_that_are_no_calls_or_hold_no_content_are_told_apart(tmp_path: Path) -> None:
    usage = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5}
    log = read_rows(
        tmp_path,
        _otlp(
            _span(**_CHAT),
            _span(**{"http.route": "/"}),
            _span(**{"gen_ai.operation.name": "execute_tool"}),
            _span(**usage),
            _span(**{"gen_ai.operation.name": "chat"}),
        ),
    )
    assert [bool(request.parts) for request in log.requests] == [True, False]
    assert log.skipped == {"not a model call": 2, "no prompt": 1}
    assert NOT_CAPTURED in log.notes


def _open_inference(**more: Any) -> dict[str, Any]:
    return _span(
        **{
            "openinference.span.kind": "LLM",
            "llm.model_name": "claude-x",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": "hi",
            "llm.input_messages.1.message.role": "assistant",
            "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c",
            "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "f",
            "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": "{}",
            "llm.input_messages.2.message.role": "tool",
            "llm.input_messages.2.message.tool_call_id": "c",
            "llm.input_messages.2.message.content": "42",
            "llm.output_messages.0.message.content": "it is 42",
            "llm.tools.0.tool.json_schema": json.dumps(_TOOL),
            "llm.token_count.prompt": 32321,
            "llm.token_count.prompt_details.cache_read": 31559,
            "llm.token_count.prompt_details.cache_write": 760,
            "llm.token_count.completion": 9,
            "llm.invocation_parameters": '{"tool_choice": "auto", "temperature": 1}',
            "session.id": "s1",
        }
        | more
    )


def test_an_open_inference_span_is_one_call(tmp_path: Path) -> None:
    log = read_rows(tmp_path, _open_inference(), _span(**{"openinference.span.kind": "CHAIN"}))
    (request,) = log.requests
    assert set(log.formats.values()) == {"openinference"}
    assert [part.kind for part in request.parts] == [PartKind.TOOLS] + [PartKind.MESSAGE] * 3
    assert sent(request)[1] == {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    assert sent(request)[2]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert sent(request)[3] == {"role": "tool", "content": "42", "tool_call_id": "c"}
    assert answered(request)["content"] == "it is 42"
    assert request.parameter("tool_choice") == "auto"
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.uncached_tokens) == (32321, 2)
    assert request.identity.session == "s1"
    assert log.skipped == {"not a model call": 1}


def test_nested_attributes_read_like_flat_ones(tmp_path: Path) -> None:
    messages = [{"message": {"role": "user", "content": "hi"}}]
    nested = _span(
        openinference={"span": {"kind": "LLM"}}, llm={"input_messages": messages, "model_name": "m"}
    )
    (request,) = read_rows(tmp_path, nested).requests
    assert (sent(request), request.model) == ([user("hi")], "m")


def test_an_input_value_is_read_as_the_body_or_the_text_it_is(tmp_path: Path) -> None:
    llm = {"openinference.span.kind": "LLM", "output.value": "hello"}
    body = json.dumps({"model": "m", "messages": [user("hi")], "tool_choice": "auto"})
    whole, text = read_rows(
        tmp_path, _span(**llm, **{"input.value": body}), _span(**llm, **{"input.value": "hi"})
    ).requests
    assert (sent(whole), whole.parameter("tool_choice")) == ([user("hi")], "auto")
    assert answered(whole) == assistant("hello")
    assert (text.dialect, sent(text), text.output and text.output.raw) == (Dialect.TEXT, ["hi"], b"hello")


def test_a_span_that_follows_both_conventions_is_read_by_the_one_that_holds_its_messages(
    tmp_path: Path,
) -> None:
    (request,) = read_rows(
        tmp_path, _span(**_CHAT, **{"openinference.span.kind": "LLM", "input.value": "x"})
    ).requests
    assert sent(request)[2] == user("hi")


def test_one_unreadable_span_does_not_cost_the_others(tmp_path: Path) -> None:
    odd = _span(**{"openinference.span.kind": "LLM", "input.value": '{"messages": 5}'})
    log = read_rows(tmp_path, _otlp(odd, _span(**_CHAT), odd, _span(**_CHAT)))
    assert (len(log.requests), log.skipped) == (2, {"unexpected shape": 2})


def _generation(**fields: Any) -> dict[str, Any]:
    return {
        "id": "g1",
        "traceId": "t1",
        "type": "GENERATION",
        "name": "answer",
        "startTime": "2026-01-01T00:00:00.000Z",
        "completionStartTime": "2026-01-01T00:00:01.000Z",
        "endTime": "2026-01-01T00:00:02.000Z",
        "model": "gpt-5",
        "input": [user("hi")],
        "output": {"role": "assistant", "content": "hello"},
        "usageDetails": {"input": 20, "input_cached_tokens": 100, "output": 5, "total": 125},
    } | fields


def test_a_langfuse_generation_is_one_call(tmp_path: Path) -> None:
    log = read_rows(tmp_path, _generation(), _generation(type="SPAN"))
    (request,) = log.requests
    assert sent(request) == [user("hi")]
    assert answered(request) == assistant("hello")
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.read_tokens) == (120, 100)
    assert request.first_token_ns is not None
    assert request.time_ns is not None
    assert request.first_token_ns - request.time_ns == 10**9
    assert (request.identity.session, request.identity.route) == ("t1", "answer")
    assert log.skipped == {"not a model call": 1}


def test_langfuse_traces_and_stored_strings_are_unfolded(tmp_path: Path) -> None:
    trace = {
        "id": "t1",
        "sessionId": "chat-1",
        "userId": "u",
        "htmlPath": "/t1",
        "observations": [
            _generation(input=json.dumps({"messages": [user("hi")], "tools": [_TOOL]}), output="hello"),
            _generation(type="SPAN"),
            _generation(input=None, usageDetails=None),
            _generation(input=None),
        ],
    }
    log = read_rows(tmp_path, trace)
    whole, bare = log.requests
    assert sent(whole) == [[_TOOL], user("hi")]
    assert answered(whole) == assistant("hello")
    assert (whole.identity.session, whole.identity.user) == ("chat-1", "u")
    assert (bare.parts, bare.usage and bare.usage.prompt_tokens) == ((), 120)
    assert NO_INPUT in log.notes
    assert (log.records, log.skipped) == (4, {"not a model call": 1, "no prompt": 1})


def _inspect(events: list[dict[str, Any]], **sample: Any) -> dict[str, Any]:
    made = {"id": 1, "epoch": 1, "events": events, "attachments": {"ab12": "a long text"}} | sample
    return {"version": 2, "status": "success", "eval": {"model": "openai/gpt-5"}, "samples": [made]}


def _model_event(**fields: Any) -> dict[str, Any]:
    return {
        "event": "model",
        "timestamp": "2026-01-01T00:00:00+00:00",
        "model": "openai/gpt-5",
        "input": [{"id": "m1", "source": "input", "role": "user", "content": "attachment://ab12"}],
        "tools": [],
        "output": {
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": "ok",
                        "tool_calls": [{"id": "c", "function": "f", "arguments": {"a": 1}}],
                    }
                }
            ],
            "usage": {"input_tokens": 100, "input_tokens_cache_read": 64, "output_tokens": 3},
        },
    } | fields


def test_a_model_event_of_inspect_is_one_call(tmp_path: Path) -> None:
    events = [{"event": "state"}, _model_event(), _model_event(tools=[{"name": "f", "parameters": {}}])]
    log = read_rows(tmp_path, _inspect(events))
    first, second = log.requests
    assert sent(first) == [user("a long text")]
    assert answered(first)["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a":1}'}
    assert [part.kind for part in second.parts] == [PartKind.TOOLS, PartKind.MESSAGE]
    assert second.parts[1] is first.parts[0]
    assert first.usage is not None
    assert (first.usage.prompt_tokens, first.usage.read_tokens) == (100, 64)
    assert (first.provider, first.model, first.identity.session) == ("openai", "gpt-5", "sample 1 epoch 1")


def test_the_request_that_inspect_kept_is_preferred_and_pooled_messages_are_found(tmp_path: Path) -> None:
    request = {
        "model": "claude-x",
        "system": [{"type": "text", "text": "attachment://ab12"}],
        "messages": [user("hi")],
    }
    response = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "yes"}],
    }
    kept = _model_event(model="anthropic/claude-x", call={"request": request, "response": response})
    pooled = _model_event(input=[], input_refs=[[0, 1]])
    log = read_rows(tmp_path, _inspect([kept, pooled], events_data={"messages": [user("pooled")]}))
    assert log.requests[0].dialect is Dialect.ANTHROPIC
    assert sent(log.requests[0]) == [[{"type": "text", "text": "a long text"}], user("hi")]
    assert sent(log.requests[1]) == [user("pooled")]


def test_an_answer_from_inspects_own_cache_is_no_call(tmp_path: Path) -> None:
    log = read_rows(tmp_path, _inspect([_model_event(), _model_event(cache="read")]))
    assert (len(log.requests), log.skipped) == (1, {"not a model call": 1})
