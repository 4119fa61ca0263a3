"""Requests of any dialect as the OpenAI-style messages and tools that chat templates read.

Strings stay as sent. Tool-call arguments become objects, as serving engines hand them to templates (vLLM does,
read November 2026). Cache markers are left out.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from analyzers.renderings.raw_json import MARKER_KEYS, any_of
from analyzers.request import Dialect, Part, PartKind

Message = dict[str, Any]


@dataclass
class Chat:
    """What a template is given. `origins[i]` is the index of the part that message i comes from."""

    messages: list[Message] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    """Kinds of parts that templates have no place for."""


def chat_of(parts: Iterable[Part]) -> Chat:
    """The messages and tools of a request."""
    chat = Chat()
    for index, part in enumerate(parts):
        value = any_of(part.raw)
        match part.kind:
            case PartKind.TOOLS:
                chat.tools += [tool for entry in _listed(value) for tool in _tools(part.dialect, entry)]
            case PartKind.SYSTEM:
                inner = value.get("parts", value) if isinstance(value, dict) else value
                _add(chat, index, [{"role": "system", "content": _text(inner)}])
            case PartKind.MESSAGE:
                _add(chat, index, _messages(part.dialect, value))
            case _:
                chat.left_out.add(str(part.kind))
    return chat


def answer_messages(dialect: Dialect, values: Iterable[Any]) -> list[Message]:
    """The messages of a logged answer, given as decoded messages or items."""
    chat = Chat()
    for value in values:
        text = isinstance(value, str)
        _add(chat, 0, [{"role": "assistant", "content": value}] if text else _messages(dialect, value))
    return chat.messages


def _add(chat: Chat, origin: int, messages: list[Message]) -> None:
    """Append; a Responses call or reasoning item joins the assistant message in front of it."""
    for message in messages:
        last = chat.messages[-1] if chat.messages else None
        if message.pop("joins", False) and last is not None and last["role"] == "assistant":
            calls = last.get("tool_calls", []) + message.get("tool_calls", [])
            last.update({key: value for key, value in message.items() if value and key != "role"})
            if calls:
                last["tool_calls"] = calls
        else:
            chat.messages.append(message)
            chat.origins.append(origin)


def _messages(dialect: Dialect, value: Any) -> list[Message]:
    """Messages of one value; one that is not built as its dialect says is a user's message, as JSON."""
    try:
        return _MESSAGES[dialect](value)
    except (AttributeError, KeyError, TypeError):
        return [{"role": "user", "content": _json(value)}]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _tools(dialect: Dialect, tool: Any) -> list[dict[str, Any]]:
    if not isinstance(tool, dict):
        return []
    tool = {key: value for key, value in tool.items() if key not in MARKER_KEYS}
    match dialect:
        case Dialect.GEMINI:
            declared = tool.get("functionDeclarations") or tool.get("function_declarations") or []
            return [_function(entry, "parameters") for entry in declared]
        case Dialect.BEDROCK:
            spec = tool.get("toolSpec")
            if not isinstance(spec, dict):
                return []
            schema = spec.get("inputSchema")
            inner = schema.get("json") if isinstance(schema, dict) else schema
            return [_function({**spec, "inputSchema": inner}, "inputSchema")]
        case Dialect.ANTHROPIC:
            return [_function(tool, "input_schema")]
        case Dialect.OPENAI_RESPONSES if tool.get("type") == "function" and "function" not in tool:
            return [_function(tool, "parameters")]
    return [tool if "function" in tool else {"type": "function", "function": tool}]


def _function(tool: dict[str, Any], schema: str) -> dict[str, Any]:
    function: dict[str, Any] = {key: tool[key] for key in ("name", "description") if key in tool}
    if tool.get(schema) is not None:
        function["parameters"] = tool[schema]
    return {"type": "function", "function": function}


