"""Requests written as values, and what their rendering says."""

import json
from collections.abc import Iterable
from typing import Any

from analyzers.rendering import RenderedPart, Rendering, make_rendering
from analyzers.request import Dialect, Part, PartKind, PartStore, Request

MESSAGE, SYSTEM, TOOLS, SCHEMA = PartKind.MESSAGE, PartKind.SYSTEM, PartKind.TOOLS, PartKind.SCHEMA
Value = Any
Parts = list[tuple[PartKind, Value]]


def request_of(
    dialect: Dialect, parts: Parts, output: Value = None, store: PartStore | None = None
) -> Request:
    """A request whose parts are JSON values (or bytes, as they are)."""
    store = store or PartStore()

    def intern(kind: PartKind, value: Value) -> Part:
        raw = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
        return store.intern(dialect, kind, raw)

    made = tuple(intern(kind, value) for kind, value in parts)
    answer = None if output is None else intern(PartKind.RESPONSE, output)
    return Request("1", "log", 1, dialect, made, output=answer)


def rendering() -> Rendering:
    return make_rendering(None, None)


def texts(parts: Iterable[RenderedPart]) -> list[str]:
    return [segment.text for part in parts for segment in part.segments]


def one(dialect: Dialect, value: Value, kind: PartKind = MESSAGE) -> RenderedPart:
    """The rendering of one part, followed by a user's message so that it does not stand last."""
    user = {"role": "user", "content": "?"}
    return rendering().render(request_of(dialect, [(kind, value), (MESSAGE, user)]))[0]


def content(part: RenderedPart) -> dict[str, str]:
    """Text (or placeholder name) by JSON path."""
    found = zip(part.segments, part.paths, strict=True)
    return {path: segment.text for segment, path in found if path is not None}


def marked(value: Value, marker: Value) -> Value:
    return {**value, "cache_control": marker}
