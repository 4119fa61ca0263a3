"""Model calls in spans of the OpenTelemetry GenAI conventions, in each of the forms they have had.

Messages lie in `gen_ai.input.messages` (attribute or event, since 1.37), in events of one message each (1.28 to
1.36), in `gen_ai.prompt.N.*` (OpenLLMetry), as JSON in `gen_ai.prompt`, or in `ai.prompt.messages` (Vercel AI SDK).
Source: OpenTelemetry semantic conventions for generative AI, read November 2026.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from analyzers.logs.span_calls import SpanCall, json_text, parsed, text, tool_call
from analyzers.logs.spans import Span, numbered

_NO_CALLS = {
    "embeddings",
    "embedding",
    "execute_tool",
    "create_agent",
    "invoke_agent",
    "invoke_workflow",
    "retrieval",
    "rerank",
}
_DETAILS = "gen_ai.client.inference.operation.details"
_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CONTENT_PARTS = {"text", "tool_call", "tool_call_response", "reasoning"}


def is_gen_ai(attributes: Mapping[str, Any]) -> bool:
    """Whether the attributes follow these conventions."""
    return any(name.startswith(("gen_ai.", "ai.prompt.")) for name in attributes)


def gen_ai_call(span: Span) -> SpanCall | None:
    """The call of a span, None if the span is no model call. Without captured content it has no messages."""
    attributes = dict(span.attributes)
    for event in span.events:
        if event.name in (_DETAILS, "gen_ai.content.prompt", "gen_ai.content.completion"):
            attributes |= event.attributes
    operation = text(attributes, "gen_ai.operation.name", "llm.request.type")
    if operation in _NO_CALLS or text(attributes, "ai.operationId") in ("ai.generateText", "ai.streamText"):
        return None
    call = SpanCall(
        model=text(attributes, "gen_ai.response.model", "gen_ai.request.model", "ai.model.id"),
        provider=text(attributes, "gen_ai.provider.name", "gen_ai.system", "ai.model.provider"),
        usage={name: value for name, value in attributes.items() if name.startswith("gen_ai.usage.")},
        tools=_tools(attributes),
    )
    _fill_messages(call, attributes, span)
    if operation is None and not call.messages and call.prompt is None and not call.usage:
        return None
    return call


def _fill_messages(call: SpanCall, attributes: Mapping[str, Any], span: Span) -> None:
    system = parsed(attributes.get("gen_ai.system_instructions"))
    if system:
        parts = system if isinstance(system, list) else [{"type": "text", "content": json_text(system)}]
        call.messages += chat_messages({"role": "system", "parts": parts})
    found = parsed(attributes.get("gen_ai.input.messages", attributes.get("ai.prompt.messages")))
    if isinstance(found, list):
        call.messages += [message for each in found for message in chat_messages(each)]
        outputs = parsed(attributes.get("gen_ai.output.messages"))
        if isinstance(outputs, list) and outputs:
            call.answer = next(iter(chat_messages(outputs[0])), None)
        return
    indexed = numbered(attributes, "gen_ai.prompt")
    if indexed:
        call.messages += [_indexed_message(each) for each in indexed]
        answers = numbered(attributes, "gen_ai.completion")
        call.answer = _indexed_message({"role": "assistant"} | answers[0]) if answers else None
        return
    prompt = parsed(attributes.get("gen_ai.prompt"))
    if isinstance(prompt, list):
        call.messages += [message for each in prompt for message in chat_messages(each)]
    elif isinstance(prompt, str):
        call.prompt = prompt
    else:
        call.messages += list(_event_messages(span))
        call.answer = next(_choices(span), None)
    completion = parsed(attributes.get("gen_ai.completion"))
    if isinstance(completion, list) and completion:
        call.answer = next(iter(chat_messages(completion[0])), None)
    elif isinstance(completion, str):
        call.answer = {"role": "assistant", "content": completion}


def chat_messages(message: Any) -> list[dict[str, Any]]:
    """A message of `{role, parts}` as Chat messages: one, or one for each tool result. Others stay as they are."""
    if not isinstance(message, dict) or "role" not in message:
        return []
    parts = message.get("parts")
    if not isinstance(parts, list):
        return [message]
    parts = [
        part if isinstance(part, dict) else {"type": "text", "content": json_text(part)} for part in parts
    ]
    results = [
        {
            "role": "tool",
            "tool_call_id": part.get("id"),
            "content": json_text(part.get("response", part.get("result", ""))),
        }
        for part in parts
        if part.get("type") == "tool_call_response"
    ]
    texts = [json_text(part.get("content", "")) for part in parts if part.get("type") == "text"]
    others = [part for part in parts if part.get("type") not in _CONTENT_PARTS]
    calls = [
        tool_call(part.get("id"), part.get("name"), part.get("arguments"))
        for part in parts
        if part.get("type") == "tool_call"
    ]
    thoughts = [json_text(part.get("content", "")) for part in parts if part.get("type") == "reasoning"]
    if results and not (texts or others or calls):
        return results
    content: Any = texts[0] if texts else ""
    if len(texts) > 1 or others:
        content = [{"type": "text", "text": each} for each in texts] + others
    made: dict[str, Any] = {"role": message["role"], "content": content}
    if message.get("name"):
        made["name"] = message["name"]
    if thoughts:
        made["reasoning_content"] = "\n".join(thoughts)
    if calls:
        made["tool_calls"] = calls
    return [made, *results]


def _indexed_message(fields: Mapping[str, Any]) -> dict[str, Any]:
    content = fields.get("content")
    blocks = parsed(content)
    made: dict[str, Any] = {"role": fields.get("role", "user")}
    # OpenLLMetry writes a list of content blocks as its JSON.
    made["content"] = (
        blocks if isinstance(blocks, list) and blocks and isinstance(blocks[0], dict) else content
    )
    if fields.get("tool_call_id"):
        made["tool_call_id"] = fields["tool_call_id"]
    calls = numbered(fields, "tool_calls")
    if calls:
        made["tool_calls"] = [
            tool_call(each.get("id"), each.get("name"), each.get("arguments")) for each in calls
        ]
    return made


def _event_messages(span: Span) -> Iterator[dict[str, Any]]:
    for event in span.events:
        role = _EVENT_ROLES.get(event.name)
        if role is not None:
            yield _event_message(event.attributes, role)


def _choices(span: Span) -> Iterator[dict[str, Any]]:
    for event in span.events:
        if event.name == "gen_ai.choice":
            message = parsed(event.attributes.get("message"))
            fields = (
                dict(message)
                if isinstance(message, dict)
                else {name.removeprefix("message."): value for name, value in event.attributes.items()}
            )
            yield _event_message(fields, "assistant")


def _event_message(fields: Mapping[str, Any], role: str) -> dict[str, Any]:
    made: dict[str, Any] = {"role": fields.get("role", role), "content": fields.get("content", "")}
    if role == "tool" and fields.get("id"):
        made["tool_call_id"] = fields["id"]
    calls = parsed(fields.get("tool_calls"))
    if isinstance(calls, list) and calls:
        made["tool_calls"] = calls
    return made


def _tools(attributes: Mapping[str, Any]) -> list[Any]:
    found = parsed(attributes.get("gen_ai.tool.definitions", attributes.get("ai.prompt.tools")))
    if isinstance(found, list):
        return [parsed(each) for each in found]
    return [
        {
            "type": "function",
            "function": {
                name: parsed(value) if name == "parameters" else value for name, value in each.items()
            },
        }
        for each in numbered(attributes, "llm.request.functions")
    ]
