"""Where two renderings of the same part differ, down to a field and a character in it."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from analyzers.divergence import Change, Difference, Value
from analyzers.rendering import RenderedPart, Segment
from analyzers.renderings.raw_json import items_of, members_of, source_of, text_of
from analyzers.text_changes import (
    Span,
    aligned,
    changed_spans,
    characters,
    common_start,
    kind_of_change,
    same_json,
)
from analyzers.values import widened

_CLEARED_FROM = 200
"""Characters a tool result must have had for a much shorter one to count as cleared."""
_REASONING = re.compile(r"\.(?:reasoning\w*|thinking|thought)\b")
_ARGUMENTS = re.compile(r"\.(?:arguments|input|args)$")
_RESULT = re.compile(r"\.content\[\d+\]\.content|\.output$|functionResponse|toolResult")

Placed = tuple[int, Segment, str]
"""Index of a segment in its part, the segment, its path relative to the part."""


def part_differences(before: RenderedPart, after: RenderedPart, section: str) -> list[Difference]:
    """The places at which two parts of the same section differ, in rendered order; paths relative to the part.

    `section` is "tools", "schema", "system", or the role of a message.
    """
    if section == "tools":
        return _tools(before, after)
    found: list[Difference] = []
    numbers_before = [s.number for s in before.segments]
    numbers_after = [s.number for s in after.segments]
    for gap in aligned(numbers_before, numbers_after):
        gone = _content(before, gap.start, gap.end)
        new = _content(after, gap.new_start, gap.new_end)
        found += _gap(before, after, gone, new, section)
    return found


def _content(part: RenderedPart, start: int, end: int) -> list[Placed]:
    return [
        (index, part.segments[index], path)
        for index in range(start, end)
        if (path := part.paths[index]) is not None
    ]


def _gap(
    before: RenderedPart, after: RenderedPart, gone: list[Placed], new: list[Placed], section: str
) -> Iterator[Difference]:
    paired = list(zip(gone, new, strict=False)) if len(gone) == len(new) else _same_path(gone, new)
    left = [item for item in gone if not any(item is a for a, _ in paired)]
    added = [item for item in new if not any(item is b for _, b in paired)]
    for old, fresh in paired:
        yield from _pair(before, after, old, fresh, section)
    for index, segment, path in left:
        change = Change.REASONING_STRIPPED if _REASONING.search(path) else Change.BLOCK_REMOVED
        value = Value(before.number, index, 0, len(segment.text), segment.text)
        yield Difference(change, _block(path), _block(path), before=value)
    for index, segment, path in added:
        value = Value(after.number, index, 0, len(segment.text), segment.text)
        yield Difference(Change.BLOCK_ADDED, _block(path), after=value)


def _same_path(gone: list[Placed], new: list[Placed]) -> list[tuple[Placed, Placed]]:
    fresh = {path: item for item in reversed(new) for path in [item[2]]}
    return [(item, fresh.pop(item[2])) for item in gone if item[2] in fresh]


def _block(path: str) -> str:
    """The content block that a field belongs to."""
    return re.sub(r"(\[\d+\])\.(?:text|source|image_url|thinking|reasoning)$", r"\1", path)


def _pair(
    before: RenderedPart, after: RenderedPart, old: Placed, fresh: Placed, section: str
) -> Iterator[Difference]:
    index, segment, path = old
    new_index, new_segment, new_path = fresh
    a, b = segment.text, new_segment.text
    if segment.special or new_segment.special:
        kinds = [s.text.partition(":")[0] if s.special else "text" for s in (segment, new_segment)]
        note = f"{kinds[0]} -> {kinds[1]}" if kinds[0] != kinds[1] else f"another {kinds[0]}"
        yield Difference(
            Change.IMAGE_REPLACED,
            _block(new_path),
            _block(path),
            before=Value(before.number, index, 0, len(a), a),
            after=Value(after.number, new_index, 0, len(b), b),
            note=note,
        )
        return
    spans = changed_spans(a, b)
    change = kind_of_change(a, b, spans)
    if section == "schema" or (change is Change.KEY_ORDER and not _ARGUMENTS.search(new_path)):
        yield _descended(before, after, old, fresh, Change.SCHEMA if section == "schema" else change)
        return
    whole = change is not Change.TEXT
    if _ARGUMENTS.search(new_path) and same_json(a, b):
        change = Change.ARGUMENTS
    elif new_path == ".role":
        change = Change.ROLE
        whole = True
    elif change is Change.TEXT and len(a) >= _CLEARED_FROM and len(b) < len(a) // 2:
        kept = len(b) >= 40 and common_start(a, b) >= 0.6 * len(b)
        if kept:
            change, whole = Change.TRUNCATED, True
        elif section == "tool" or _RESULT.search(new_path):
            change, whole = Change.RESULT_CLEARED, True
    if whole and spans:
        first = spans[0]
        note = characters(a, b, first) if change in (Change.WHITE_SPACE, Change.LINE_ENDS, Change.UNICODE_FORM) else ""  # fmt: skip
        if change is Change.ROLE:
            note = f"{a} -> {b}"
        yield Difference(
            change,
            new_path,
            path if path != new_path else None,
            char_offset=first.new_start,
            before=Value(before.number, index, 0, len(a), a),
            after=Value(after.number, new_index, 0, len(b), b),
            note=note,
        )
        return
    for span in spans:
        yield _text(before, after, old, fresh, span)


def _text(before: RenderedPart, after: RenderedPart, old: Placed, fresh: Placed, span: Span) -> Difference:
    (index, segment, path), (new_index, new_segment, new_path) = old, fresh
    start, end = widened(segment.text, span.start, span.end)
    new_start, new_end = widened(new_segment.text, span.new_start, span.new_end)
    # The value starts at the same place in both, whichever side needed the wider span.
    reach = max(span.start - start, span.new_start - new_start)
    start, new_start = span.start - reach, span.new_start - reach
    return Difference(
        Change.TEXT,
        new_path,
        path if path != new_path else None,
        char_offset=span.new_start,
        before=Value(before.number, index, start, end, segment.text[start:end]),
        after=Value(after.number, new_index, new_start, new_end, new_segment.text[new_start:new_end]),
    )


def _descended(
    before: RenderedPart, after: RenderedPart, old: Placed, fresh: Placed, change: Change
) -> Difference:
    """A difference inside a raw JSON value: the deepest member that holds it."""
    (index, segment, _), (new_index, new_segment, new_path) = old, fresh
    deeper, a, b = descend(segment.text, new_segment.text)
    if change is Change.TOOL_CHANGED and same_json(segment.text, new_segment.text):
        change = Change.KEY_ORDER
    return Difference(
        change,
        new_path + deeper,
        char_offset=common_start(a, b),
        before=Value(before.number, index, 0, len(segment.text), segment.text),
        after=Value(after.number, new_index, 0, len(new_segment.text), new_segment.text),
        note="equal as JSON" if same_json(segment.text, new_segment.text) else "",
    )


def descend(a: str, b: str) -> tuple[str, str, str]:
    """The path to the deepest JSON value that holds the first difference of two values, and its two texts.

    Goes down as long as both are objects with the same keys in the same order, or arrays of the same length.
    A string is given decoded.
    """
    path = ""
    while True:
        raw_a, raw_b = a.encode("utf-8", "replace"), b.encode("utf-8", "replace")
        if (members := members_of(raw_a)) is not None and (others := members_of(raw_b)) is not None:
            if list(members) != list(others):
                return path, a, b
            pairs = [(f".{key}", members[key], others[key]) for key in members]
        elif (items := items_of(raw_a)) is not None and (rest := items_of(raw_b)) is not None:
            if len(items) != len(rest):
                return path, a, b
            pairs = [(f"[{i}]", *pair) for i, pair in enumerate(zip(items, rest, strict=True))]
        else:
            text_a, text_b = text_of(raw_a), text_of(raw_b)
            if text_a is not None and text_b is not None:
                return path, text_a, text_b
            return path, a, b
        changed = next(((step, x, y) for step, x, y in pairs if bytes(x) != bytes(y)), None)
        if changed is None:
            return path, a, b
        path += changed[0]
        a, b = source_of(changed[1]), source_of(changed[2])


def _tools(before: RenderedPart, after: RenderedPart) -> list[Difference]:
    old, new = _content(before, 0, len(before.segments)), _content(after, 0, len(after.segments))
    if Counter(s.number for _, s, _ in old) == Counter(s.number for _, s, _ in new):
        first = next(i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a[1] is not b[1])
        moved = sum(a[1] is not b[1] for a, b in zip(old, new, strict=True))
        return [
            Difference(
                Change.TOOLS_REORDERED,
                "",
                char_offset=None,
                first_index=first,
                shift=moved,
                names=tuple(_name(s) for _, s, _ in new),
                note=f"the same {len(new)} definitions, {moved} at another place",
            )
        ]
    found: list[Difference] = []
    by_name = {_name(s): item for item in old for s in [item[1]]}
    fresh = {_name(s): item for item in new for s in [item[1]]}
    removed = [name for name in by_name if name not in fresh]
    added = [name for name in fresh if name not in by_name]
    for name, item in fresh.items():
        if name in by_name and by_name[name][1] is not item[1]:
            found.append(
                replace(
                    _descended(before, after, by_name[name], item, Change.TOOL_CHANGED),
                    names=(name,),
                    first_index=_index(item),
                )
            )
    for change, names, where in (
        (Change.TOOLS_REMOVED, removed, by_name),
        (Change.TOOLS_ADDED, added, fresh),
    ):
        if names:
            found.append(
                Difference(
                    change,
                    where[names[0]][2],
                    where[names[0]][2],
                    shift=len(names),
                    names=tuple(names),
                    first_index=_index(where[names[0]]),
                )
            )
    kept = [(by_name[name], fresh[name]) for name in fresh if name in by_name]
    if any(b[0][0] < a[0][0] for a, b in pairwise(kept)):
        found.append(Difference(Change.TOOLS_REORDERED, "", first_index=0, names=tuple(fresh)))
    return sorted(found, key=lambda d: d.first_index or 0)


def _index(item: Placed) -> int:
    match = re.match(r"\[(\d+)\]", item[2])
    return int(match[1]) if match else 0


def _name(segment: Segment) -> str:
    """The name under which a definition is called, its text where it has none."""
    try:
        value = json.loads(segment.text)
    except (ValueError, RecursionError):
        return segment.text
    if not isinstance(value, dict):
        return segment.text
    for holder in (value, value.get("function"), value.get("toolSpec")):
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            return str(holder["name"])
    return str(value.get("type") or ", ".join(value))
