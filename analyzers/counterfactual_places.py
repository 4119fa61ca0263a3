"""Where the parts of an application hold a slot: in full, and also where no comparison showed it.

A comparison shows of a value only what differs between two requests: of "sunny at 10 degrees" beside "sunny at 12
degrees" the number. What those two have in common would still break the prefix of a third. So every part gives up
what stands between the surroundings that nearly all of them have in common, whichever requests were compared.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analyzers.divergence import Slot, Value
from analyzers.rendering import RenderedPart, Segment

_AROUND = 40
"""Characters on each side of a value that must be equal for another text to hold the same slot."""
_WIDER = 200
"""Characters by which a value is widened at most: further away other text stands between."""
_CANDIDATES = 128
_SAMPLE = 24
"""Surroundings that are tried, and parts that they are tried on."""
_KEPT = 8


@dataclass(frozen=True, slots=True)
class _Context:
    """What stands around a slot's value: the segments in front of its own, and text on both sides. A side
    shorter than _AROUND is the start or the end of the segment."""

    in_front: tuple[Segment, ...]
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The contexts of a slot, seen most often first. `usual`: those that are in nearly as many parts as any is;
    the others, behind them in `all`, hold something that varies too."""

    usual: Sequence[_Context]
    all: Sequence[_Context]


def places_of(
    slot: Slot, parts: Sequence[RenderedPart], own: Iterable[RenderedPart]
) -> dict[int, tuple[Value, ...]]:
    """The values of a slot by the number of the part, for its own parts and those of its application `own`: in
    order, none empty, no two overlapping in one part."""
    shown = {number: _joined(parts[number], values) for number, values in slot.spans.items()}
    alike: dict[int, dict[int, tuple[Value, ...]]] = {}
    for number, values in shown.items():
        if values:
            alike.setdefault(id(parts[number].paths), {})[number] = values
    around = {paths: _surroundings(parts, group) for paths, group in alike.items()}
    places = {
        number: _joined(parts[number], (_widened(parts[number], value, around[paths]) for value in values))
        for paths, group in alike.items()
        for number, values in group.items()
    }
    for other in own:
        if other.number not in places and id(other.paths) in around:
            between = (_between(other, context) for context in around[id(other.paths)].all)
            first = next((value for value in between if value is not None), None)
            if first is not None:
                places[other.number] = (first,)
    return dict(sorted(places.items()))


def _surroundings(parts: Sequence[RenderedPart], shown: Mapping[int, Sequence[Value]]) -> _Surroundings:
    """What stands around the values of these parts, of one form."""
    counts = Counter(_context(parts[number], v) for number, values in shown.items() for v in values)
    known = [context for context, _ in counts.most_common(_CANDIDATES) if _tells(context)]
    if len(counts) == 1:
        return _Surroundings(known, known)
    sample = [parts[number] for number in list(shown)[:: len(shown) // _SAMPLE + 1]]
    fits = {c: sum(_between(part, c) is not None for part in sample) for c in known}
    most = max(fits.values(), default=0)
    usual = [c for c in known if 10 * fits[c] >= 9 * most]
    return _Surroundings(usual[:_KEPT], [*usual, *(c for c in known if c not in usual)][:_KEPT])


def _widened(part: RenderedPart, value: Value, known: _Surroundings) -> Value:
    """The value as far as the nearest usual surroundings reach."""
    if _context(part, value) in known.usual:
        return value
    around = (_around(part, value, context) for context in known.usual)
    wider = [wide for wide in around if wide is not None and len(wide.text) <= len(value.text) + _WIDER]
    return min(wider, key=lambda wide: len(wide.text), default=value)


def _joined(part: RenderedPart, values: Iterable[Value]) -> tuple[Value, ...]:
    """The values of one part in order, those that overlap or touch as one, those of no length left out."""
    joined: list[Value] = []
    for value in sorted(values, key=lambda v: (v.segment, v.start, v.end)):
        if value.start == value.end:
            continue
        last = joined[-1] if joined else None
        if last is not None and last.segment == value.segment and value.start <= last.end:
            joined[-1] = _value(part, value.segment, last.start, max(last.end, value.end))
        else:
            joined.append(value)
    return tuple(joined)


def _value(part: RenderedPart, segment: int, start: int, end: int) -> Value:
    return Value(part.number, segment, start, end, part.segments[segment].text[start:end])


def _context(part: RenderedPart, value: Value) -> _Context:
    text = part.segments[value.segment].text
    left, right = text[max(0, value.start - _AROUND) : value.start], text[value.end :][:_AROUND]
    return _Context(part.segments[: value.segment], left, right)


def _tells(context: _Context) -> bool:
    """Whether a place can be told by the text around it."""
    return len(context.left) + len(context.right) >= _AROUND


def _around(part: RenderedPart, value: Value, context: _Context) -> Value | None:
    """The value widened to the nearest place that the context encloses; None where there is none."""
    if part.segments[: value.segment] != context.in_front:
        return None
    left, right, text = context.left, context.right, part.segments[value.segment].text
    at = text.rfind(left, 0, value.start) if len(left) == _AROUND else 0 if text.startswith(left) else -1
    start = at + len(left)
    end = text.find(right, value.end) if len(right) == _AROUND else len(text) - len(right)
    outside = at < 0 or start > value.start or end < value.end
    if outside or (len(right) < _AROUND and not text.endswith(right)):
        return None
    return _value(part, value.segment, start, end)


def _between(part: RenderedPart, context: _Context) -> Value | None:
    """The value that stands in the context."""
    index = len(context.in_front)
    if part.segments[:index] != context.in_front or index == len(part.segments):
        return None
    left, right, text = context.left, context.right, part.segments[index].text
    at = text.find(left) if len(left) == _AROUND else 0 if text.startswith(left) else -1
    start = at + len(left)
    end = text.find(right, start) if len(right) == _AROUND else len(text) - len(right)
    if at < 0 or end <= start or (len(right) < _AROUND and not text.endswith(right, start)):
        return None
    return _value(part, index, start, end)
