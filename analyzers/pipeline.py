"""From a log to a Trace: order, render, tokenize, build the tree.

Work follows what is new: a part is rendered once, a segment tokenized once, and a request is a list of runs of
one pool of token ids, so that the tree compares places in the pool before it looks at tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyzers.errors import CannotEvaluateError
from analyzers.namespaces import default_namespace, number_namespaces
from analyzers.part_tokens import RequestTree, prompt_runs, render_and_tokenize, tree_of_requests
from analyzers.prefix_tree import TokenRuns
from analyzers.request import Log, PartKind, Request
from analyzers.request_rows import RequestRows, rows_of
from analyzers.request_table import Boundaries, boundaries_and_markers, request_table
from analyzers.reuse import reusable_depth
from analyzers.seen import Chunks, cut_into_chunks, tokens_seen_elsewhere
from analyzers.time_order import keep_period, put_in_time_order
from analyzers.trace import MISSING, Int32, Int64, Trace, TraceInfo

if TYPE_CHECKING:
    from analyzers.rendering import RenderedPart, Rendering
    from analyzers.tokenization import Tokenizer

TOOL_VERSION = "0.1.0"


@dataclass(frozen=True)
class TraceOptions:
    """How a log becomes a Trace.

    `tokenizer`: a name, path or hub id, or "auto" to choose by model. `chat_template`: a template file or a
    tokenizer's name, None for the provider's own order. `namespace`: the fields two requests must agree in to
    share a prefix; None for the model and whatever tenant, workspace, adapter or salt the log names; empty for
    one namespace. `since_ns` and `until_ns` keep requests with since <= time < until. `answers`: render logged
    answers too, so that a replay finds them in its cache; reuse among prompts does not need them.
    """

    tokenizer: str = "auto"
    chat_template: str | None = None
    namespace: tuple[str, ...] | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    answers: bool = True


@dataclass(frozen=True)
class TracedLog:
    """A log, its Trace, and what lies between: for questions that need the content.

    `log.requests` and `rows` stand in the order of the trace's rows. Run k of `sequences` is `parts[k]` for
    k < len(parts); requests given as token ids have one run of their own behind those. The first
    `len(log.requests)` sequences are the prompts; with outputs, those follow in the trace's tree only.
    """

    log: Log
    rows: RequestRows
    trace: Trace
    parts: list["RenderedPart"]
    sequences: TokenRuns
    chunks: Chunks
    rendering: "Rendering"
    tokenizer: "Tokenizer | None"


def trace_log(log: Log, options: TraceOptions | None = None) -> TracedLog:
    """Build the Trace of a log. Sorts `log.requests` into time order and adds notes to the log.

    Raises CannotEvaluateError when the log has no requests (left), UsageError for unknown options.
    """
    options = options or TraceOptions()
    if not log.requests:
        raise CannotEvaluateError("the input holds no model calls that pcache can read; nothing to analyse")
    put_in_time_order(log)
    keep_period(log, options.since_ns, options.until_ns)
    requests = log.requests
    rendering, tokenizer, note = _rendering_and_tokenizer(requests, options)
    # Early, because it passes through a copy of the vocabulary whose memory the rendering can then have.
    line_ends = tokenizer.line_ends() if tokenizer is not None else np.empty(0, np.uint8)
    rendered, tokens = render_and_tokenize(requests, rendering, tokenizer, options.answers)
    if tokenizer is not None:
        tokenizer.release()
    for text in (*rendering.account.notes(), *(tokenizer.notes if tokenizer is not None else ())):
        log.note(text)
    prompts = prompt_runs(requests, rendered, tokens)
    rows = rows_of(requests)
    fields = options.namespace if options.namespace is not None else default_namespace(rows)
    namespace, labels = number_namespaces(rows, fields)
    built = tree_of_requests(log, rendered, tokens, prompts, namespace)
    chunks = cut_into_chunks(prompts, line_ends)
    seen = np.full(len(requests), MISSING, np.int64)
    if log.unit == 1:
        reusable, _ = reusable_depth(built.tree, built.leaf)
        seen = tokens_seen_elsewhere(prompts, chunks, namespace, reusable)
    boundaries = boundaries_and_markers(requests, rendered, tokens, rendering)
    info = TraceInfo(
        tokenizer=tokenizer.name if tokenizer else "none",
        tokenizer_note=note,
        rendering=rendering.description if tokenizer else "ids as the log gives them",
        namespace_fields=fields,
        namespaces=labels,
        prompts_incomplete=log.prompts_incomplete,
        unit=log.unit,
        sources=tuple(log.formats),
        notes=tuple(log.notes),
        tool_version=TOOL_VERSION,
    )
    trace = assembled(info, rows, namespace, built, seen, boundaries)
    return TracedLog(log, rows, trace, rendered.parts, prompts, chunks, rendering, tokenizer)


def assembled(
    info: TraceInfo,
    rows: RequestRows,
    namespace: Int32,
    built: RequestTree,
    seen: Int64,
    boundaries: Boundaries,
) -> Trace:
    """The Trace of its parts; `seen` is the column `seen_elsewhere`."""
    return Trace(
        info=info,
        requests=request_table(rows, namespace, built, seen),
        tree=built.tree,
        boundaries=boundaries.ends,
        boundary_paths=boundaries.paths,
        markers=boundaries.markers,
        marker_ttl_s=boundaries.marker_ttl_s,
        written=rows.written,
        written_ttl_s=rows.written_ttl_s,
        paths=boundaries.names,
    )


def _rendering_and_tokenizer(
    requests: Sequence[Request], options: TraceOptions
) -> tuple["Rendering", "Tokenizer | None", str]:
    from analyzers.rendering import make_rendering
    from analyzers.tokenization import choose_tokenizer_of_log, load_tokenizer

    texts = any(p.kind is not PartKind.TOKENS for r in requests for p in r.parts[:1])
    if not texts:
        return make_rendering(None, None), None, "the log gives ids, or no content at all"
    name, note = options.tokenizer, "as asked for"
    if name == "auto":
        choice = choose_tokenizer_of_log((r.model, r.provider) for r in requests)
        name, note = choice.name, choice.note
    tokenizer = load_tokenizer(name)
    return make_rendering(options.chat_template, tokenizer), tokenizer, note
