"""One request against an earlier one: where they first differ, what else differs, what is equal again behind."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analyzers.divergence import Change, Difference, Divergence
from analyzers.part_changes import part_differences
from analyzers.pipeline import TracedLog
from analyzers.rendering import RenderedPart
from analyzers.text_changes import Span, aligned, common_end, common_start

_DIFFERENCES = 24
"""Differences of one request that are kept: an edit all over the history is not told place by place."""
_COMES = {"tools": Change.TOOLS_ADDED, "schema": Change.SCHEMA, "system": Change.BLOCK_ADDED}
_ROWS_KEPT = 1000
"""Requests whose parts and paths are kept: neighbours are compared with one another."""
_MOVED_FROM = 8
"""Characters a block must have to be looked for elsewhere."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How a request differs from an earlier one.

    `first` is the index of the first part (of the later request) that differs, `in_place` whether the same
    message differs there rather than messages being gone or new. `equal_parts` and `equal_tokens` count whole
    parts behind it that both have in the same order; `equal_ranges` are their index ranges. `start_tokens` stand
    in front of the first differing part, `rest` and `earlier_rest` are the tokens of each from it on.
    """

    first: int
    differences: tuple[Difference, ...]
    equal_parts: int
    equal_tokens: int
    equal_ranges: tuple[tuple[int, int], ...]
    start_tokens: int
    rest: int
    earlier_rest: int
    in_place: bool


class Comparer:
    """Compares requests of one log; what was compared once is kept."""

    def __init__(self, traced: TracedLog) -> None:
        self.traced = traced
        self._contents: dict[tuple[object, ...], int] = {}
        self.content: list[int] = [self._number(part) for part in traced.parts]
        """Parts of equal text have one number, whatever markers stand on them."""
        self._section: dict[tuple[int, str], str] = {}
        self._pairs: dict[tuple[int, int, str], list[Difference]] = {}
        self._lengths = traced.sequences.length.tolist()
        self._paths: dict[int, Sequence[str]] = {}
        self._parts: dict[int, list[int]] = {}

    def _number(self, part: RenderedPart) -> int:
        key = (*(s.number for s in part.segments), part.paths)
        return self._contents.setdefault(key, len(self._contents))

    def parts(self, row: int) -> list[int]:
        """Numbers of the rendered parts of a request, less the generation prompt at its end."""
        known = self._parts.get(row)
        if known is not None:
            return known
        sequences = self.traced.sequences
        runs: list[int] = sequences.runs[sequences.offsets[row] : sequences.offsets[row + 1]].tolist()
        parts = self.traced.parts
        if runs and runs[-1] < len(parts) and not any(path is not None for path in parts[runs[-1]].paths):
            runs.pop()
        if len(self._parts) > _ROWS_KEPT:
            self._parts.clear()
        self._parts[row] = runs
        return runs

    def paths(self, row: int) -> Sequence[str]:
        """The JSON path of each part of a request."""
        known = self._paths.get(row)
        if known is None:
            if len(self._paths) > _ROWS_KEPT:
                self._paths.clear()
            known = self._paths[row] = self.traced.rendering.paths(self.traced.log.requests[row])
        return known

    def holds_ids(self, runs: Sequence[int]) -> bool:
        return bool(runs) and max(runs) >= len(self.traced.parts)

    def section(self, run: int, path: str) -> str:
        """tools, schema, system, or the role of the message that a part is."""
        key = (run, path if path and path[-1] != "]" else "")
        section = self._section.get(key)
        if section is None:
            section = self._section[key] = self._find_section(run, path)
        return section

    def _find_section(self, run: int, path: str) -> str:
        head = path.partition("[")[0]
        if head in ("tools", "toolConfig.tools"):
            return "tools"
        if head in ("response_format", "text.format", "output_format", "generationConfig.responseSchema"):
            return "schema"
        if head in ("system", "instructions", "systemInstruction"):
            return "system"
        part = self.traced.parts[run]
        for segment, inner in zip(part.segments, part.paths, strict=True):
            if inner == ".role":
                return "system" if segment.text == "developer" else segment.text
        return "message"

    def compare(self, row: int, against: int) -> Compared | None:
        """None where the request continues the other one, or is the beginning of it."""
        new, old = self.parts(row), self.parts(against)
        if self.holds_ids(new) or self.holds_ids(old):
            return None
        content = self.content
        a, b = [content[run] for run in old], [content[run] for run in new]
        first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
        if first is None:
            return None
        tail = len(a) - first - 1
        if tail and a[first + 1 :] == b[first + 1 : len(a)]:
            gaps = [Span(first, first + 1, first, first + 1)]
            if len(b) > len(a):
                gaps.append(Span(len(a), len(a), len(a), len(b)))
        else:
            gaps = [
                Span(g.start + first, g.end + first, g.new_start + first, g.new_end + first)
                for g in aligned(a[first:], b[first:])
            ]
        differences: list[Difference] = []
        for index, gap in enumerate(gaps):
            at_end = gap.end == len(a) and gap.new_end == len(b)
            if gap.start == len(a) or (at_end and index > 0) or len(differences) >= _DIFFERENCES:
                continue
            differences += self._gap(row, against, old, new, gap, at_end)
        ranges = _between(gaps, len(b))
        lengths = self._lengths
        return Compared(
            first=first,
            differences=tuple(differences[:_DIFFERENCES]),
            equal_parts=sum(end - start for start, end in ranges),
            equal_tokens=sum(lengths[new[i]] for start, end in ranges for i in range(start, end)),
            equal_ranges=ranges,
            start_tokens=sum(lengths[run] for run in new[:first]),
            rest=sum(lengths[run] for run in new[first:]),
            earlier_rest=sum(lengths[run] for run in old[first:]),
            in_place=gaps[0].end > gaps[0].start and gaps[0].new_end > gaps[0].new_start,
        )

    def _gap(
        self, row: int, against: int, old: list[int], new: list[int], gap: Span, at_end: bool
    ) -> list[Difference]:
        old_paths, new_paths = self.paths(against), self.paths(row)
        gone = list(range(gap.start, gap.end))
        fresh = list(range(gap.new_start, gap.new_end))
        found: list[Difference] = []
        # Tools, schema and system stand once: each is compared with its namesake.
        for section in ("schema", "tools", "system"):
            a = next((i for i in gone if self.section(old[i], old_paths[i]) == section), None)
            b = next((i for i in fresh if self.section(new[i], new_paths[i]) == section), None)
            if a is not None and b is not None:
                found += self._pair(old[a], new[b], old_paths[a], new_paths[b], section)
            elif a is not None:
                found.append(self._left(old[a], old_paths[a], section, new, new_paths))
            elif b is not None:
                change = _COMES[section]
                found.append(Difference(change, new_paths[b], section=section, note=f"{section} added"))
            gone = [i for i in gone if i != a]
            fresh = [i for i in fresh if i != b]
        if at_end:
            # What stands last differs anyway: the newest question. Only a change at its own place counts.
            gone, fresh = ([], []) if found else (gone[:1], fresh[:1])
        if gone and fresh and len(gone) > len(fresh) and len(fresh) <= 2 and len(gone) >= 3:
            found.append(
                Difference(
                    Change.COMPACTION,
                    new_paths[fresh[0]],
                    old_paths[gone[0]],
                    shift=len(gone),
                    section="message",
                    note=f"{len(gone)} messages became {len(fresh)}",
                )
            )
            return found
        for i, j in zip(gone, fresh, strict=False):
            section = self.section(new[j], new_paths[j])
            inner = self._pair(old[i], new[j], old_paths[i], new_paths[j], section)
            found += [self._moved(d, old[i:], new, new_paths, j) for d in inner]
        if len(gone) > len(fresh):
            rest = gone[len(fresh) :]
            at = gap.new_start if gap.new_start < len(new_paths) else len(new_paths) - 1
            started = all(
                self.section(old[i], old_paths[i]) in ("schema", "tools", "system") for i in range(rest[0])
            )
            change = Change.MESSAGES_DROPPED if started and not fresh else Change.MESSAGES_REMOVED
            found.append(
                Difference(change, new_paths[at], old_paths[rest[0]], shift=len(rest), section="message")
            )
        elif len(fresh) > len(gone):
            rest = fresh[len(gone) :]
            change = Change.MESSAGES_INSERTED
            found.append(Difference(change, new_paths[rest[0]], shift=len(rest), section="message"))
        return found

    def _pair(self, old: int, new: int, old_path: str, new_path: str, section: str) -> list[Difference]:
        key = (self.content[old], self.content[new], section)
        inner = self._pairs.get(key)
        if inner is None:
            inner = self._pairs[key] = part_differences(
                self.traced.parts[old], self.traced.parts[new], section
            )
        return [
            replace(
                d,
                path=new_path + d.path,
                section=section,
                earlier_path=None if d.earlier_path is None else old_path + d.earlier_path,
            )
            for d in inner
        ]

    def _left(
        self, run: int, path: str, section: str, new: list[int], new_paths: Sequence[str]
    ) -> Difference:
        """A part that the earlier request had and the later has not at this place."""
        if section != "system":
            change = Change.TOOLS_REMOVED if section == "tools" else Change.SCHEMA
            return Difference(change, path, path, section=section, note=f"{section} removed")
        texts = {s.number for s in self.traced.parts[run].segments if len(s.text) >= _MOVED_FROM}
        for other, place in zip(new, new_paths, strict=False):
            part = self.traced.parts[other]
            for segment, inner in zip(part.segments, part.paths, strict=True):
                if segment.number in texts and inner is not None:
                    to = place + inner
                    return Difference(Change.SYSTEM_MOVED, path, path, section=section, moved_to=to)
        return Difference(Change.BLOCK_REMOVED, path, path, section=section, note="system text removed")

    def _moved(
        self, found: Difference, old: list[int], new: list[int], new_paths: Sequence[str], at: int
    ) -> Difference:
        """A removed block that stands in a later message, equal or much alike, was moved."""
        if found.change is not Change.BLOCK_REMOVED or found.before is None:
            return found
        text = found.before.text
        if len(text) < _MOVED_FROM:
            return found
        known = {s.number for run in old for s in self.traced.parts[run].segments}
        number = self.traced.parts[found.before.part].segments[found.before.segment].number
        for index in range(len(new) - 1, at, -1):
            part = self.traced.parts[new[index]]
            for segment, inner in zip(part.segments, part.paths, strict=True):
                if inner is None or inner == ".role" or len(segment.text) < _MOVED_FROM:
                    continue
                if segment.number == number or (segment.number not in known and _alike(text, segment.text)):
                    path = re.sub(r"(\[\d+\])\.text$", r"\1", inner)
                    return replace(found, change=Change.BLOCK_MOVED, moved_to=new_paths[index] + path)
        return found


def _alike(a: str, b: str) -> bool:
    start = common_start(a, b)
    end = common_end(a, b, min(len(a), len(b)) - start)
    return start >= _MOVED_FROM and 10 * (start + end) >= 6 * min(len(a), len(b))


def _between(gaps: Sequence[Span], length: int) -> tuple[tuple[int, int], ...]:
    """Index ranges of the later sequence that lie behind the first gap and in none."""
    ends = [gap.new_end for gap in gaps]
    starts = [gap.new_start for gap in gaps[1:]] + [length]
    return tuple((end, start) for end, start in zip(ends, starts, strict=True) if start > end)


def divergence_of(
    comparer: Comparer, compared: Compared, row: int, against: int, common: int, lost: int
) -> Divergence:
    """The divergence that a comparison shows. `common` and `lost` as in Divergence."""
    paths = comparer.paths(row)
    again = tuple(
        paths[start] if end - start == 1 else f"{paths[start]} to {paths[end - 1]}"
        for start, end in compared.equal_ranges
    )
    return Divergence(row, against, common, lost, compared.differences, again)
