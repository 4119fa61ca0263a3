"""A log with some breakers taken out, played again: only what changes is encoded anew, and the tree rebuilt."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from analyzers.counterfactual_remedies import (
    Remedy,
    Treatment,
    appended,
    content_range,
    form_of,
    sorted_by,
    tool_name,
    union_of_tools,
)
from analyzers.divergences import Divergences
from analyzers.pipeline import TracedLog
from analyzers.prefix_tree import TokenRuns, UInt32, build_prefix_tree
from analyzers.rendering import RenderedPart, Segment
from analyzers.reuse import reusable_depth
from analyzers.text_changes import aligned
from analyzers.trace import Int64

HEADS = ("schema", "tools", "system")
"""Sections that stand in front of the messages."""


@dataclass(frozen=True)
class Played:
    """Per request, int64 tokens: the prompt as it would be, and its longest prefix that an earlier one has.

    Text moved into the newest turn is in neither: the caller counts it as new each time.
    """

    prompt: Int64
    reusable: Int64


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A part with treatments applied: its segments, and for each place behind s segments of the part as it was
    how many of these stand in front of the same place. Content ends behind `content_end` segments, which text
    that moved to the end of the part makes later than the place of the old end."""

    segments: tuple[Segment, ...]
    places: tuple[int, ...]
    content_end: int


