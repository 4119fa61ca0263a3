"""Gemini generateContent: a content is a role and a list of parts. Both spellings of its keys are read.

Fields read: the generateContent reference (November 2026). Arguments and responses stay the JSON text sent.
"""

from analyzers.renderings.media import Media, from_url, kind_of, opaque_name
from analyzers.renderings.raw_json import Json, Members, items_of, members_of, text_in, text_of
from analyzers.renderings.writing import CALL, REASONING, RESULT, Draft
from analyzers.request import Dialect

_ROLES = {"model": "assistant", "function": "tool"}


def write_content(draft: Draft, raw: Json) -> None:
    """One content."""
    members = members_of(raw) or {}
    role = text_in(members, "role") or "user"
    draft.open_message(_ROLES.get(role, role))
    draft.begin_content()
    if "parts" in members:
        write_parts(draft, members["parts"], ".parts")
    else:
        write_parts(draft, raw, "")
    draft.close_message()


def write_system(draft: Draft, raw: Json) -> None:
    """A system instruction: a content, or a bare string."""
    members = members_of(raw)
    if members is not None and "parts" in members:
        write_parts(draft, members["parts"], ".parts")
    else:
        write_parts(draft, raw, "")


def write_parts(draft: Draft, parts: Json, path: str) -> None:
    """A list of parts, one part, or a bare string; each ends a block."""
    items = items_of(parts)
    if items is None:
        _write_part(draft, parts, path)
        return
    for index, raw in enumerate(items):
        _write_part(draft, raw, f"{path}[{index}]")


def _write_part(draft: Draft, raw: Json, path: str) -> None:
    members = members_of(raw)
    text = text_of(raw) if members is None else text_in(members, "text")
    if members is None:
        draft.text(text, path) if text is not None else draft.source(raw, None, path)
        draft.end_block(path)
        return
    if text is not None:
        if "thought" in members and bytes(members["thought"]) == b"true":
            draft.special(REASONING)
        draft.text(text, f"{path}.text")
    elif call := _member(members, "functionCall", "function_call"):
        draft.special(CALL)
        _write_function(draft, call, "args", path)
    elif response := _member(members, "functionResponse", "function_response"):
        draft.special(RESULT)
        _write_function(draft, response, "response", path)
    elif (medium := _medium(members)) is not None:
        draft.placeholder(medium.name(), medium.estimated_tokens(Dialect.GEMINI), path)
    else:
        draft.source(raw, members, path)
    for key in ("thoughtSignature", "thought_signature"):
        if signature := text_in(members, key):
            draft.placeholder(opaque_name("signature", signature), 1, f"{path}.{key}")
    draft.end_block(path)


def _write_function(draft: Draft, named: tuple[str, Members], values: str, path: str) -> None:
    key, function = named
    draft.text(text_in(function, "name"), f"{path}.{key}.name")
    draft.begin_content()
    if values in function:
        draft.source(function[values], None, f"{path}.{key}.{values}")
    draft.text(text_in(function, "id"), f"{path}.{key}.id")


def _medium(members: Members) -> Media | None:
    inline = _member(members, "inlineData", "inline_data")
    if inline is not None:
        mime = text_in(inline[1], "mimeType") or text_in(inline[1], "mime_type") or ""
        data = text_in(inline[1], "data")
        return Media(kind_of(mime), data, mime) if data else None
    file = _member(members, "fileData", "file_data")
    if file is not None:
        mime = text_in(file[1], "mimeType") or text_in(file[1], "mime_type") or ""
        uri = text_in(file[1], "fileUri") or text_in(file[1], "file_uri")
        return from_url(kind_of(mime), uri) if uri else None
    return None


def _member(members: Members, *keys: str) -> tuple[str, Members] | None:
    for key in keys:
        inner = members_of(members[key]) if key in members else None
        if inner is not None:
            return key, inner
    return None


def answers(raw: Json) -> list[Json]:
    """The content in a logged answer: a response, a content, or its bare parts."""
    members = members_of(raw)
    if members is not None and "candidates" in members:
        candidates = items_of(members["candidates"])
        first = members_of(candidates[0]) if candidates else None
        return [first["content"]] if first and "content" in first else []
    if members is not None and "parts" in members:
        return [raw]
    return [b'{"role":"model","parts":' + bytes(raw) + b"}"]
