"""A log as it would be with the proposed fixes applied: a Trace of its own, for a replay under other rules.

The fixes are those that the counterfactual replay leaves in. Here the text that moves to the newest turn is written
there, at the end of the last user or tool message, in each request anew: it is not kept in the history. A cache marker
stands behind the same content as before, so in front of text that moves to the end of its block, and behind as many
tools as before where their order changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyzers.counterfactual import take_out
from analyzers.counterfactual_remedies import Remedy, Treatment, content_range, treatments_of
from analyzers.counterfactual_replay import HEADS, Replayer
from analyzers.divergence import Slot
from analyzers.divergences import Divergences, find_divergences
from analyzers.part_tokens import (
    RenderedRequests,
    as_offsets,
    part_tokens,
    prompt_runs,
    tree_of_requests,
)
from analyzers.pipeline import TracedLog
from analyzers.rendering import BlockEnd, RenderedPart, Segment
from analyzers.request import Dialect, Part, Request
from analyzers.request_table import boundaries_and_markers, request_table
from analyzers.slots import find_slots
from analyzers.trace import MISSING, Int64, Trace
from analyzers.usage_record import usage_record

LEAST_SCALE, LARGEST_SCALE = 0.5, 2.0
"""Outside these, a row's logged prompt and its content are not the same text: parts of it are not in the log."""
_ANSWERERS = ("assistant", "model")


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix that was applied: what is done, the JSON path pattern of the place, and in how many requests it differed
    from what they should have continued."""

    remedy: Remedy
    path: str
    requests: int


@dataclass(frozen=True)
class FixedLayout:
    """The log with its fixes applied, row for row.

    `requests` are those of the trace. `usage_prompt` of the trace is the logged figure with what the fixes add;
    the other logged figures stand as they were and say nothing about this layout. `seen_elsewhere` is unknown.
    `histories_left`: requests whose history stays as logged, because its messages would be written differently.
    """

    trace: Trace
    requests: list[Request]
    fixes: tuple[Fix, ...]
    histories_left: int


def trace_with_fixes(traced: TracedLog) -> FixedLayout | None:
    """Find the breakers of a log and lay its requests out without them; None where no fix gains anything."""
    divergences = find_divergences(traced, usage_record(traced))
    slots = find_slots(traced, divergences)
    treated = treatments_of(traced, divergences, slots)
    outcome = take_out(traced, divergences, slots, treated)
    if outcome.gain_tokens <= 0:
        return None
    treatments = list(outcome.applied.values())
    replayer = Replayer(traced, divergences)
    requests, left = _with_histories(traced, divergences, replayer, treatments)
    writer = _Writer(traced, divergences, replayer, treatments)
    rendered = writer.write(requests, _rendered(traced, requests))
    return FixedLayout(
        trace=_trace(traced, requests, rendered),
        requests=requests,
        fixes=_fixes(slots, outcome.applied),
        histories_left=left,
    )


def _fixes(slots: Sequence[Slot], applied: Mapping[int, Treatment]) -> tuple[Fix, ...]:
    by_number = {slot.number: slot for slot in slots}
    return tuple(
        Fix(treatment.remedy, by_number[number].path, len(by_number[number].requests))
        for number, treatment in applied.items()
    )


def _with_histories(
    traced: TracedLog, divergences: Divergences, replayer: Replayer, treatments: Iterable[Treatment]
) -> tuple[list[Request], int]:
    """The requests with the history left as it was where a treatment says so; and how many could not be."""
    requests = list(traced.log.requests)
    rows = frozenset[int]().union(*(treatment.rows for treatment in treatments))
    if not rows:
        return requests, 0
    comparer, own = divergences.comparer, traced.sequences
    sent: dict[int, Part] = {}
    for row, request in enumerate(requests):
        numbers = comparer.parts(row)
        if request.dialect is not Dialect.TOKENS and len(numbers) == len(request.parts):
            sent.update(zip(numbers, request.parts, strict=True))
    offsets, runs = replayer.with_history(rows)
    left = 0
    for row, request in enumerate(requests):
        before = own.runs[own.offsets[row] : own.offsets[row + 1]].tolist()
        after = runs[offsets[row] : offsets[row + 1]].tolist()
        if before == after:
            continue
        asking = len(before) - len(comparer.parts(row))
        parts = [sent.get(number) for number in after[: len(after) - asking]]
        kept = replace(request, parts=tuple(part for part in parts if part is not None))
        # Messages may be written differently where others stand around them: an answer that the request begins.
        if [part.number for part in traced.rendering.render(kept)] == after:
            requests[row] = kept
        else:
            left += 1
    return requests, left


def _rendered(traced: TracedLog, requests: Sequence[Request]) -> list[list[RenderedPart]]:
    """The rendered parts of each request; those given as token ids have none."""
    own = traced.sequences
    found: list[list[RenderedPart]] = []
    for row, (request, logged) in enumerate(zip(requests, traced.log.requests, strict=True)):
        if request.dialect is Dialect.TOKENS:
            found.append([])
        elif request is logged:
            found.append(
                [traced.parts[n] for n in own.runs[own.offsets[row] : own.offsets[row + 1]].tolist()]
            )
        else:
            found.append(list(traced.rendering.render(request)))
    return found


class _Writer:
    """Writes the parts of requests with treatments applied. Parts that no treatment touches keep their numbers."""

    def __init__(
        self,
        traced: TracedLog,
        divergences: Divergences,
        replayer: Replayer,
        treatments: Sequence[Treatment],
    ) -> None:
        self._traced = traced
        self._comparer = divergences.comparer
        self._replayer = replayer
        self._by_part: dict[int, list[Treatment]] = {}
        for treatment in treatments:
            for part in treatment.touched:
                self._by_part.setdefault(part, []).append(treatment)
        self._moving = [t for t in treatments if t.remedy is Remedy.MOVE_TO_NEWEST]
        self._parts = list(traced.parts)
        self._numbers: dict[tuple[int, tuple[str, ...]], int] = {}

    def write(
        self, requests: Sequence[Request], rendered: Sequence[Sequence[RenderedPart]]
    ) -> RenderedRequests:
        """The requests as parts, with the logged answers as the trace has them."""
        numbers = [
            number
            for request, parts in zip(requests, rendered, strict=True)
            for number in self._write(request, parts)
        ]
        offsets = as_offsets(np.array([len(parts) for parts in rendered], np.int64))
        table = self._traced.trace.requests
        answered = bool((table.cached_tokens != table.prompt_tokens).any())
        outputs = [self._answer(request) if answered else None for request in requests]
        return RenderedRequests(self._parts, offsets, np.array(numbers, np.int64), outputs)

    def _answer(self, request: Request) -> RenderedPart | None:
        answer = self._traced.rendering.render_response(request)
        return answer if answer is not None and answer.number < len(self._traced.parts) else None

    def _write(self, request: Request, parts: Sequence[RenderedPart]) -> list[int]:
        moved = tuple(
            value.text for part in parts for t in self._moving for value in t.spans.get(part.number, ())
        )
        newest = self._newest(request, parts) if moved else None
        return [self._number(part, moved if at == newest else ()) for at, part in enumerate(parts)]

    def _newest(self, request: Request, parts: Sequence[RenderedPart]) -> int:
        """Index of the last message that is not the answerer's, of the last part with content where there is none."""
        paths = self._traced.rendering.paths(request)
        held = [at for at, part in enumerate(parts) if any(path is not None for path in part.paths)]
        for at in reversed(held):
            number = parts[at].number
            known = number < len(self._traced.parts)
            if known and self._comparer.section(number, paths[at]) not in (*HEADS, *_ANSWERERS):
                return at
        return held[-1]

    def _number(self, part: RenderedPart, moved: tuple[str, ...]) -> int:
        treatments = self._by_part.get(part.number, [])
        known = part.number < len(self._traced.parts)
        if known and not treatments and not moved:
            return part.number
        key = part.number, moved
        if key not in self._numbers:
            self._numbers[key] = len(self._parts)
            self._parts.append(self._rewritten(part, treatments, moved))
        return self._numbers[key]

    def _rewritten(
        self, part: RenderedPart, treatments: Sequence[Treatment], moved: Sequence[str]
    ) -> RenderedPart:
        """The part as it would be. Text at its end that was not there is a block of its own."""
        written = self._replayer.rewritten(part, treatments, moved)
        ends = [replace(end, segments=written.places[end.segments]) for end in part.block_ends]
        if written.content_end > written.places[content_range(part)[1]]:
            ends.append(BlockEnd(written.content_end, ".moved"))
        return RenderedPart(len(self._parts), written.segments, (), tuple(ends), part.estimated_tokens)


