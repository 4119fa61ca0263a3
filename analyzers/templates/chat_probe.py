"""What a chat template does to a conversation that grows: is each rendering the beginning of the next?

A probe conversation is rendered turn by turn with made-up texts. An append-only template gives, for each turn, a
text that starts with the one before (without the generation prompt), and its generation prompt is what it later
writes in front of the reply.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from analyzers.templates.chat_render import rendered

_SYSTEM = {"role": "system", "content": "SYSTEM-TEXT"}
_FIRST = {"role": "user", "content": "QUESTION-ONE"}
_REPLY = {"role": "assistant", "content": "REPLY-ONE"}
_SECOND = {"role": "user", "content": "QUESTION-TWO"}
_THOUGHTS = "THOUGHTS-ONE"
_TOOL = {
    "type": "function",
    "function": {
        "name": "TOOL-NAME",
        "description": "TOOL-TEXT",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}},
    },
}
_BOS = "BOS-TOKEN"
_SETTINGS: tuple[dict[str, Any], ...] = ({}, {"enable_thinking": False}, {"enable_thinking": True})


@dataclass(frozen=True, slots=True)
class Break:
    """A rendering that is not continued by the next: under which `settings`, what stood there (`before`) and what
    stands there later (`after`), the common text right before it (`at`)."""

    settings: str
    at: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChatProbe:
    """`generation`: the generation prompt is not what history holds. `history`: an old turn is rendered anew in
    another form. `reasoning`: an old turn's reasoning is gone. `tools_after_system`: None when it renders no tools."""

    generation: tuple[Break, ...]
    history: tuple[Break, ...]
    reasoning: Break | None
    writes_bos: bool
    tools_after_system: bool | None


@lru_cache(maxsize=256)
def probe(template: str) -> ChatProbe | None:
    """Probe a template; None when it renders none of the conversations."""
    generation, history = [], []
    bos = False
    seen = False
    for settings in _SETTINGS:
        if settings and "enable_thinking" not in template:
            continue
        turns = _conversation(template, settings, reasoning=False)
        if turns is None:
            continue
        seen = True
        prompted, one, two, three = turns
        bos = bos or one.startswith(_BOS)
        words = ", ".join(f"{name}={str(value).lower()}" for name, value in settings.items()) or "defaults"
        broken = _break(prompted, two, words, reply=True) if "add_generation_prompt" in template else None
        if broken is not None:
            generation.append(broken)
        for earlier, later in ((one, two), (two, three)):
            broken = _break(earlier, later, words)
            if broken is not None:
                history.append(broken)
                break
    if not seen:
        return None
    return ChatProbe(
        tuple(generation), tuple(history), _reasoning(template), bos, _tools_after_system(template)
    )


def _conversation(template: str, settings: dict[str, Any], *, reasoning: bool) -> list[str] | None:
    """The renderings of: the first question with generation prompt, without, with the reply, with the next question."""
    reply = {**_REPLY, "reasoning_content": _THOUGHTS} if reasoning else _REPLY
    for head in ([_SYSTEM], []):
        growing = [[*head, _FIRST], [*head, _FIRST, reply], [*head, _FIRST, reply, _SECOND]]
        tools = [_TOOL] if "tools" in template else None
        sets = [_variables(growing[0], settings, tools, prompt=True)]
        sets += [_variables(messages, settings, tools, prompt=False) for messages in growing]
        texts = rendered(template, json.dumps(sets))
        if all(text is not None and str(_FIRST["content"]) in text for text in texts):
            return [text for text in texts if text is not None]
    return None


def _variables(messages: list[Any], settings: dict[str, Any], tools: Any, *, prompt: bool) -> dict[str, Any]:
    values = {
        "messages": messages,
        "add_generation_prompt": prompt,
        "bos_token": _BOS,
        "eos_token": "EOS-TOKEN",
    }
    return {**values, **settings, **({"tools": tools} if tools else {})}


def _break(earlier: str, later: str, settings: str, *, reply: bool = False) -> Break | None:
    """Where the later rendering leaves the earlier one; None when it continues it.

    For a reply the earlier text is followed by what the model writes, so the later one must go on with it.
    """
    whole = earlier + str(_REPLY["content"]) if reply else earlier
    if later.startswith(whole):
        return None
    # A closing token at the very end may give way to what follows.
    end = next(
        (i for i, (a, b) in enumerate(zip(whole, later, strict=False)) if a != b), min(len(whole), len(later))
    )
    if not reply and not whole[end:].strip():
        return None
    return Break(settings, whole[max(0, end - 30) : end], whole[end : end + 30], later[end : end + 30])


def _reasoning(template: str) -> Break | None:
    if "think" not in template and "reasoning" not in template:
        return None
    turns = _conversation(template, {}, reasoning=True)
    if turns is None or _THOUGHTS not in turns[2] or _THOUGHTS in turns[3]:
        return None
    return _break(turns[2], turns[3], "defaults")


def _tools_after_system(template: str) -> bool | None:
    if "tools" not in template:
        return None
    sets = [_variables([_SYSTEM, _FIRST], {}, [_TOOL], prompt=False)]
    text = rendered(template, json.dumps(sets))[0]
    if text is None or "TOOL-NAME" not in text or "SYSTEM-TEXT" not in text:
        return None
    return text.index("TOOL-NAME") > text.index("SYSTEM-TEXT")
