"""The pieces of a model call as template parts, in the order in which they are rendered."""

import re
from dataclasses import replace

from analyzers.templates.parts import Cause, Guard, Marker, Part, Place, Span, Text, Value
from analyzers.templates.python_state import Run
from analyzers.templates.python_text import external_value, json_words, unordered, words_of
from analyzers.templates.python_values import (
    NOTHING,
    Abstract,
    Choice,
    External,
    Fields,
    Items,
    Pattern,
    Words,
    guarded,
)
from analyzers.templates.volatility import judge, judge_name

_MARKS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")
_ROLE_OF_CLASS = re.compile(r"\b(System|Human|User|AI|Assistant|Tool|Developer)Message\(\)$")
_ROLES = {"System": "system", "Human": "user", "User": "user", "AI": "assistant", "Assistant": "assistant"}
_UNORDERED_MEMBERS = re.compile(r"\.(?:values|items|keys)\(\)|\.list_tools\(|\.__subclasses__\(\)")
_PLAIN_NAMES = {"prompt", "message", "content", "text", "instruction", "messages", "input"}
_MOST_PARTS = 1000
_MOST_GUARDED = 150
"""Parts of one prompt, and of these under conditions and loops, that are kept: checking takes their square."""


def is_message_list(run: Run, value: Abstract) -> bool:
    """True for a list that holds at least one message with a role."""
    held = run.at(value)
    if isinstance(held, Choice):
        return any(is_message_list(run, arm) for _, arm in held.arms)
    return isinstance(held, Items) and any(_is_message(run, item.value) for item in held.items)


def _is_message(run: Run, value: Abstract) -> bool:
    held = run.at(value)
    match held:
        case Fields():
            return held.get("role") is not None
        case External(dotted):
            return _ROLE_OF_CLASS.search(dotted) is not None
        case Items(items=(first, _)) if held.is_tuple:
            role = run.at(first.value)
            return isinstance(role, Words) and role.constant in ("system", "human", "user", "ai", "assistant")
        case Choice(arms):
            return any(_is_message(run, arm) for _, arm in arms)
        case _:
            return False


