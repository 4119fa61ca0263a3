"""Token ids of every distinct part, once, and prompts as runs of them."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from analyzers.prefix_tree import TokenRuns, TreeWithOutputs, UInt32, build_tree_with_outputs
from analyzers.request import Dialect, Log, PartKind, Request
from analyzers.trace import Int32, Int64, PrefixTree

if TYPE_CHECKING:
    from analyzers.rendering import RenderedPart, Rendering, Segment
    from analyzers.tokenization import Tokenizer


_SLICES_AT_ONCE = 4_096
"""Their indices are three times as large as their ids, so they are made for a few at a time."""


@dataclass
class RenderedRequests:
    """Numbers of the rendered parts of each request, in CSR form, and the parts by number."""

    parts: list["RenderedPart"] = field(default_factory=list)
    offsets: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))
    numbers: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    outputs: list["RenderedPart | None"] = field(default_factory=list)


def render_and_tokenize(
    requests: Sequence[Request], rendering: "Rendering", tokenizer: "Tokenizer | None", answers: bool = True
) -> tuple[RenderedRequests, "PartTokens"]:
    """Render every request, and its logged answer too when `answers` (else outputs are None), and encode each
    distinct segment once, on a thread of its own while rendering goes on."""
    parts: list[RenderedPart] = []
    numbers: list[int] = []
    counts = np.zeros(len(requests) + 1, np.int64)
    outputs: list[RenderedPart | None] = []
    with SegmentEncoder(rendering.segments, tokenizer) as encoder:
        for i, request in enumerate(requests):
            if request.dialect is not Dialect.TOKENS:
                for part in rendering.render(request):
                    if part.number == len(parts):
                        parts.append(part)
                    numbers.append(part.number)
            counts[i + 1] = len(numbers)
            answer = rendering.render_response(request) if answers else None
            if answer is not None and answer.number == len(parts):
                parts.append(answer)
            outputs.append(answer)
            encoder.encode_new()
        ids, offsets = encoder.finish()
    rendered = RenderedRequests(parts, counts, np.array(numbers, np.int64), outputs)
    return rendered, part_tokens(parts, ids, offsets)


class SegmentEncoder:
    """Encodes the segments of a growing list on a thread, some thousands at a time."""

    _AT_ONCE = 6000

    def __init__(self, segments: Sequence["Segment"], tokenizer: "Tokenizer | None") -> None:
        self._segments = segments
        self._tokenizer = tokenizer
        self._given = 0
        self._thread = ThreadPoolExecutor(1)
        self._batches: list[Future[tuple[UInt32, Int64]]] = []

    def __enter__(self) -> "SegmentEncoder":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def encode_new(self, at_least: int = _AT_ONCE) -> None:
        """Hand the segments that came since the last time to the thread, when they are enough for a batch."""
        if self._tokenizer is None or len(self._segments) - self._given < at_least:
            return
        batch = self._segments[self._given :]
        self._given += len(batch)
        self._batches.append(self._thread.submit(self._tokenizer.encode_segments, batch))

    def finish(self) -> tuple[UInt32, Int64]:
        """The ids of all segments (uint32, one behind the other) and where each begins (int64, count + 1)."""
        self.encode_new(at_least=1)
        ids, lengths = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
        for batch in self._batches:
            some, offsets = batch.result()
            ids.append(some)
            lengths.append(np.diff(offsets))
        self._batches.clear()
        return np.concatenate(ids), as_offsets(np.concatenate(lengths))


@dataclass(frozen=True)
class PartTokens:
    """Token ids of every rendered part in one pool, and where each of its segments ends.

    Part k is pool[start[k] : start[k] + length[k]]; its segments end, relative to the part, at
    segment_ends[segment_offsets[k] : segment_offsets[k + 1]].
    """

    pool: UInt32
    start: Int64
    length: Int64
    segment_offsets: Int64
    segment_ends: Int64


def part_tokens(parts: list["RenderedPart"], ids: UInt32, offsets: Int64) -> PartTokens:
    """Lay out the ids of each part; `ids` and `offsets` give those of each segment by its number."""
    begin, size = offsets[:-1], np.diff(offsets)
    counts = np.array([len(p.segments) for p in parts], np.int64)
    flat = np.fromiter((s.number for p in parts for s in p.segments), np.int64, int(counts.sum()))
    segment_offsets = as_offsets(counts)
    ends = np.cumsum(size[flat])
    starts = _before(ends, segment_offsets[:-1])
    pool = gather(ids, begin[flat], size[flat])
    return PartTokens(
        pool=pool,
        start=starts,
        length=_before(ends, segment_offsets[1:]) - starts,
        segment_offsets=segment_offsets,
        segment_ends=ends - np.repeat(starts, counts),
    )


def as_offsets(counts: Int64) -> Int64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _before(ends: Int64, index: Int64) -> Int64:
    """Running total in front of each index: ends[index - 1], 0 for index 0."""
    padded: Int64 = np.concatenate([np.zeros(1, np.int64), ends])[index]
    return padded


def gather(source: UInt32, begin: Int64, size: Int64) -> UInt32:
    """The slices source[begin : begin + size], one behind the other."""
    offsets = as_offsets(size)
    out = np.empty(offsets[-1], np.uint32)
    for first in range(0, len(size), _SLICES_AT_ONCE):
        some = slice(first, first + _SLICES_AT_ONCE)
        end = min(first + _SLICES_AT_ONCE, len(size))
        out[offsets[first] : offsets[end]] = source[positions(begin[some], size[some])]
    return out


def positions(begin: Int64, size: Int64) -> Int64:
    """Indices begin[i] .. begin[i] + size[i] - 1 for each i, one range behind the other."""
    offsets = as_offsets(size)
    positions: Int64 = np.arange(offsets[-1], dtype=np.int64) + np.repeat(begin - offsets[:-1], size)
    return positions


def _ids(raw: bytes) -> UInt32:
    return np.frombuffer(raw, "<u4").astype(np.uint32, copy=False)


def prompt_runs(requests: Sequence[Request], rendered: RenderedRequests, tokens: PartTokens) -> TokenRuns:
    """The prompts as runs: one a rendered part, and one for each whole prompt that the log gives as ids."""
    given = [
        (i, _ids(b"".join(p.raw for p in r.parts)))
        for i, r in enumerate(requests)
        if r.dialect is Dialect.TOKENS and r.parts
    ]
    if not given:
        return TokenRuns(tokens.pool, tokens.start, tokens.length, rendered.offsets, rendered.numbers)
    lengths = np.array([len(ids) for _, ids in given], np.int64)
    counts = np.diff(rendered.offsets)
    counts[[i for i, _ in given]] = 1
    offsets = as_offsets(counts)
    runs = np.empty(offsets[-1], np.int64)
    of_ids = np.zeros(len(runs), bool)
    of_ids[offsets[[i for i, _ in given]]] = True
    runs[of_ids] = len(tokens.start) + np.arange(len(given))
    runs[~of_ids] = rendered.numbers
    return TokenRuns(
        pool=np.concatenate([tokens.pool, *(ids for _, ids in given)]),
        start=np.concatenate([tokens.start, len(tokens.pool) + as_offsets(lengths)[:-1]]),
        length=np.concatenate([tokens.length, lengths]),
        offsets=offsets,
        runs=runs,
    )


@dataclass(frozen=True)
class RequestTree:
    """The prefix tree of a log and where each request ends in it.

    `leaf` and `cached_leaf` (int32) as in the request table; `prompt_tokens` and `cached_tokens` int64.
    """

    tree: PrefixTree
    leaf: Int32
    cached_leaf: Int32
    prompt_tokens: Int64
    cached_tokens: Int64


def tree_of_requests(
    log: Log, rendered: RenderedRequests, tokens: PartTokens, prompts: TokenRuns, namespace: Int32
) -> RequestTree:
    """The tree over prompts and, where outputs are known, over prompts with what a serving cache keeps of them.

    In a hash-only trace each id stands for `log.unit` tokens, and a prompt's length is what the log says.
    """
    if log.unit > 1:
        built = build_tree_with_outputs(prompts, np.zeros(len(prompts), bool), namespace)
        return in_tokens(built, log.unit, np.array([logged_prompt(r) for r in log.requests], np.int64))
    kept = kept_outputs(log.requests, rendered, tokens)
    has_output = np.zeros(len(prompts), bool)
    has_output[list(kept)] = True
    sequences = _with_outputs(prompts, kept, has_output) if kept else prompts
    built = build_tree_with_outputs(sequences, has_output, namespace)
    return RequestTree(built.tree, built.leaf, built.cached_leaf, prompts.totals(), sequences.totals())


def in_tokens(built: TreeWithOutputs, unit: int, length: Int64) -> RequestTree:
    """The tree of a hash-only trace, whose ids stand for `unit` tokens each, with depths in tokens.

    `length` (int64) is the prompt length of each request that the log states.
    """
    tree = built.tree
    scaled = PrefixTree(tree.parent, tree.depth_start * unit, tree.depth_end * unit, tree.first_request)
    return RequestTree(scaled, built.leaf, built.leaf, length, length)


def _with_outputs(
    prompts: TokenRuns, kept: dict[int, UInt32], has_output: npt.NDArray[np.bool_]
) -> TokenRuns:
    """The prompts with a run more for each output that is kept, right behind its prompt's."""
    lengths = np.array([len(ids) for ids in kept.values()], np.int64)
    new_runs = len(prompts.start) + np.arange(len(kept))
    return TokenRuns(
        pool=np.concatenate([prompts.pool, *kept.values()]),
        start=np.concatenate([prompts.start, len(prompts.pool) + as_offsets(lengths)[:-1]]),
        length=np.concatenate([prompts.length, lengths]),
        offsets=prompts.offsets + as_offsets(has_output.astype(np.int64)),
        runs=np.insert(prompts.runs, prompts.offsets[1:][has_output], new_runs),
    )


def kept_outputs(
    requests: Sequence[Request], rendered: RenderedRequests, tokens: PartTokens
) -> dict[int, UInt32]:
    """Per request, in order, with a known output of two tokens or more: its ids less the last, which never gets KV."""
    kept: dict[int, UInt32] = {}
    for i, (request, answer) in enumerate(zip(requests, rendered.outputs, strict=True)):
        ids: UInt32 | None = None
        if request.output is not None and request.output.kind is PartKind.TOKENS:
            ids = _ids(request.output.raw)
        elif answer is not None and request.parts:
            ids = tokens.pool[tokens.start[answer.number] :][: tokens.length[answer.number]]
        if ids is not None and len(ids) > 1:
            kept[i] = ids[:-1]
    return kept


def logged_prompt(request: Request) -> int:
    tokens = request.usage.prompt_tokens if request.usage else None
    return tokens if tokens is not None else 0