class Replayer:
    """Plays a log under any set of treatments. What was rewritten and encoded once is kept."""

    def __init__(self, traced: TracedLog, divergences: Divergences) -> None:
        self._traced = traced
        self._comparer = divergences.comparer
        self._predecessor = divergences.continuations.predecessor
        self._segments: dict[str, Segment] = {}
        self._forms: dict[str, str] = {}
        self._in_form: dict[int, Segment] = {}
        self._ids: dict[int, UInt32] = {}
        self._runs: dict[tuple[int, ...], int] = {}
        self._pool = traced.sequences.pool
        self._start = traced.sequences.start
        self._length = traced.sequences.length
        self._pending: list[tuple[Segment, ...]] = []
        self._rewritten: dict[tuple[int, tuple[int, ...]], int] = {}

    def play(self, treatments: Sequence[Treatment]) -> Played:
        """The reuse of every request with these treatments applied together."""
        sequences = self._traced.sequences
        offsets, runs = sequences.offsets, sequences.runs
        kept = frozenset().union(*(t.rows for t in treatments))
        if kept:
            offsets, runs = self.with_history(kept)
        run_of = np.arange(len(sequences.start), dtype=np.int64)
        by_part: dict[int, list[Treatment]] = {}
        for treatment in treatments:
            for part in treatment.touched:
                by_part.setdefault(part, []).append(treatment)
        for part, applied in by_part.items():
            run_of[part] = self._run(part, applied)
        self._encode_pending()
        played = TokenRuns(self._pool, self._start, self._length, offsets, run_of[runs])
        built = build_prefix_tree(played, self._traced.trace.requests.namespace)
        reusable, _ = reusable_depth(built.tree, built.leaf)
        return Played(played.totals(), reusable)

    def _run(self, number: int, treatments: Sequence[Treatment]) -> int:
        """The run of a part with the treatments applied; its tokens may be pending."""
        key = (number, tuple(id(t) for t in treatments))
        run = self._rewritten.get(key)
        if run is None:
            content = self.rewritten(self._traced.parts[number], treatments).segments
            numbers = tuple(segment.number for segment in content)
            run = self._runs.get(numbers)
            if run is None:
                run = self._runs[numbers] = len(self._start) + len(self._pending)
                self._pending.append(content)
            self._rewritten[key] = run
        return run

    def rewritten(
        self, part: RenderedPart, treatments: Sequence[Treatment], newest: Sequence[str] = ()
    ) -> Rewritten:
        """The part with the treatments applied, and the texts of `newest` behind the content it has then."""
        by_remedy: dict[Remedy, list[Treatment]] = {}
        for treatment in treatments:
            by_remedy.setdefault(treatment.remedy, []).append(treatment)
        segments = list(part.segments)
        first, last = content_range(part)
        for remedy in (Remedy.KEEP_TOOLS, Remedy.KEEP_FIRST):
            if remedy in by_remedy:
                parts = [self._traced.parts[n] for t in by_remedy[remedy] for n in sorted(t.parts)]
                kept = (
                    union_of_tools(parts)
                    if remedy is Remedy.KEEP_TOOLS
                    else list(parts[0].segments[slice(*content_range(parts[0]))])
                )
                segments[first:last] = kept
                places = [
                    min(s, first + len(kept)) if s < last else s + len(kept) - (last - first)
                    for s in range(len(part.segments) + 1)
                ]
                return self._in_one_order(segments, (first, first + len(kept)), by_remedy, places)
        moving = [
            t
            for remedy in (Remedy.MOVE_TO_NEWEST, Remedy.MOVE_BEHIND_PART)
            for t in by_remedy.get(remedy, ())
        ]
        moved: list[Segment] = []
        if moving:
            self._take_out(segments, part.number, moving)
            behind = sorted(by_remedy.get(Remedy.MOVE_BEHIND_PART, ()), key=lambda t: t.rank)
            moved = [
                self._plain("\n" + value.text)
                for treatment in behind
                for value in treatment.spans[part.number]
            ]
        moved += [self._plain("\n" + text) for text in newest]
        segments[last:last] = moved
        places = [s if s <= last else s + len(moved) for s in range(len(part.segments) + 1)]
        return self._in_one_order(segments, (first, last + len(moved)), by_remedy, places)

    def _in_one_order(
        self,
        segments: list[Segment],
        content: tuple[int, int],
        by_remedy: Mapping[Remedy, object],
        places: Sequence[int],
    ) -> Rewritten:
        first, last = content
        if Remedy.ONE_FORM in by_remedy:
            segments[first:last] = [self._in_one_form(segment) for segment in segments[first:last]]
        if Remedy.SORT in by_remedy:
            segments = sorted_by(tool_name, segments, first, last)
        left = [0, *accumulate(bool(segment.text) for segment in segments)]
        return Rewritten(
            tuple(segment for segment in segments if segment.text),
            tuple(left[place] for place in places),
            left[last],
        )

    def _take_out(self, segments: list[Segment], part: int, treatments: Iterable[Treatment]) -> None:
        spans: dict[int, list[tuple[int, int]]] = {}
        for treatment in treatments:
            for value in treatment.spans[part]:
                spans.setdefault(value.segment, []).append((value.start, value.end))
        for index, places in spans.items():
            text, kept, at = segments[index].text, [], 0
            for start, end in sorted(places):
                kept.append(text[at : max(at, start)])
                at = max(at, end)
            segments[index] = self._plain("".join([*kept, text[at:]]))

    def _plain(self, text: str) -> Segment:
        segment = self._segments.get(text)
        if segment is None:
            number = len(self._traced.rendering.segments) + len(self._segments)
            segment = self._segments[text] = Segment(number, text, False)
        return segment

    def _in_one_form(self, segment: Segment) -> Segment:
        if segment.special:
            return segment
        known = self._in_form.get(segment.number)
        if known is None:
            text = self._forms.setdefault(form_of(segment.text), segment.text)
            known = self._in_form[segment.number] = segment if text == segment.text else self._plain(text)
        return known

    def _encode_pending(self) -> None:
        if not self._pending:
            return
        missing = {s.number: s for content in self._pending for s in content if s.number not in self._ids}
        tokenizer = self._traced.tokenizer
        if missing and tokenizer is not None:
            segments = list(missing.values())
            flat, offsets = tokenizer.encode_segments(segments)
            for i, segment in enumerate(segments):
                self._ids[segment.number] = flat[offsets[i] : offsets[i + 1]]
        new = [self._ids[segment.number] for content in self._pending for segment in content]
        lengths = np.array(
            [sum(len(self._ids[segment.number]) for segment in content) for content in self._pending],
            np.int64,
        )
        ends = np.cumsum(lengths)
        self._start = np.concatenate([self._start, len(self._pool) + ends - lengths])
        self._length = np.concatenate([self._length, lengths])
        self._pool = np.concatenate([self._pool, *new])
        self._pending = []

    def with_history(self, rows: frozenset[int]) -> tuple[Int64, Int64]:
        """Offsets and runs of the requests when those in `rows` leave the history as it was and append.

        Requests that go on from such a one carry its history too.
        """
        sequences, comparer = self._traced.sequences, self._comparer
        content = comparer.content
        predecessor = self._predecessor.tolist()
        messages: dict[int, list[int]] = {}
        runs = [
            sequences.runs[a:b] for a, b in zip(sequences.offsets[:-1], sequences.offsets[1:], strict=True)
        ]
        for row in range(min(rows), len(runs)):
            against = predecessor[row]
            if against < 0 or (row not in rows and against not in messages):
                continue
            old, new = comparer.parts(against), comparer.parts(row)
            if comparer.holds_ids(old) or comparer.holds_ids(new):
                continue
            old_head, new_head = self._head(against, old), self._head(row, new)
            before = [content[number] for number in old[old_head:]]
            after = [content[number] for number in new[new_head:]]
            if row not in rows and after[: len(before)] != before:
                continue
            fresh = [new[new_head + i] for i in appended(aligned(before, after))]
            messages[row] = [*messages.get(against, old[old_head:]), *fresh]
            tail = runs[row][len(new) :].tolist()
            runs[row] = np.array([*new[:new_head], *messages[row], *tail], np.int64)
        counts = np.array([len(own) for own in runs], np.int64)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), np.concatenate(runs)

    def _head(self, row: int, parts: Sequence[int]) -> int:
        """How many parts stand in front of the messages."""
        paths = self._comparer.paths(row)
        for index, number in enumerate(parts):
            if self._comparer.section(number, paths[index]) not in HEADS:
                return index
        return len(parts)
