"""Model calls in OpenInference spans (Phoenix, Arize): `llm.input_messages.N.message.*` and its relatives.

A span without messages may hold the body or the text that was sent in `input.value`.
`llm.token_count.prompt` includes what was read from and written to the cache.
Source: OpenInference semantic conventions, read November 2026.
"""

from collections.abc import Mapping
from typing import Any

from analyzers.logs.span_calls import SpanCall, parsed, text, tool_call
from analyzers.logs.spans import Span, numbered

_USAGE = "llm.token_count."


def is_open_inference(attributes: Mapping[str, Any]) -> bool:
    """Whether the attributes follow these conventions."""
    return "openinference.span.kind" in attributes or any(
        name.startswith(("llm.input_messages", _USAGE, "llm.model_name")) for name in attributes
    )


def open_inference_call(span: Span) -> SpanCall | None:
    """The call of a span, None if the span is no model call. Without captured content it has no messages."""
    attributes = span.attributes
    kind = attributes.get("openinference.span.kind", "LLM")
    if kind != "LLM":
        return None
    call = SpanCall(
        model=text(attributes, "llm.model_name"),
        provider=text(attributes, "llm.provider", "llm.system"),
        usage={name: value for name, value in attributes.items() if name.startswith(_USAGE)},
        tools=[parsed(each.get("tool.json_schema")) for each in numbered(attributes, "llm.tools")],
    )
    parameters = parsed(attributes.get("llm.invocation_parameters"))
    if isinstance(parameters, dict):
        call.parameters = parameters
        if not call.tools and isinstance(parameters.get("tools"), list):
            call.tools = parameters["tools"]
    call.messages = [_message(each) for each in numbered(attributes, "llm.input_messages")]
    answers = numbered(attributes, "llm.output_messages")
    if answers:
        call.answer = _message({"message.role": "assistant"} | answers[0])
    prompts = numbered(attributes, "llm.prompts")
    if not call.messages and len(prompts) == 1:
        call.prompt = text(prompts[0], "prompt.text", "prompt")
    if not call.messages and call.prompt is None:
        call.whole_input = text(attributes, "input.value")
    if call.answer is None and text(attributes, "output.value"):
        call.answer = {"role": "assistant", "content": text(attributes, "output.value")}
    return call


def _message(fields: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"role": fields.get("message.role", "user")}
    blocks = numbered(fields, "message.contents")
    made["content"] = [_block(block) for block in blocks] if blocks else fields.get("message.content")
    for name in ("name", "tool_call_id"):
        if fields.get(f"message.{name}"):
            made[name] = fields[f"message.{name}"]
    calls = numbered(fields, "message.tool_calls")
    if calls:
        made["tool_calls"] = [
            tool_call(
                each.get("tool_call.id"),
                each.get("tool_call.function.name"),
                each.get("tool_call.function.arguments"),
            )
            for each in calls
        ]
    return made


def _block(fields: Mapping[str, Any]) -> dict[str, Any]:
    kind = fields.get("message_content.type", "text")
    image = fields.get("message_content.image.image.url")
    if image is not None:
        return {"type": "image_url", "image_url": {"url": image}}
    return {"type": kind, "text": fields.get("message_content.text", "")}
