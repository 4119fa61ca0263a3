"""The request table of a Trace, and where blocks end and markers stand in each prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyzers.namespaces import field_values
from analyzers.part_tokens import PartTokens, RenderedRequests, RequestTree, as_offsets, positions
from analyzers.prefix_tree import TokenRuns
from analyzers.request import Dialect, Request
from analyzers.request_rows import RequestRows, in_order_of_appearance
from analyzers.trace import NO_TIME, Int32, Int64, Ragged, RequestTable

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
    of_pair = [prefix_names[p // width] + suffix_names[p % width] for p in pairs.tolist()]
    names = sorted(set(of_pair))
    number = {name: index for index, name in enumerate(names)}
    path = np.array([number[name] for name in of_pair], np.int64)[path]

    marked = marker[at] != NO_TIME
    marked_before = as_offsets(marked.astype(np.int64))
    marker_offsets = marked_before[offsets]
    return Boundaries(
        ends=Ragged(offsets, depth),
        paths=Ragged(offsets, path),
        markers=Ragged(marker_offsets, depth[marked]),
        marker_ttl_s=Ragged(marker_offsets, marker[at][marked]),
        names=names,
    )


def request_table(rows: RequestRows, namespace: Int32, built: RequestTree, seen: Int64) -> RequestTable:
    """The request table; `seen` is the column `seen_elsewhere`."""
    return RequestTable(
        request_id=rows.request_id,
        time_ns=rows.time_ns,
        first_token_ns=rows.first_token_ns,
        end_ns=rows.end_ns,
        namespace=namespace,
        prompt_tokens=built.prompt_tokens,
        output_tokens=rows.output_tokens,
        leaf=built.leaf,
        cached_leaf=built.cached_leaf,
        cached_tokens=built.cached_tokens,
        seen_elsewhere=seen,
        usage_prompt=rows.usage_prompt,
        usage_read=rows.usage_read,
        usage_written=rows.usage_written,
        usage_output=rows.usage_output,
        model=field_values(rows, "model"),
        provider=field_values(rows, "provider"),
        session=field_values(rows, "session"),
        tenant=field_values(rows, "tenant"),
        route=field_values(rows, "route"),
        file=in_order_of_appearance(rows.file),
        line=rows.line,
    )
