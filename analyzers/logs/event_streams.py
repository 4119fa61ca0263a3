"""Streamed responses put together again: server-sent events and the event frames of Bedrock.

Event shapes: the streaming references of the Messages, Chat Completions, Responses, generateContent and
Converse APIs and of Cohere's chat, read November 2026.
"""

import base64
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

Event = dict[str, Any]


def response_of_stream(text: str) -> Event | None:
    """The response that a stream of events amounts to, as the API gives it unstreamed; None if it is none."""
    events = list(server_sent_events(text))
    return response_of_events(events) if events else None


def server_sent_events(text: str) -> Iterator[Event]:
    """The JSON objects of the data lines. What is cut or no JSON is left out."""
    data: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            event = _decoded("\n".join(data))
            if isinstance(event, dict):
                yield event
            data = []


def response_of_events(events: list[Event]) -> Event | None:
    """The response made of decoded events of any dialect."""
    kinds = {str(event.get("type", "")) for event in events}
    if "message_start" in kinds:
        return _messages(events)
    if any(kind.startswith("response.") for kind in kinds):
        finished = [event["response"] for event in events if isinstance(event.get("response"), dict)]
        return finished[-1] if finished else None
    if any("choices" in event for event in events):
        return _chat(events)
    if any("candidates" in event for event in events):
        return _gemini(events)
    if "message-start" in kinds or "message-end" in kinds:
        return _cohere(events)
    if any("messageStart" in event or "metadata" in event for event in events):
        return _converse(events)
    return None


def bedrock_events(frames: bytes) -> Iterator[Event]:
    """The events of `application/vnd.amazon.eventstream` frames; a cut last frame ends it.

    A frame is: total length, header length, checksum (big-endian uint32 each), headers, payload, checksum.
    """
    position = 0
    while position + 16 <= len(frames):
        total, header_length = struct.unpack_from(">II", frames, position)
        if total < 16 or position + total > len(frames):
            return
        start = position + 12
        kind = _event_type(frames[start : start + header_length])
        payload = _decoded(frames[start + header_length : position + total - 4])
        position += total
        if not isinstance(payload, dict):
            continue
        if isinstance(payload.get("bytes"), str):  # InvokeModel wraps the model's own events
            inner = _decoded(base64.b64decode(payload["bytes"]))
            if isinstance(inner, dict):
                yield inner
        else:
            yield {kind: payload}


def _event_type(headers: bytes) -> str:
    position = 0
    while position < len(headers):
        name_length = headers[position]
        name = headers[position + 1 : position + 1 + name_length]
        position += 1 + name_length
        if position + 3 > len(headers) or headers[position] != 7:  # 7: a string; Bedrock sends no other
            return ""
        (length,) = struct.unpack_from(">H", headers, position + 1)
        value = headers[position + 3 : position + 3 + length]
        position += 3 + length
        if name == b":event-type":
            return value.decode("utf-8", "replace")
    return ""


def _messages(events: Iterable[Event]) -> Event:
    message: Event = {}
    blocks: dict[int, Event] = {}
    arguments: dict[int, str] = {}
    for event in events:
        index = event.get("index", 0)
        match event.get("type"):
            case "message_start":
                message = dict(event.get("message") or {})
            case "content_block_start":
                blocks[index] = dict(event.get("content_block") or {})
            case "content_block_delta":
                delta = event.get("delta") or {}
                if "partial_json" in delta:
                    arguments[index] = arguments.get(index, "") + delta["partial_json"]
                for name in ("text", "thinking", "signature"):
                    if isinstance(delta.get(name), str):
                        block = blocks.setdefault(index, {"type": "text"})
                        block[name] = block.get(name, "") + delta[name]
            case "message_delta":
                counters = {k: v for k, v in (event.get("usage") or {}).items() if v is not None}
                message["usage"] = {**(message.get("usage") or {}), **counters}
    for index, text in arguments.items():
        decoded = _decoded(text)
        if decoded is not None and index in blocks:
            blocks[index]["input"] = decoded
    message["content"] = [blocks[index] for index in sorted(blocks)]
    return message


def _chat(events: Iterable[Event]) -> Event:
    response: Event = {}
    message: Event = {"role": "assistant", "content": None}
    calls: dict[int, Event] = {}
    for event in events:
        response.update({k: v for k, v in event.items() if k not in ("choices", "object") and v is not None})
        for choice in (event.get("choices") or [])[:1]:
            delta = choice.get("delta") or {}
            for name in ("content", "reasoning_content", "refusal"):
                if isinstance(delta.get(name), str):
                    message[name] = (message.get(name) or "") + delta[name]
            for part in delta.get("tool_calls") or []:
                call = calls.setdefault(part.get("index", 0), {"type": "function", "function": {}})
                call.update({k: v for k, v in part.items() if k in ("id", "type") and v})
                for name, value in (part.get("function") or {}).items():
                    call["function"][name] = call["function"].get(name, "") + (value or "")
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    response["choices"] = [{"index": 0, "message": message}]
    return response


def _gemini(events: Iterable[Event]) -> Event:
    response: Event = {}
    parts: list[Any] = []
    for event in events:
        response.update({k: v for k, v in event.items() if k != "candidates"})
        for candidate in (event.get("candidates") or [])[:1]:
            parts += (candidate.get("content") or {}).get("parts") or []
    response["candidates"] = [{"content": {"role": "model", "parts": parts}}]
    return response


def _cohere(events: Iterable[Event]) -> Event:
    response: Event = {}
    text = ""
    for event in events:
        delta = event.get("delta") or {}
        if event.get("type") == "message-start":
            response["id"] = event.get("id")
        elif event.get("type") == "content-delta":
            content = (delta.get("message") or {}).get("content") or {}
            text += content.get("text") or ""
        elif event.get("type") == "message-end":
            response["usage"] = delta.get("usage")
    response["message"] = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return response


def _converse(events: Iterable[Event]) -> Event:
    response: Event = {}
    blocks: dict[int, Event] = {}
    for event in events:
        for kind, payload in event.items():
            if kind == "contentBlockStart":
                blocks[payload.get("contentBlockIndex", 0)] = dict(payload.get("start") or {})
            elif kind == "contentBlockDelta":
                block = blocks.setdefault(payload.get("contentBlockIndex", 0), {})
                delta = payload.get("delta") or {}
                if isinstance(delta.get("text"), str):
                    block["text"] = block.get("text", "") + delta["text"]
                elif isinstance(delta.get("toolUse"), dict):
                    use = block.setdefault("toolUse", {})
                    use["input"] = use.get("input", "") + str(delta["toolUse"].get("input", ""))
            elif kind == "metadata":
                response["usage"] = payload.get("usage")
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = _decoded(block["toolUse"].get("input") or "{}")
    content = [blocks[index] for index in sorted(blocks)]
    response["output"] = {"message": {"role": "assistant", "content": content}}
    return response


def _decoded(raw: str | bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError):
        return None
