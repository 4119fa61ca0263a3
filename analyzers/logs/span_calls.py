"""The model call that a span tells of, in Chat messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from analyzers.logs.spans import Span


@dataclass(slots=True)
class SpanCall:
    """What a span says of its call.

    Messages and the answer are Chat message objects, `prompt` is a plain text, and `whole_input` is whatever the
    application handed over: a body or messages as JSON, or a text.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    prompt: str | None = None
    whole_input: str | None = None
    tools: list[Any] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    model: str | None = None
    provider: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def has_prompt(self) -> bool:
        return bool(self.messages) or self.prompt is not None or self.whole_input is not None


def text(attributes: Mapping[str, Any], *names: str) -> str | None:
    """The first of the attributes that is there, as text."""
    for name in names:
        value = attributes.get(name)
        if value is not None and value != "":
            return value if isinstance(value, str) else str(value)
    return None


def parsed(value: Any) -> Any:
    """A value that may be written as JSON text; the text itself if it is none."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def json_text(value: Any) -> str:
    """Text as it is, anything else as JSON: how arguments and results of calls are sent."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def tool_call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """One entry of a Chat message's `tool_calls`."""
    function = {"name": name, "arguments": json_text({} if arguments is None else arguments)}
    return {"id": call_id, "type": "function", "function": function}


def session_of(span: Span) -> str | None:
    """The conversation a span belongs to; its trace where no attribute names one."""
    return (
        text(
            span.attributes,
            "session.id",
            "gen_ai.conversation.id",
            "langfuse.session.id",
            "traceloop.association.properties.session_id",
            "thread.id",
        )
        or span.trace_id
    )


def user_of(span: Span) -> str | None:
    return text(span.attributes, "user.id", "enduser.id", "langfuse.user.id")
