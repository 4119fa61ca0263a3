"""Anthropic Messages: a message is a list of content blocks, and each block may carry a cache marker.

Fields read: the Messages reference (November 2026). `tool_use.input` stays the JSON text that was sent.
"""

from analyzers.renderings.media import Media, kind_of, opaque_name, opaque_tokens
from analyzers.renderings.raw_json import Json, Members, items_of, marker_ttl, members_of, text_in, text_of
from analyzers.renderings.writing import CALL, REASONING, RESULT, Draft
from analyzers.request import Dialect

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULTS = ("tool_result", "mcp_tool_result")


def write_message(draft: Draft, raw: Json) -> None:
    """One message: its role and content. What is no message is written as it was sent."""
    members = members_of(raw)
    if members is None or "content" not in members:
        draft.open_message("user")
        draft.begin_content()
        draft.source(raw, members, "")
        draft.end_block("", members)
    else:
        draft.open_message(text_in(members, "role") or "user")
        draft.begin_content()
        write_content(draft, members["content"], ".content")
    draft.close_message()


def write_content(draft: Draft, content: Json, path: str) -> None:
    """A string, or a list of blocks that each end a block."""
    text = text_of(content)
    if text is not None:
        draft.text(text, path)
        draft.end_block(path)
        return
    items = items_of(content)
    if items is None:
        draft.source(content, members_of(content), path)
        draft.end_block(path)
        return
    for index, raw in enumerate(items):
        members = members_of(raw)
        place = f"{path}[{index}]"
        if members is None:
            draft.source(raw, None, place)
        else:
            _write_block(draft, raw, members, place)
        draft.end_block(place, members)


def _write_block(draft: Draft, raw: Json, members: Members, path: str) -> None:
    kind = text_in(members, "type")
    if kind == "text" and (text := text_in(members, "text")) is not None:
        draft.text(text, f"{path}.text")
    elif kind in _CALLS and "input" in members:
        draft.special(CALL)
        draft.text(text_in(members, "name"), f"{path}.name")
        draft.begin_content()
        draft.source(members["input"], None, f"{path}.input")
        draft.text(text_in(members, "id"), f"{path}.id")
    elif kind in _RESULTS:
        draft.special(RESULT)
        draft.text(text_in(members, "tool_use_id"), f"{path}.tool_use_id")
        draft.begin_content()
        if "content" in members and bytes(members["content"]) != b"null":
            _write_nested(draft, members["content"], f"{path}.content")
        if "is_error" in members and bytes(members["is_error"]) == b"true":
            draft.text("is_error", f"{path}.is_error")
    elif kind == "thinking" and (text := text_in(members, "thinking")) is not None:
        draft.special(REASONING)
        draft.text(text, f"{path}.thinking")
        if signature := text_in(members, "signature"):
            draft.placeholder(opaque_name("signature", signature), 1, f"{path}.signature")
    elif kind == "redacted_thinking" and (data := text_in(members, "data")):
        draft.special(REASONING)
        draft.placeholder(opaque_name("redacted", data), opaque_tokens(data), f"{path}.data")
    elif kind in ("image", "document") and (medium := medium_of(kind, members)) is not None:
        for key in ("title", "context"):
            draft.text(text_in(members, key), f"{path}.{key}")
        if isinstance(medium, str):
            draft.text(medium, f"{path}.source.data")
        else:
            draft.placeholder(medium.name(), medium.estimated_tokens(Dialect.ANTHROPIC), f"{path}.source")
    else:
        draft.source(raw, members, path)


def _write_nested(draft: Draft, content: Json, path: str) -> None:
    """The content of a tool result: its blocks end no block of their own, but may carry a marker."""
    items = items_of(content)
    if items is None:
        text = text_of(content)
        draft.text(text, path) if text is not None else draft.source(content, members_of(content), path)
        return
    for index, raw in enumerate(items):
        members = members_of(raw)
        place = f"{path}[{index}]"
        if members is None:
            draft.source(raw, None, place)
            continue
        _write_block(draft, raw, members, place)
        if marker_ttl(members) is not None:
            draft.end_block(place, members)


def medium_of(kind: str, members: Members) -> Media | str | None:
    """The image or document of a block; text where a document holds plain text, None where it holds neither."""
    source = members_of(members["source"]) if "source" in members else None
    if source is None:
        return None
    mime = text_in(source, "media_type") or ""
    data = text_in(source, "data")
    if data is not None and text_in(source, "type") == "text":
        return data
    content = data or text_in(source, "url") or text_in(source, "file_id")
    if not content:
        return None
    if kind == "image":
        return Media("image", content, mime)
    return Media(kind_of(mime), content, mime)


def answers(raw: Json) -> list[Json]:
    """The assistant message in a logged answer: a message, or its bare content."""
    if members_of(raw) is not None:
        return [raw]
    return [b'{"role":"assistant","content":' + bytes(raw) + b"}"]