def _text(content: Any) -> str:
    """Text of a content: its text blocks joined by line ends, as serving engines do for plain templates."""
    if isinstance(content, str):
        return content
    texts = [block if isinstance(block, str) else block.get("text") for block in _blocks(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _blocks(content: Any) -> list[Any]:
    return [block for block in _listed(content) if isinstance(block, dict | str)]


def _call(name: Any, arguments: Any, call_id: Any = None) -> dict[str, Any]:
    if isinstance(arguments, str):
        parsed = any_of(arguments.encode("utf-8", "surrogatepass"))
        arguments = parsed if isinstance(parsed, dict) else arguments
    call: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return {"id": call_id, **call} if call_id is not None else call


def _openai_chat(value: Any) -> list[Message]:
    if not isinstance(value, dict):
        return [{"role": "user", "content": _text(value)}]
    message = {key: inner for key, inner in value.items() if key not in MARKER_KEYS}
    message.setdefault("role", "user")
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = [
            {key: inner for key, inner in block.items() if key not in MARKER_KEYS}
            if isinstance(block, dict)
            else block
            for block in content
        ]
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        functions = [(call, call.get("function")) for call in calls if isinstance(call, dict)]
        message["tool_calls"] = [
            _call(function.get("name"), function.get("arguments"), call.get("id"))
            for call, function in functions
            if isinstance(function, dict)
        ]
    return [message]


def _responses(value: Any) -> list[Message]:
    if not isinstance(value, dict):
        return [{"role": "user", "content": _text(value)}]
    match value.get("type"):
        case "function_call" | "custom_tool_call":
            arguments = value.get("arguments", value.get("input"))
            call = _call(value.get("name"), arguments, value.get("call_id"))
            return [{"role": "assistant", "content": "", "tool_calls": [call], "joins": True}]
        case "function_call_output" | "custom_tool_call_output":
            content = _text(value.get("output"))
            return [{"role": "tool", "tool_call_id": value.get("call_id"), "content": content}]
        case "reasoning":
            text = _text(value.get("content") or value.get("summary"))
            return [{"role": "assistant", "content": "", "reasoning_content": text}]
    message = {"role": value.get("role", "user"), "content": _text(value.get("content"))}
    return [{**message, "joins": True} if message["role"] == "assistant" else message]


def _anthropic(value: Any) -> list[Message]:
    if not isinstance(value, dict):
        return [{"role": "user", "content": _text(value)}]
    role, content = value.get("role", "user"), value.get("content")
    if not isinstance(content, list):
        return [{"role": role, "content": _text(content)}]
    messages: list[Message] = []
    message: Message = {"role": role, "content": []}
    for block in _blocks(content):
        kind = block.get("type") if isinstance(block, dict) else "text"
        if kind == "tool_use":
            call = _call(block.get("name"), block.get("input"), block.get("id"))
            message.setdefault("tool_calls", []).append(call)
        elif kind == "tool_result":
            text = _text(block.get("content"))
            messages.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text})
        elif kind == "thinking":
            message["reasoning_content"] = message.get("reasoning_content", "") + str(block.get("thinking"))
        else:
            message["content"].append(_plain_block(block))
    return [*messages, *_with_content(message, bool(messages))]


def _gemini(value: Any) -> list[Message]:
    content = value if isinstance(value, dict) else {"parts": value}
    role = "assistant" if content.get("role") == "model" else "user"
    messages: list[Message] = []
    message: Message = {"role": role, "content": []}
    for part in _blocks(content.get("parts", [])):
        inner = part if isinstance(part, dict) else {"text": part}
        call = inner.get("functionCall") or inner.get("function_call")
        response = inner.get("functionResponse") or inner.get("function_response")
        if call:
            made = _call(call.get("name"), call.get("args"), call.get("id"))
            message.setdefault("tool_calls", []).append(made)
        elif response:
            messages.append(
                {"role": "tool", "name": response.get("name"), "content": _json(response.get("response"))}
            )
        elif inner.get("thought") is True:
            message["reasoning_content"] = message.get("reasoning_content", "") + str(inner.get("text"))
        else:
            message["content"].append(_plain_block(inner))
    return [*messages, *_with_content(message, bool(messages))]


def _bedrock(value: Any) -> list[Message]:
    content = value if isinstance(value, dict) else {"content": value}
    messages: list[Message] = []
    message: Message = {"role": content.get("role", "user"), "content": []}
    for block in _blocks(content.get("content", [])):
        inner = block if isinstance(block, dict) else {"text": block}
        use, result = inner.get("toolUse"), inner.get("toolResult")
        if use:
            call = _call(use.get("name"), use.get("input"), use.get("toolUseId"))
            message.setdefault("tool_calls", []).append(call)
        elif result:
            texts = [
                entry["text"] if "text" in entry else _json(entry.get("json"))
                for entry in _blocks(result.get("content", []))
                if isinstance(entry, dict)
            ]
            messages.append(
                {"role": "tool", "tool_call_id": result.get("toolUseId"), "content": "\n".join(texts)}
            )
        elif "reasoningContent" in inner:
            readable = inner["reasoningContent"].get("reasoningText") or {}
            message["reasoning_content"] = message.get("reasoning_content", "") + str(
                readable.get("text", "")
            )
        elif "cachePoint" not in inner:
            message["content"].append(_plain_block(inner))
    return [*messages, *_with_content(message, bool(messages))]


def _plain_block(block: Any) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    text = block.get("text")
    if isinstance(text, str):
        return {"type": "text", "text": text}
    return {"type": "image"} if "image" in str(block.get("type", "")) or "image" in block else dict(block)


def _with_content(message: Message, had_results: bool) -> list[Message]:
    """The message, unless it only held tool results; text alone becomes one string."""
    blocks = message["content"]
    if had_results and not blocks and "tool_calls" not in message:
        return []
    if all(block.get("type") == "text" for block in blocks):
        message["content"] = "\n".join(block["text"] for block in blocks)
    return [message]


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_MESSAGES: dict[Dialect, Callable[[Any], list[Message]]] = {
    Dialect.OPENAI_CHAT: _openai_chat,
    Dialect.OPENAI_RESPONSES: _responses,
    Dialect.ANTHROPIC: _anthropic,
    Dialect.GEMINI: _gemini,
    Dialect.BEDROCK: _bedrock,
}
