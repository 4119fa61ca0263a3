"""OpenAI Chat Completions, and whatever speaks it: one message, one answer.

An assistant message is written as reasoning, content, refusal, tool calls. Fields read: the Chat Completions
reference, and what OpenRouter, DeepSeek, Mistral, LiteLLM and vLLM add to it (read November 2026).
"""

from msgspec import Raw

from analyzers.renderings import anthropic
from analyzers.renderings.media import Media, from_url, kind_of, opaque_name
from analyzers.renderings.raw_json import Json, Members, items_of, marker_ttl, members_of, text_in, text_of
from analyzers.renderings.writing import CALL, REASONING, Draft
from analyzers.request import Dialect

_URLS = {
    "image_url": "image",
    "video_url": "video",
    "audio_url": "audio",
    "document_url": "file",
    "file_url": "file",
}
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")


def write_message(draft: Draft, raw: Json) -> None:
    """One message. What is no message is written as it was sent."""
    members = members_of(raw)
    if members is None or ("role" not in members and "content" not in members):
        draft.open_message("user")
        draft.begin_content()
        draft.source(raw, members, "")
        draft.end_block("", members)
        draft.close_message()
        return
    draft.open_message(text_in(members, "role") or "user")
    for key in ("name", "tool_call_id"):
        draft.text(text_in(members, key), f".{key}")
    draft.begin_content()
    for key in _REASONING_KEYS:
        if reasoning := text_in(members, key):
            draft.special(REASONING)
            draft.text(reasoning, f".{key}")
            break
    if "content" in members:
        write_content(draft, members["content"], ".content")
    if refusal := text_in(members, "refusal"):
        draft.text(refusal, ".refusal")
        draft.end_block(".refusal")
    _write_calls(draft, members)
    ttl = marker_ttl(members)
    if ttl is not None:
        draft.mark("", ttl)
    draft.close_message()


def write_content(draft: Draft, content: Raw, path: str) -> None:
    """A string or a list of content blocks; null leaves nothing."""
    text = text_of(content)
    if text is not None:
        draft.text(text, path)
        draft.end_block(path)
        return
    items = items_of(content)
    if items is not None:
        for index, block in enumerate(items):
            _write_block(draft, block, f"{path}[{index}]")
    elif bytes(content) != b"null":
        draft.source(content, members_of(content), path)
        draft.end_block(path)


def _write_block(draft: Draft, raw: Raw, path: str) -> None:
    members = members_of(raw)
    if members is None:
        text = text_of(raw)
        draft.text(text, path) if text is not None else draft.source(raw, None, path)
        draft.end_block(path)
        return
    kind = text_in(members, "type")
    medium = None
    if kind in ("text", "input_text", "output_text", "refusal", None):
        key = "refusal" if kind == "refusal" else "text"
        if (text := text_in(members, key)) is not None:
            draft.text(text, f"{path}.{key}")
            draft.end_block(path, members)
            return
    elif kind in ("thinking", "reasoning") and (text := text_in(members, kind)) is not None:
        draft.special(REASONING)
        draft.text(text, f"{path}.{kind}")
        draft.end_block(path, members)
        return
    elif kind is not None:
        medium = _medium(kind, members)
    if medium is not None:
        draft.placeholder(medium.name(), medium.estimated_tokens(Dialect.OPENAI_CHAT), path)
    else:
        draft.source(raw, members, path)
    draft.end_block(path, members)


def _medium(kind: str, members: Members) -> Media | None:
    """The image, audio, video or file of a block, None where it holds none."""
    inner = members_of(members[kind]) if kind in members else None
    if kind in _URLS:
        url = text_in(members, kind) if inner is None else text_in(inner, "url")
        return from_url(_URLS[kind], url, text_in(inner, "detail") or "") if url else None
    if kind in ("image", "document") and "source" in members:
        medium = anthropic.medium_of(kind, members)
        return medium if isinstance(medium, Media) else None
    if kind == "input_audio":
        data = text_in(members, kind) if inner is None else text_in(inner, "data")
        return Media("audio", data, text_in(inner, "format") or "") if data else None
    if kind == "file":
        data = text_in(inner, "file_data") or text_in(inner, "file_id")
        if data is None:
            return None
        medium = from_url("file", data)
        return Media(kind_of(medium.mime), medium.source, medium.mime)
    return None


def _write_calls(draft: Draft, members: Members) -> None:
    calls = items_of(members["tool_calls"]) if "tool_calls" in members else None
    for index, raw in enumerate(calls or []):
        path = f".tool_calls[{index}]"
        call = members_of(raw)
        draft.special(CALL)
        if call is None:
            draft.source(raw, None, path)
        else:
            kind = "custom" if "custom" in call else "function"
            inner = members_of(call[kind]) if kind in call else None
            if inner is None:
                draft.source(raw, call, path)
            else:
                _write_call(draft, call, inner, path, f"{path}.{kind}")
        draft.end_block(path, call)
    legacy = members_of(members["function_call"]) if "function_call" in members else None
    if legacy is not None:
        draft.special(CALL)
        _write_call(draft, {}, legacy, ".function_call", ".function_call")
        draft.end_block(".function_call")
    audio = members_of(members["audio"]) if "audio" in members else None
    if audio is not None and (name := text_in(audio, "id")) is not None:
        draft.placeholder(opaque_name("audio", name), 1, ".audio")
        draft.end_block(".audio")


def _write_call(draft: Draft, call: Members, function: Members, path: str, inner: str) -> None:
    draft.text(text_in(function, "name"), f"{inner}.name")
    draft.begin_content()
    for key in ("arguments", "input"):
        if key in function:
            arguments = text_of(function[key])
            if arguments is not None:
                draft.text(arguments, f"{inner}.{key}")
            else:
                draft.source(function[key], None, f"{inner}.{key}")
    draft.text(text_in(call, "id"), f"{path}.id")


def answers(raw: Json) -> list[Json]:
    """The assistant messages in a logged answer: a completion, a message, or its bare content."""
    members = members_of(raw)
    if members is None or "choices" not in members:
        return [raw]
    choices = items_of(members["choices"])
    choice = members_of(choices[0]) if choices else None
    if choice is None:
        return []
    for key in ("message", "delta"):
        if key in choice:
            return [choice[key]]
    return [choice["text"]] if "text" in choice else []
