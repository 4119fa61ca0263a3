"""Request bodies (JSON or JSONL): what one call sends, in the order in which the provider renders it."""

import json
import re
from collections.abc import Iterator

from analyzers.templates.parts import (
    LineIndex,
    Marker,
    Parameter,
    Part,
    Place,
    Problem,
    Prompt,
    Source,
    Text,
    Value,
)
from analyzers.templates.trees import Node, TreeError, json_at

_WRAPPERS = ("request", "body", "params", "kwargs", "modelInput")
_MARKS = ("cache_control", "cachePoint", "cache_point", "prompt_cache_breakpoint")
_TEXT_TYPES = ("text", "input_text", "output_text")
_PARAMETERS = ("tool_choice", "thinking", "reasoning_effort", "response_format", "temperature")
_ORDERS = {
    "anthropic": "tools, system, messages",
    "bedrock": "tools, system, messages",
    "openai": "tools, messages as sent",
    "gemini": "tools, system instruction, contents",
}


_PLACEHOLDER = re.compile(r"\{\{\s*[A-Za-z_][\w.]*\s*\}\}|\$\{[A-Za-z_]\w*\}|\{[A-Za-z_]\w*\}")


def is_request(node: Node) -> bool:
    """True for a request body, or a record that holds one; not for a template of one, whose user message is a
    placeholder, or which names no model and has placeholders."""
    body = _body_of(node)
    if body is None:
        return False
    texts = [inner.text for _, inner in body.walk() if inner.kind == "string"]
    if any(_PLACEHOLDER.fullmatch(text.strip()) for text in texts):
        return False
    return body is not node or body.get("model") is not None or not any(map(_PLACEHOLDER.search, texts))


def read_requests(path: str, text: str) -> Source:
    """One prompt for each request of a JSON file or a JSON Lines file. Lines that are no requests are problems."""
    lines = LineIndex(path, text)
    prompts: list[Prompt] = []
    problems: list[Problem] = []
    for number, node in enumerate(_records(text, lines, problems, path), 1):
        body = _body_of(node)
        if body is not None:
            prompts.append(_prompt(path, lines, node, body, number))
    return Source(path, text, tuple(prompts), problems=tuple(problems))


def _records(text: str, lines: LineIndex, problems: list[Problem], path: str) -> Iterator[Node]:
    """The elements of a JSON list, or the values that follow each other, one a line."""
    at, first = 0, True
    while at < len(text):
        try:
            node, end = json_at(text, at)
        except TreeError as problem:
            problems.append(Problem(path, problem.message, *lines.position(problem.offset)))
            next_line = text.find("\n", max(problem.offset, at))
            if next_line < 0:
                return
            at = next_line + 1
            continue
        if first and node.kind == "list" and end == len(text):
            yield from node.elements()
        else:
            yield node
        at, first = end, False


def _body_of(node: Node) -> Node | None:
    if node.kind != "object":
        return None
    for key in _WRAPPERS:
        inner = node.get(key)
        if inner is not None and inner.kind == "object" and _is_body(inner):
            return inner
    return node if _is_body(node) else None


def _is_body(node: Node) -> bool:
    messages = node.get("messages")
    if messages is not None and messages.elements():
        return all(item.string("role") is not None for item in messages.elements())
    contents = node.get("contents")
    if contents is not None and contents.elements():
        return all(item.get("parts") is not None for item in contents.elements())
    return node.get("model") is not None and node.get("input") is not None


def _prompt(path: str, lines: LineIndex, record: Node, body: Node, number: int) -> Prompt:
    model = body.string("model") or body.string("modelId") or record.string("model")
    provider = record.string("provider") or _provider(body, model)
    reader = _Reader(path, lines)
    _tools(reader, body)
    _system(reader, body)
    for key in ("messages", "input", "contents"):
        messages = body.get(key)
        if messages is not None and messages.kind == "string":
            reader.text(messages, Place("messages", "user", key))
        for index, message in enumerate(messages.elements() if messages is not None else []):
            _message(reader, message, f"{key}[{index}]")
    automatic = next((found for mark in _MARKS if (found := body.get(mark)) is not None), None)
    if automatic is not None and automatic.kind == "object":
        reader.marker(automatic, "automatic", Place(path="cache_control"))
    name = (
        record.string("id") or record.string("custom_id") or record.string("request_id") or f"record {number}"
    )
    parameters = tuple(
        Parameter(key, "", lines.span(node.start, node.end)) for key, node in body.items if key in _PARAMETERS
    )
    order = _ORDERS.get(provider, "as sent")
    return Prompt(path, "request", tuple(reader.parts), name, model, provider, order, parameters=parameters)


def _provider(body: Node, model: str | None) -> str:
    if body.get("contents") is not None:
        return "gemini"
    if body.get("inferenceConfig") is not None or body.get("toolConfig") is not None or body.get("modelId"):
        return "bedrock"
    words = (model or "").lower()
    if "claude" in words or body.get("anthropic_version") is not None or body.get("system") is not None:
        return "anthropic"
    return "openai"