def _trace(traced: TracedLog, requests: Sequence[Request], rendered: RenderedRequests) -> Trace:
    log, trace = replace(traced.log, requests=list(requests)), traced.trace
    segments = _all_segments(traced, rendered.parts)
    if traced.tokenizer is None:
        ids, offsets = np.empty(0, np.uint32), np.zeros(1, np.int64)
    else:
        ids, offsets = traced.tokenizer.encode_segments(segments)
    tokens = part_tokens(rendered.parts, ids, offsets)
    prompts = prompt_runs(requests, rendered, tokens)
    namespace = trace.requests.namespace
    built = tree_of_requests(log, rendered, tokens, prompts, namespace)
    boundaries = boundaries_and_markers(requests, rendered, tokens, traced.rendering)
    table = request_table(traced.rows, namespace, built, np.full(len(requests), MISSING, np.int64))
    return replace(
        trace,
        requests=replace(
            table,
            usage_prompt=_logged_prompts(
                table.usage_prompt, trace.requests.prompt_tokens, table.prompt_tokens
            ),
        ),
        tree=built.tree,
        boundaries=boundaries.ends,
        boundary_paths=boundaries.paths,
        markers=boundaries.markers,
        marker_ttl_s=boundaries.marker_ttl_s,
        paths=boundaries.names,
    )


def _all_segments(traced: TracedLog, parts: Sequence[RenderedPart]) -> list[Segment]:
    """Every segment by its number: those of the rendering, then those that the fixes brought."""
    known = len(traced.rendering.segments)
    brought = {s.number: s for part in parts for s in part.segments if s.number >= known}
    # A number that no part uses any more keeps its place with a segment that costs next to nothing to encode.
    filler = traced.rendering.segments[0]
    return [
        *traced.rendering.segments,
        *(brought.get(n, filler) for n in range(known, max(brought, default=known - 1) + 1)),
    ]


def _logged_prompts(logged: Int64, before: Int64, after: Int64) -> Int64:
    """The logged prompt tokens with what the fixes added, in the provider's count where the log holds the prompt."""
    scale = logged / np.maximum(before, 1)
    whole = (scale > LEAST_SCALE) & (scale < LARGEST_SCALE)
    with_added = np.where(whole, np.rint(after * scale), logged + after - before).astype(np.int64)
    return np.where((logged < 0) | (before == after), logged, with_added)
