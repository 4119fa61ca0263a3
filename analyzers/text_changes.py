"""Where two texts differ: spans of characters, and what kind of difference each is."""

import json
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from analyzers.divergence import Change

_SPANS = 12
"""More differing spans than this in one field are reported as one from the first to the last."""


@dataclass(frozen=True, slots=True)
class Span:
    """[start, end) in the earlier sequence was replaced by [new_start, new_end) in the later one."""

    start: int
    end: int
    new_start: int
    new_end: int


def common_start(a: str, b: str) -> int:
    """Length of the longest common prefix."""
    low, high = 0, min(len(a), len(b))
    if a.startswith(b[:high]):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if a.startswith(b[low:middle], low):
            low = middle
        else:
            high = middle
    return low


def common_end(a: str, b: str, most: int) -> int:
    """Length of the longest common suffix, at most `most`."""
    low, high = 0, most
    if most == 0 or a.endswith(b[len(b) - most :]):
        return most
    while high - low > 1:
        middle = (low + high) // 2
        if a.endswith(b[len(b) - middle : len(b) - low], 0, len(a) - low):
            low = middle
        else:
            high = middle
    return low


def aligned(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Span]:
    """The stretches in which two sequences differ, in order: a greedy alignment in linear time.

    At a difference the nearer of the two places is taken where the sequences agree again: the next item of `b`
    found in the rest of `a`, or the next of `a` found in the rest of `b`.
    """
    spans: list[Span] = []
    places_a, places_b = _places(a), _places(b)
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            i, j = i + 1, j + 1
            continue
        best: tuple[int, int, int] | None = None
        for step in range(max(len(a) - i, len(b) - j)):
            if best is not None and step >= best[0]:
                break
            if j + step < len(b) and (at := _next(places_a, b[j + step], i)) is not None:
                best = min(best or (step + at - i, at, j + step), (step + at - i, at, j + step))
            if i + step < len(a) and (at := _next(places_b, a[i + step], j)) is not None:
                best = min(best or (step + at - j, i + step, at), (step + at - j, i + step, at))
        if best is None:
            break
        spans.append(Span(i, best[1], j, best[2]))
        i, j = best[1], best[2]
    if i < len(a) or j < len(b):
        spans.append(Span(i, len(a), j, len(b)))
    return spans