class RequestParts:
    """Collects the parts of one model call at `span`."""

    def __init__(self, run: Run, span: Span, provider: str | None) -> None:
        self.run, self.span, self.provider = run, span, provider
        self.parts: list[Part] = []

    def tools(self, value: Abstract) -> None:
        """The tool definitions."""
        held = self.run.at(value)
        if isinstance(held, Choice):
            for guards, arm in held.arms:
                before = len(self.parts)
                self.tools(arm)
                self.parts[before:] = [replace(p, guards=(*guards, *p.guards)) for p in self.parts[before:]]
            return
        if not isinstance(held, Items) or (held.unordered and len(held.items) > 1):
            self._write(held, Place("tools", None, "tools"), ())
            return
        for number, item in enumerate(held.items):
            place = Place("tools", None, f"tools[{number}]")
            tool = self.run.at(item.value)
            if isinstance(tool, Fields):
                mark = next((tool.get(key) for key in _MARKS if tool.get(key) is not None), None)
                plain = replace(tool, entries=tuple(e for e in tool.entries if e.key not in _MARKS))
                if plain.entries:
                    self._write(plain, place, item.guards, as_json=True)
                if mark is not None:
                    self._marker(mark, "tool" if plain.entries else "point", place, item.guards, None)
            else:
                self._write(tool, place, item.guards)

    def system(self, value: Abstract, name: str) -> None:
        """The system text: a string, or a list of blocks."""
        held = self.run.at(value)
        if isinstance(held, Items):
            for number, item in enumerate(held.items):
                self._block(item.value, Place("system", "system", f"{name}[{number}]"), item.guards)
            return
        self._content(held, Place("system", "system", name), ())

    def messages(self, value: Abstract, name: str) -> None:
        """The messages: a list of them, or one text."""
        self._messages(value, name, ())

    def automatic(self, value: Abstract) -> None:
        """The marker of the request as a whole, which stands behind the newest message."""
        if self.run.at(value) != NOTHING:
            self._marker(value, "automatic", Place(path="cache_control"), (), None)

    def _messages(self, value: Abstract, name: str, guards: tuple[Guard, ...]) -> None:
        held = self.run.at(value)
        match held:
            case Items(items) if not (held.unordered and len(items) > 1):
                for number, item in enumerate(items):
                    inner = (*guards, *item.guards)
                    if item.spread:
                        self._history(item.value, Place("messages", None, name), inner)
                    else:
                        self._message(item.value, f"{name}[{number}]", inner)
            case Choice(arms):
                for around, arm in arms:
                    self._messages(arm, name, (*guards, *around))
            case Words():
                self._content(held, Place("messages", "user", name), guards)
            case Value():
                self._history(held, Place("messages", None, name), guards)
            case Fields():
                self._message(held, name, guards)
            case _:
                self._write(held, Place("messages", None, name), guards)

    def _history(self, value: Abstract, place: Place, guards: tuple[Guard, ...]) -> None:
        """Messages that the source does not show: the conversation, unless their name says otherwise."""
        held = self.run.at(value)
        if isinstance(held, External):
            held = external_value(held, self.span)
        if isinstance(held, Value) and held.cause is None and judge(held).scope is None:
            held = replace(held, cause=Cause.CONVERSATION)
        self._write(held, place, guards)

    def _message(self, value: Abstract, path: str, guards: tuple[Guard, ...]) -> None:
        held = self.run.at(value)
        match held:
            case Fields():
                self._fields(held, path, guards)
            case External(dotted) if (match := _ROLE_OF_CLASS.search(dotted)) is not None:
                members = dict(held.keywords)
                content = held.arguments[0] if held.arguments else members.get("content", NOTHING)
                self._of_role(_ROLES.get(match[1], match[1].lower()), content, path, guards)
            case Items(items=(first, second)) if _is_message(self.run, held):
                role = self.run.at(first.value)
                word = role.constant if isinstance(role, Words) else None
                self._of_role(
                    {"human": "user", "ai": "assistant"}.get(word or "", word or "user"),
                    second.value,
                    path,
                    guards,
                )
            case Choice(arms):
                for around, arm in arms:
                    self._message(arm, path, (*guards, *around))
            case Pattern():
                self._content(held.body, Place("messages", "user", path), guards)
            case Words():
                self._content(held, Place("messages", "user", path), guards)
            case _:
                self._write(held, Place("messages", None, path), guards)

    def _fields(self, message: Fields, path: str, guards: tuple[Guard, ...]) -> None:
        role = self.run.at(message.get("role") or NOTHING)
        word = role.constant if isinstance(role, Words) else None
        mark = message.get("cache_control")
        for key in ("content", "parts", "reasoning_content", "tool_calls", "output", "arguments", "text"):
            content = message.get(key)
            if content is None:
                continue
            around = next((e.guards for e in message.entries if e.key == key), ())
            if key == "tool_calls":
                self._write(
                    content, Place("messages", word, f"{path}.{key}"), (*guards, *around), as_json=True
                )
            elif key == "text":
                if message.get("content") is None and message.get("parts") is None:
                    self._of_role(word, message, path, (*guards, *around))
                    return
            else:
                self._of_role(word, content, f"{path}.{key}", (*guards, *around))
        if message.get("role") is None and all(message.get(k) is None for k in ("content", "parts", "text")):
            self._write(message, Place("messages", None, path), guards, as_json=True)
        if mark is not None:
            self._marker(mark, "message", Place("messages", word, path), guards, None)

    def _of_role(self, role: str | None, content: Abstract, path: str, guards: tuple[Guard, ...]) -> None:
        section = "system" if role in ("system", "developer") else "messages"
        place = Place(section, role, path)
        held = self.run.at(content)
        if isinstance(held, Items):
            for number, item in enumerate(held.items):
                self._block(item.value, replace(place, path=f"{path}[{number}]"), (*guards, *item.guards))
        elif isinstance(held, Fields):
            self._block(held, place, guards)
        else:
            self._content(held, place, guards)

    def _block(self, value: Abstract, place: Place, guards: tuple[Guard, ...], nested: bool = False) -> None:
        held = self.run.at(value)
        if isinstance(held, Choice):
            for around, arm in held.arms:
                self._block(arm, place, (*guards, *around), nested)
            return
        if not isinstance(held, Fields):
            self._content(held, place, guards)
            return
        marked = next((e for e in held.entries if e.key in _MARKS and self.run.at(e.value) != NOTHING), None)
        kind_words = self.run.at(held.get("type") or NOTHING)
        kind = (kind_words.constant if isinstance(kind_words, Words) else None) or ""
        text = held.get("text")
        inner = held.get("content") if kind == "tool_result" else None
        block_text: str | None = None
        if text is not None:
            kind = "text" if kind in ("", "text", "input_text", "output_text") else kind
            words = self.run.at(text)
            block_text = words.constant if isinstance(words, Words) else None
            self._content(text, replace(place, path=f"{place.path}.text"), guards)
        elif inner is not None:
            items = self.run.at(inner)
            if isinstance(items, Items):
                for item in items.items:
                    self._block(item.value, place, (*guards, *item.guards), True)
            else:
                self._content(items, place, guards)
        else:
            rest = replace(held, entries=tuple(e for e in held.entries if e.key not in _MARKS))
            kind = kind or next((entry.key or "" for entry in rest.entries), "point")
            if rest.entries:
                self._write(rest, place, guards, as_json=True)
        if marked is not None:
            on = "nested" if nested else kind
            self._marker(marked.value, on, place, (*guards, *marked.guards), block_text)

    def _content(self, value: Abstract, place: Place, guards: tuple[Guard, ...]) -> None:
        held = self.run.at(value)
        if held != NOTHING:
            self._write(held, place, guards)

    def _marker(
        self, value: Abstract, on: str, place: Place, guards: tuple[Guard, ...], block_text: str | None
    ) -> None:
        held = self.run.at(value)
        ttl: str | None = None
        span = self.span
        if isinstance(held, Choice):
            guards = (*guards, *held.arms[0][0])
            held = self.run.at(held.arms[0][1])
        if isinstance(held, Fields):
            span = held.span
            words = self.run.at(held.get("ttl") or NOTHING)
            ttl = words.constant if isinstance(words, Words) else None
        self.parts.append(Marker(span, on, ttl, block_text, guards, place))

    def _write(self, value: Abstract, place: Place, guards: tuple[Guard, ...], as_json: bool = False) -> None:
        """Text and values where they stand; what the loops at hand count is a counter here."""
        if len(self.parts) > _MOST_PARTS or sum(bool(part.guards) for part in self.parts) > _MOST_GUARDED:
            return
        if isinstance(value, Items) and value.unordered and len(value.items) > 1:
            words = Words((unordered(value),))
        elif as_json:
            words = json_words(self.run, value, self.span, True)
        else:
            words = words_of(self.run, value, self.span)
        around = guarded(words, guards)
        room = _MOST_GUARDED if guards else _MOST_PARTS
        for part in around.parts[:room] if isinstance(around, Words) else ():
            if isinstance(part, Text):
                self.parts.append(replace(part, place=place))
            else:
                self.parts.append(self._placed(part, place))

    def _placed(self, part: Value, place: Place) -> Value:
        counted = self.run.counters.get(part.origin) if part.origin is not None else None
        if counted is not None and counted in self.run.open_loops:
            part = replace(part, cause=Cause.COUNTER)
        if place.section == "tools":
            loops = " ".join(guard.over for guard in part.guards if hasattr(guard, "over"))
            if part.cause is None and _UNORDERED_MEMBERS.search(f"{part.expression} {loops}"):
                part = replace(part, cause=Cause.UNORDERED)
        elif place.section == "system" and part.cause is None and not part.calls and len(part.names) == 1:
            last = part.names[0].rpartition(".")[2]
            if last in _PLAIN_NAMES or (
                part.names[0] == part.expression and judge_name(last).cause is Cause.CONVERSATION
            ):
                part = replace(part, cause=Cause.CONSTANT)
        return replace(part, place=place)
