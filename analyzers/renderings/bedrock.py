"""Bedrock Converse: blocks are objects with one key, and a cache point is a block of its own.

Fields read: the Converse reference (November 2026). Inputs and JSON results stay the text that was sent.
"""

from analyzers.renderings.media import Media, opaque_name, opaque_tokens
from analyzers.renderings.raw_json import Json, Members, items_of, marker_ttl, members_of, text_in, text_of
from analyzers.renderings.writing import CALL, REASONING, RESULT, Draft
from analyzers.request import Dialect

_MEDIA = {"image": "image", "document": "file", "video": "video", "audio": "audio"}


def write_message(draft: Draft, raw: Json) -> None:
    """One message: its role and content blocks."""
    members = members_of(raw) or {}
    draft.open_message(text_in(members, "role") or "user")
    draft.begin_content()
    if "content" in members:
        write_content(draft, members["content"], ".content")
    else:
        draft.source(raw, members, "")
        draft.end_block("")
    draft.close_message()


def write_content(draft: Draft, content: Json, path: str) -> None:
    """A list of blocks; each ends a block, and a cache point marks the one in front of it."""
    text = text_of(content)
    if text is not None:
        draft.text(text, path)
        draft.end_block(path)
        return
    for index, raw in enumerate(items_of(content) or []):
        members = members_of(raw)
        place = f"{path}[{index}]"
        if members is not None and "cachePoint" in members:
            ttl = marker_ttl(members)
            if ttl is not None:
                draft.mark(place, ttl)
            continue
        if members is None:
            draft.source(raw, None, place)
        else:
            _write_block(draft, raw, members, place)
        draft.end_block(place)


def _write_block(draft: Draft, raw: Json, members: Members, path: str) -> None:
    for key, value in members.items():
        inner = members_of(value)
        place = f"{path}.{key}"
        if key == "text" and (text := text_of(value)) is not None:
            draft.text(text, place)
        elif inner is None:
            draft.source(value, None, place)
        elif key == "toolUse":
            draft.special(CALL)
            draft.text(text_in(inner, "name"), f"{place}.name")
            draft.begin_content()
            if "input" in inner:
                draft.source(inner["input"], None, f"{place}.input")
            draft.text(text_in(inner, "toolUseId"), f"{place}.toolUseId")
        elif key == "toolResult":
            _write_result(draft, inner, place)
        elif key == "reasoningContent":
            _write_reasoning(draft, value, inner, place)
        elif key in _MEDIA:
            _write_medium(draft, value, inner, key, place)
        else:
            draft.source(value, inner, place)


def _write_result(draft: Draft, result: Members, path: str) -> None:
    draft.special(RESULT)
    draft.text(text_in(result, "toolUseId"), f"{path}.toolUseId")
    draft.begin_content()
    for index, raw in enumerate(items_of(result["content"]) or [] if "content" in result else []):
        members = members_of(raw)
        place = f"{path}.content[{index}]"
        if members is None:
            draft.source(raw, None, place)
        else:
            _write_block(draft, raw, members, place)
    if text_in(result, "status") == "error":
        draft.text("error", f"{path}.status")


def _write_reasoning(draft: Draft, raw: Json, reasoning: Members, path: str) -> None:
    draft.special(REASONING)
    readable = members_of(reasoning["reasoningText"]) if "reasoningText" in reasoning else None
    if readable is not None:
        draft.text(text_in(readable, "text"), f"{path}.reasoningText.text")
        if signature := text_in(readable, "signature"):
            draft.placeholder(opaque_name("signature", signature), 1, f"{path}.reasoningText.signature")
    elif data := text_in(reasoning, "redactedContent"):
        draft.placeholder(opaque_name("redacted", data), opaque_tokens(data), f"{path}.redactedContent")
    else:
        draft.source(raw, reasoning, path)


def _write_medium(draft: Draft, raw: Json, medium: Members, key: str, path: str) -> None:
    source = members_of(medium["source"]) if "source" in medium else None
    draft.text(text_in(medium, "name"), f"{path}.name")
    data = text_in(source or {}, "bytes")
    location = members_of(source["s3Location"]) if source and "s3Location" in source else None
    data = data or text_in(location or {}, "uri")
    text = text_in(source or {}, "text")
    if text is not None:
        draft.text(text, f"{path}.source.text")
    elif data:
        found = Media(_MEDIA[key], data, text_in(medium, "format") or "")
        draft.placeholder(found.name(), found.estimated_tokens(Dialect.BEDROCK), f"{path}.source")
    else:
        draft.source(raw, medium, path)


def answers(raw: Json) -> list[Json]:
    """The assistant message in a logged answer: a response, a message, or its bare content."""
    members = members_of(raw)
    if members is None:
        return [b'{"role":"assistant","content":' + bytes(raw) + b"}"]
    output = members_of(members["output"]) if "output" in members else None
    if output is not None:
        return [output["message"]] if "message" in output else []
    return [raw]