class _Reader:
    """Collects the parts of one request."""

    def __init__(self, path: str, lines: LineIndex) -> None:
        self.path, self.lines = path, lines
        self.parts: list[Part] = []

    def text(self, node: Node, place: Place) -> None:
        self.parts.append(Text(node.text, self.lines.span(node.start, node.end), place=place))

    def raw(self, node: Node, source: str, place: Place) -> None:
        self.parts.append(Text(source, self.lines.span(node.start, node.end), place=place))

    def media(self, node: Node, kind: str, place: Place) -> None:
        self.parts.append(Value(kind, self.lines.span(node.start, node.end), place=place))

    def marker(self, node: Node, on: str, place: Place, block_text: str | None = None) -> None:
        ttl = node.string("ttl")
        self.parts.append(Marker(self.lines.span(node.start, node.end), on, ttl, block_text, place=place))


def _tools(reader: _Reader, body: Node) -> None:
    config = body.get("toolConfig")
    tools, path = (
        (config.get("tools"), "toolConfig.tools") if config is not None else (body.get("tools"), "tools")
    )
    for index, tool in enumerate(tools.elements() if tools is not None else []):
        place = Place("tools", None, f"{path}[{index}]")
        mark = next((found for key in _MARKS if (found := tool.get(key)) is not None), None)
        if mark is not None and len(tool.items) == 1:
            reader.marker(mark, "point", place)
            continue
        reader.raw(tool, plain_json(tool), place)
        if mark is not None and mark.kind == "object":
            reader.marker(mark, "tool", place)


def _system(reader: _Reader, body: Node) -> None:
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        system = body.get(key)
        if system is None:
            continue
        if system.kind == "string":
            reader.text(system, Place("system", "system", key))
            continue
        blocks = system.get("parts") if system.kind == "object" else system
        for index, block in enumerate(blocks.elements() if blocks is not None else []):
            _block(reader, block, Place("system", "system", f"{key}[{index}]"))


def _message(reader: _Reader, message: Node, path: str) -> None:
    role = message.string("role")
    section = "system" if role in ("system", "developer") else "messages"
    for key in ("reasoning_content", "content", "parts", "output", "arguments"):
        content = message.get(key)
        if content is None:
            continue
        if content.kind == "string":
            reader.text(content, Place(section, role, f"{path}.{key}"))
        for index, block in enumerate(content.elements()):
            _block(reader, block, Place(section, role, f"{path}.{key}[{index}]"))
    calls = message.get("tool_calls")
    if calls is not None:
        reader.raw(calls, plain_json(calls), Place(section, role, f"{path}.tool_calls"))
    mark = message.get("cache_control")
    if mark is not None and mark.kind == "object":
        reader.marker(mark, "message", Place(section, role, path))


def _block(reader: _Reader, block: Node, place: Place, *, nested: bool = False) -> None:
    if block.kind == "string":
        reader.text(block, place)
        return
    mark = next((found for key in _MARKS if (found := block.get(key)) is not None), None)
    kind = block.string("type") or next((key for key, _ in block.items if key not in _MARKS), "")
    if mark is not None and mark.kind == "object" and not kind:
        reader.marker(mark, "nested" if nested else "point", place)
        return
    text = block.get("text")
    inner = block.get("content") if kind == "tool_result" else None
    result = block.get("toolResult")
    if result is not None:
        kind, inner = "tool_result", result.get("content")
    if text is not None and text.kind == "string":
        kind = "text" if kind in _TEXT_TYPES or not kind else kind
        reader.text(text, Place(place.section, place.role, f"{place.path}.text"))
    elif inner is not None and inner.kind == "string":
        reader.text(inner, Place(place.section, place.role, f"{place.path}.content"))
    elif inner is not None:
        for index, item in enumerate(inner.elements()):
            below = f"{place.path}.content[{index}]"
            _block(reader, item, Place(place.section, place.role, below), nested=True)
    elif kind in (
        "image",
        "image_url",
        "input_image",
        "document",
        "file",
        "input_file",
        "input_audio",
        "inlineData",
    ):
        reader.media(block, kind, place)
    else:
        reader.raw(block, plain_json(block), place)
    if mark is not None and mark.kind == "object":
        block_text = text.text if text is not None and text.kind == "string" else None
        reader.marker(mark, "nested" if nested else kind, place, block_text)


def plain_json(node: Node) -> str:
    """The value written as compact JSON in the order of the file, without cache markers."""
    if node.kind == "object":
        inner = (f"{json.dumps(k)}:{plain_json(v)}" for k, v in node.items if k not in _MARKS)
        return "{" + ",".join(inner) + "}"
    if node.kind == "list":
        return "[" + ",".join(plain_json(item) for item in node.elements()) + "]"
    return json.dumps(node.text if node.kind == "string" else node.value, ensure_ascii=False)
