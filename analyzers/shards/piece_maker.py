"""From a slice of a log to its piece: render, tokenize, and keep hashes where the text was."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from analyzers.part_tokens import (
    PartTokens,
    RenderedRequests,
    as_offsets,
    gather,
    kept_outputs,
    prompt_runs,
    render_and_tokenize,
)
from analyzers.pipeline import TraceOptions
from analyzers.prefix_tree import TokenRuns, UInt32
from analyzers.rendering import content_digest, make_rendering
from analyzers.request import Dialect, PartKind, Request
from analyzers.request_rows import rows_of
from analyzers.request_table import boundaries_and_markers
from analyzers.seen import SHORTEST_CHUNK
from analyzers.shards.piece import DistinctRuns, Piece, UInt64
from analyzers.shards.slices import LogSlice
from analyzers.time_order import Bool, in_period
from analyzers.tokenization import (
    FIRST_VIRTUAL_ID,
    Int64,
    Tokenizer,
    choose_tokenizer_of_log,
    load_tokenizer,
)
from analyzers.trace import Int32, Ragged


@dataclass(frozen=True)
class _Loaded:
    """A tokenizer and which of its ids end a line (uint8 by id)."""

    tokenizer: Tokenizer
    line_ends: npt.NDArray[np.uint8]


class PieceMaker:
    """Makes pieces, keeping each tokenizer it had to load."""

    def __init__(self, options: TraceOptions) -> None:
        self._options = options
        self._loaded: dict[str, _Loaded] = {}

    def piece(self, part: LogSlice, tokenizer: str | None = None) -> Piece:
        """The piece of a slice, made with `tokenizer`, or with the one that the options name or the slice's models
        call for if there is text in it. Raises what `load_tokenizer` and `make_rendering` raise."""
        rows = rows_of(part.log.requests)
        inside = in_period(rows.time_ns, self._options.since_ns, self._options.until_ns)
        requests = [r for r, keep in zip(part.log.requests, inside.tolist(), strict=True) if keep]
        holds_text = any(p.kind is not PartKind.TOKENS for r in requests for p in r.parts[:1])
        loaded = self._load(tokenizer, requests) if holds_text or tokenizer is not None else None
        vocabulary = loaded.tokenizer if loaded is not None else None
        rendering = make_rendering(self._options.chat_template if loaded is not None else None, vocabulary)
        rendered, tokens = render_and_tokenize(requests, rendering, vocabulary, self._options.answers)
        prompts = prompt_runs(requests, rendered, tokens)
        runs, used, outputs = _distinct_runs(requests, rendered, tokens, prompts, loaded)
        boundaries = boundaries_and_markers(requests, rendered, tokens, rendering)
        output = np.full(len(rows), -1, np.int32)
        output[inside] = outputs
        return Piece(
            account=part.account,
            rows=rows,
            runs=runs,
            prompts=_among_all(inside, Ragged(prompts.offsets, used)),
            output=output,
            boundaries=_among_all(inside, boundaries.ends),
            boundary_paths=_among_all(inside, boundaries.paths),
            markers=_among_all(inside, boundaries.markers),
            marker_ttl_s=_among_all(inside, boundaries.marker_ttl_s),
            path_names=boundaries.names,
            rendering=rendering.account,
            rendering_description=rendering.description,
            tokenizer=vocabulary.name if vocabulary is not None else None,
            tokenizer_notes=vocabulary.notes if vocabulary is not None else (),
            holds_text=holds_text,
            holds_ids=any(r.dialect is Dialect.TOKENS and r.parts for r in requests),
        )

    def _load(self, name: str | None, requests: Sequence[Request]) -> _Loaded:
        if name is None:
            name = self._options.tokenizer
        if name == "auto":
            name = choose_tokenizer_of_log((r.model, r.provider) for r in requests).name
        if name not in self._loaded:
            tokenizer = load_tokenizer(name)
            self._loaded[name] = _Loaded(tokenizer, tokenizer.line_ends())
        return self._loaded[name]


@lru_cache(maxsize=1)
def piece_maker(options: TraceOptions) -> PieceMaker:
    """The maker of this process: its tokenizers serve one shard after another."""
    return PieceMaker(options)


def _distinct_runs(
    requests: Sequence[Request],
    rendered: RenderedRequests,
    tokens: PartTokens,
    prompts: TokenRuns,
    loaded: _Loaded | None,
) -> tuple[DistinctRuns, Int64, Int32]:
    """The runs that prompts and kept outputs have, for each use in the prompts its run (int64), and the run of each
    request's output (int32)."""
    from analyzers import chunk_kernels

    used, numbers = np.unique(prompts.runs, return_inverse=True)
    outputs = kept_outputs(requests, rendered, tokens)
    pool = np.concatenate(
        [gather(prompts.pool, prompts.start[used], prompts.length[used]), *outputs.values()]
    )
    sizes = [len(ids) for ids in outputs.values()]
    lengths = np.concatenate([prompts.length[used], np.array(sizes, np.int64)])
    offsets = as_offsets(lengths)
    output = np.full(len(requests), -1, np.int32)
    output[list(outputs)] = len(used) + np.arange(len(outputs))
    virtual = _virtual_texts(pool, loaded.tokenizer) if loaded is not None else {}
    text_hashes = _text_hashes(virtual)
    cut_after = loaded.line_ends if loaded is not None else np.empty(0, np.uint8)
    chunk_offsets, chunk_start, chunk_length = chunk_kernels.cut_into_chunks(
        pool, offsets[: len(used)], lengths[: len(used)], cut_after, SHORTEST_CHUNK
    )
    runs = DistinctRuns(
        pool=pool,
        offsets=offsets,
        hash=chunk_kernels.hash_slices(pool, offsets[:-1], lengths, text_hashes),
        chunk_offsets=np.concatenate([chunk_offsets, np.full(len(outputs), chunk_offsets[-1])]),
        chunk_length=chunk_length,
        chunk_hash=chunk_kernels.hash_slices(pool, chunk_start, chunk_length, text_hashes),
        virtual=virtual,
    )
    return runs, numbers.astype(np.int64), output


def _virtual_texts(pool: UInt32, tokenizer: Tokenizer) -> dict[int, str]:
    """The text of each id of the pool that the tokenizer gave out itself."""
    texts = tokenizer.virtual_texts()
    used = np.unique(pool[pool >= FIRST_VIRTUAL_ID]).tolist()
    return {number: texts[number] for number in used if number in texts}


def _text_hashes(virtual: dict[int, str]) -> UInt64:
    """Row i is the hash of the text that id FIRST_VIRTUAL_ID + i stands for (uint64, ids x 2), else the id itself."""
    ids = np.arange(FIRST_VIRTUAL_ID, max(virtual, default=FIRST_VIRTUAL_ID - 1) + 1, dtype=np.uint64)
    hashes = np.stack([ids, ids], axis=1)
    for number, text in virtual.items():
        hashes[number - FIRST_VIRTUAL_ID] = np.frombuffer(content_digest(text), np.uint64)
    return hashes


def _among_all(inside: Bool, kept: Ragged) -> Ragged:
    """Lists of the requests inside the period as lists of all requests, empty outside."""
    counts = np.zeros(len(inside), np.int64)
    counts[inside] = np.diff(kept.offsets)
    return Ragged(as_offsets(counts), kept.values)