def _places(items: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    places: dict[Hashable, list[int]] = {}
    for index, item in enumerate(items):
        places.setdefault(item, []).append(index)
    return places


def _next(places: dict[Hashable, list[int]], item: Hashable, start: int) -> int | None:
    from bisect import bisect_left

    found = places.get(item)
    if found is None:
        return None
    at = bisect_left(found, start)
    return found[at] if at < len(found) else None


def changed_spans(a: str, b: str) -> list[Span]:
    """The spans in which two texts differ, in order; text after the end of the shorter one is no span of its own
    kind: it is the last span. Empty for equal texts."""
    start = common_start(a, b)
    if start == len(a) == len(b):
        return []
    end = common_end(a, b, min(len(a), len(b)) - start)
    whole = Span(start, len(a) - end, start, len(b) - end)
    if min(whole.end - whole.start, whole.new_end - whole.new_start) < 24:
        return [whole]
    # Widen to lines (or words of a single line) and align those.
    left = max(a.rfind("\n", 0, start), a.rfind(" ", 0, start)) + 1
    middle_a, middle_b = a[left : whole.end], b[left : whole.new_end]
    separator = "\n" if "\n" in middle_a or "\n" in middle_b else " "
    pieces_a, pieces_b = _pieces(middle_a, separator), _pieces(middle_b, separator)
    offsets_a, offsets_b = _offsets(pieces_a, left), _offsets(pieces_b, left)
    spans: list[Span] = []
    for gap in aligned(pieces_a, pieces_b):
        spans += _trimmed(
            a, b, offsets_a[gap.start], offsets_a[gap.end], offsets_b[gap.new_start], offsets_b[gap.new_end]
        )
    if not spans or len(spans) > _SPANS:
        return [whole]
    changed = sum(span.end - span.start + span.new_end - span.new_start for span in spans)
    if separator == " " and 2 * changed > len(middle_a) + len(middle_b):
        return [whole]  # other words altogether: what they share is chance
    return spans


def _trimmed(a: str, b: str, start: int, end: int, new_start: int, new_end: int) -> list[Span]:
    """One differing stretch without its common beginning and end."""
    before, after = a[start:end], b[new_start:new_end]
    first = common_start(before, after)
    if first == len(before) == len(after):
        return []
    last = common_end(before, after, min(len(before), len(after)) - first)
    return [Span(start + first, end - last, new_start + first, new_end - last)]


def _pieces(text: str, separator: str) -> list[str]:
    pieces = text.split(separator)
    return [piece + separator for piece in pieces[:-1]] + [pieces[-1]]


def _offsets(pieces: Sequence[str], start: int) -> list[int]:
    offsets = [start]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return offsets


def kind_of_change(a: str, b: str, spans: Sequence[Span]) -> Change:
    """What kind of difference lies between two unequal texts of the same field that differ in `spans`."""
    gone = "".join(a[span.start : span.end] for span in spans)
    new = "".join(b[span.new_start : span.new_end] for span in spans)
    if gone.replace("\r", "") == new.replace("\r", ""):
        return Change.LINE_ENDS
    if "".join(gone.split()) == "".join(new.split()):
        return Change.WHITE_SPACE
    if not (gone.isascii() and new.isascii()) and (
        unicodedata.normalize("NFC", a) == unicodedata.normalize("NFC", b)
    ):
        return Change.UNICODE_FORM
    if same_json(a, b):
        return Change.KEY_ORDER
    return Change.PASSAGES_REORDERED if _reordered(a, b, spans) else Change.TEXT


def _reordered(a: str, b: str, spans: Sequence[Span]) -> bool:
    """Whether most of what differs are lines that both texts have, in another order."""
    if len(spans) < 2 and not any("\n" in a[span.start : span.end] for span in spans):
        return False
    gone: Counter[str] = Counter()
    new: Counter[str] = Counter()
    for span in spans:
        gone.update(_lines_at(a, span.start, span.end))
        new.update(_lines_at(b, span.new_start, span.new_end))
    if not gone or not new:
        return False
    moved = sum(len(line) * count for line, count in (gone & new).items())
    smaller = min(sum(len(line) * count for line, count in lines.items()) for lines in (gone, new))
    return moved >= 40 and 2 * moved > smaller


def _lines_at(text: str, start: int, end: int) -> list[str]:
    """The lines that a span touches."""
    stop = text.find("\n", end)
    return text[text.rfind("\n", 0, start) + 1 : stop if stop >= 0 else len(text)].splitlines()


def same_json(a: str, b: str) -> bool:
    """Whether two texts are JSON objects or arrays, and equal as such."""
    if a[:1] not in "{[" or b[:1] not in "{[" or not a or not b:
        return False
    try:
        return bool(json.loads(a) == json.loads(b))
    except (ValueError, RecursionError):
        return False


def characters(a: str, b: str, span: Span) -> str:
    """A change of white space or form in words: the characters by their code points."""

    def named(text: str) -> str:
        shown = ", ".join(f"U+{ord(c):04X}" for c in text[:4])
        return shown + (", …" if len(text) > 4 else "")

    gone, new = a[span.start : span.end], b[span.new_start : span.new_end]
    if gone and not new:
        where = " at the end" if span.end == len(a) else ""
        return f"{len(gone)} {'character' if len(gone) == 1 else 'characters'} removed: {named(gone)}{where}"
    if new and not gone:
        where = " at the end" if span.new_end == len(b) else ""
        return f"{len(new)} {'character' if len(new) == 1 else 'characters'} added: {named(new)}{where}"
    return f"{named(gone)} became {named(new)}"
