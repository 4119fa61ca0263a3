"""OpenAI Responses: input items. A tool call and a reasoning item are items of their own.

Fields read: the Responses reference (November 2026).
"""

from msgspec import Raw

from analyzers.renderings.media import Media, from_url, kind_of, opaque_name, opaque_tokens
from analyzers.renderings.raw_json import Json, Members, items_of, marker_ttl, members_of, text_in, text_of
from analyzers.renderings.writing import CALL, REASONING, RESULT, Draft
from analyzers.request import Dialect

_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "mcp_call": "arguments"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_OPAQUE = ("encrypted_content",)


def write_item(draft: Draft, raw: Json) -> None:
    """One input or output item, or a whole input given as a string."""
    text = text_of(raw)
    if text is not None:
        _open(draft, "user")
        draft.text(text, "")
        draft.end_block("")
        draft.close_message()
        return
    members = members_of(raw) or {}
    kind = text_in(members, "type")
    if kind == "message" or (kind is None and "role" in members):
        draft.open_message(text_in(members, "role") or "user")
        draft.begin_content()
        if "content" in members:
            write_content(draft, members["content"], ".content")
    elif kind in _CALLS:
        _open(draft, "assistant")
        draft.special(CALL)
        draft.text(text_in(members, "name"), ".name")
        draft.begin_content()
        _text_or_source(draft, members, _CALLS[kind])
        draft.text(text_in(members, "call_id"), ".call_id")
        draft.end_block("", members)
    elif kind in _RESULTS:
        _open(draft, "tool")
        draft.special(RESULT)
        draft.text(text_in(members, "call_id"), ".call_id")
        draft.begin_content()
        if "output" in members:
            write_content(draft, members["output"], ".output")
    elif kind in ("reasoning", "compaction"):
        _open(draft, "assistant")
        _write_reasoning(draft, members)
        draft.end_block("", members)
    else:
        _open(draft, "assistant" if kind and kind.endswith("_call") else "user")
        if kind == "image_generation_call" and (image := text_in(members, "result")):
            medium = Media("image", image)
            draft.placeholder(medium.name(), medium.estimated_tokens(Dialect.OPENAI_RESPONSES), ".result")
        else:
            draft.source(raw, members or None, "")
        draft.end_block("", members)
    ttl = marker_ttl(members) if kind == "message" or kind is None or kind in _RESULTS else None
    if ttl is not None:
        draft.mark("", ttl)
    draft.close_message()


def write_content(draft: Draft, content: Raw, path: str) -> None:
    """A string or a list of content parts."""
    text = text_of(content)
    if text is not None:
        draft.text(text, path)
        draft.end_block(path)
        return
    items = items_of(content)
    if items is None:
        draft.source(content, members_of(content), path)
        draft.end_block(path)
    for index, raw in enumerate(items or []):
        _write_block(draft, raw, f"{path}[{index}]")


def _write_block(draft: Draft, raw: Raw, path: str) -> None:
    members = members_of(raw)
    if members is None:
        draft.source(raw, None, path)
        draft.end_block(path)
        return
    key = _TEXTS.get(text_in(members, "type") or "text")
    text = text_in(members, key) if key is not None else None
    if text is not None:
        draft.text(text, f"{path}.{key}")
    elif (medium := _medium(members)) is not None:
        draft.placeholder(medium.name(), medium.estimated_tokens(Dialect.OPENAI_RESPONSES), path)
    else:
        draft.source(raw, members, path)
    draft.end_block(path, members)


def _medium(members: Members) -> Media | None:
    match text_in(members, "type"):
        case "input_image" | "computer_screenshot":
            source = text_in(members, "image_url") or text_in(members, "file_id")
            return from_url("image", source, text_in(members, "detail") or "") if source else None
        case "input_file":
            source = (
                text_in(members, "file_data") or text_in(members, "file_url") or text_in(members, "file_id")
            )
            medium = from_url("file", source) if source else None
            return Media(kind_of(medium.mime), medium.source, medium.mime) if medium else None
        case "input_audio":
            inner = members_of(members["input_audio"]) if "input_audio" in members else None
            data = text_in(inner or {}, "data")
            return Media("audio", data) if data else None
    return None


def _write_reasoning(draft: Draft, members: Members) -> None:
    """Readable reasoning as text; what is encrypted counts by digest, instead of the summary of it."""
    draft.special(REASONING)
    for key in _OPAQUE:
        data = text_in(members, key)
        if data:
            draft.placeholder(opaque_name("encrypted", data), opaque_tokens(data), f".{key}")
            return
    for key in ("content", "summary"):
        items = items_of(members[key]) if key in members else None
        for index, raw in enumerate(items or []):
            inner = members_of(raw) or {}
            draft.text(text_in(inner, "text"), f".{key}[{index}].text")
        if items:
            return


def _open(draft: Draft, role: str) -> None:
    draft.open_frame(role)


def _text_or_source(draft: Draft, members: Members, key: str) -> None:
    if key in members:
        text = text_of(members[key])
        if text is not None:
            draft.text(text, f".{key}")
        else:
            draft.source(members[key], None, f".{key}")


def answers(raw: Json) -> list[Json]:
    """The output items of a logged answer: a response, a list of items, or one item."""
    members = members_of(raw)
    if members is not None and "output" in members and "type" not in members:
        return list(items_of(members["output"]) or [])
    items = items_of(raw) if members is None else None
    return list(items) if items is not None else [raw]
