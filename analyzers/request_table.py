"""The columns of a Trace that come from the requests themselves: the request table, boundaries, markers, usage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyzers.namespaces import field_values
from analyzers.part_tokens import PartTokens, RenderedRequests, RequestTree, as_offsets, positions
from analyzers.prefix_tree import TokenRuns
from analyzers.request import Dialect, PartKind, Request
from analyzers.trace import MISSING, NO_TIME, Int32, Int64, Names, Ragged, RequestTable

if TYPE_CHECKING:
    from analyzers.rendering import Rendering


@dataclass(frozen=True)
class Boundaries:
    ends: Ragged
    paths: Ragged
    markers: Ragged
    marker_ttl_s: Ragged
    names: list[str]


def boundaries_and_markers(
    requests: Sequence[Request], rendered: RenderedRequests, tokens: PartTokens, rendering: "Rendering"
) -> Boundaries:
    """Depths of block ends and markers. A part's block ends are laid out once, then placed at each use."""
    block_counts = np.array([len(p.block_ends) for p in rendered.parts], np.int64)
    block_offsets = as_offsets(block_counts)
    blocks = [b for p in rendered.parts for b in p.block_ends]
    part_of_block = np.repeat(np.arange(len(rendered.parts)), block_counts)
    segments = np.array([b.segments for b in blocks], np.int64)
    index = tokens.segment_offsets[part_of_block] + segments - 1
    block_depth = (
        np.where(segments > 0, tokens.segment_ends[np.maximum(index, 0)], 0) if len(blocks) else segments
    )
    marker = np.array([NO_TIME if b.marker_ttl_s is None else b.marker_ttl_s for b in blocks], np.int64)
    suffixes: dict[str, int] = {}
    suffix = np.array([suffixes.setdefault(b.path, len(suffixes)) for b in blocks], np.int64)

    prefixes: dict[str, int] = {}
    prefix = np.fromiter(
        (
            prefixes.setdefault(path, len(prefixes))
            for r in requests
            if r.dialect is not Dialect.TOKENS
            for path in rendering.paths(r)
        ),
        np.int64,
        len(rendered.numbers),
    )
    runs = TokenRuns(tokens.pool, tokens.start, tokens.length, rendered.offsets, rendered.numbers)
    per_use = block_counts[rendered.numbers]
    at = positions(block_offsets[:-1][rendered.numbers], per_use)
    depth = np.repeat(runs.run_depths().astype(np.int64), per_use) + block_depth[at]
    ends_before = as_offsets(per_use)
    offsets = ends_before[rendered.offsets]
    pair = np.repeat(prefix, per_use) * max(1, len(suffixes)) + suffix[at]
    pairs, path = np.unique(pair, return_inverse=True)
    prefix_names, suffix_names = list(prefixes), list(suffixes)
    width = max(1, len(suffixes))
    names = [prefix_names[p // width] + suffix_names[p % width] for p in pairs.tolist()]

    marked = marker[at] != NO_TIME
    marked_before = as_offsets(marked.astype(np.int64))
    marker_offsets = marked_before[offsets]
    return Boundaries(
        ends=Ragged(offsets, depth),
        paths=Ragged(offsets, path.astype(np.int64)),
        markers=Ragged(marker_offsets, depth[marked]),
        marker_ttl_s=Ragged(marker_offsets, marker[at][marked]),
        names=names,
    )


def logged_writes(requests: Sequence[Request]) -> tuple[Ragged, Ragged]:
    writes = [sorted((r.usage.written or {}).items()) if r.usage else [] for r in requests]
    offsets = as_offsets(np.array([len(w) for w in writes], np.int64))
    tokens = np.array([tokens for w in writes for _, tokens in w], np.int64)
    ttl = np.array([ttl for w in writes for ttl, _ in w], np.int64)
    return Ragged(offsets, tokens), Ragged(offsets, ttl)


def _known(values: Sequence[int | None], missing: int) -> Int64:
    return np.array([missing if v is None else v for v in values], np.int64)


def _output_tokens(requests: Sequence[Request]) -> Int64:
    """Output tokens as logged, else as many as the answer's ids; unknown where the log has neither."""
    counts: list[int | None] = []
    for request in requests:
        logged = request.usage.output_tokens if request.usage else None
        if logged is None and request.output is not None and request.output.kind is PartKind.TOKENS:
            logged = len(request.output.raw) // 4
        counts.append(logged)
    return _known(counts, MISSING)


def request_table(
    requests: Sequence[Request], namespace: Int32, built: RequestTree, seen: Int64
) -> RequestTable:
    """The request table; `seen` is the column `seen_elsewhere`."""
    usages = [r.usage for r in requests]
    files: dict[str, int] = {}
    return RequestTable(
        request_id=[r.request_id for r in requests],
        time_ns=_known([r.time_ns for r in requests], NO_TIME),
        first_token_ns=_known([r.first_token_ns for r in requests], NO_TIME),
        end_ns=_known([r.end_ns for r in requests], NO_TIME),
        namespace=namespace,
        prompt_tokens=built.prompt_tokens,
        output_tokens=_output_tokens(requests),
        leaf=built.leaf,
        cached_leaf=built.cached_leaf,
        cached_tokens=built.cached_tokens,
        seen_elsewhere=seen,
        usage_prompt=_known([u.prompt_tokens if u else None for u in usages], MISSING),
        usage_read=_known([u.read_tokens if u else None for u in usages], MISSING),
        usage_written=_known([u.written_tokens if u else None for u in usages], MISSING),
        usage_output=_known([u.output_tokens if u else None for u in usages], MISSING),
        model=field_values(requests, "model"),
        provider=field_values(requests, "provider"),
        session=field_values(requests, "session"),
        tenant=field_values(requests, "tenant"),
        route=field_values(requests, "route"),
        file=Names(np.array([files.setdefault(r.file, len(files)) for r in requests], np.int32), list(files)),
        line=np.array([r.line for r in requests], np.int64),
    )
