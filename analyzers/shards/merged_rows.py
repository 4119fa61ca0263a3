"""What the log says about its calls, put together from all pieces: the rows in time order, and the account.

Nothing here needs a prompt, so it is small beside the log and fits one machine whatever the log's size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from analyzers.logs.account import SliceAccount, merged_log, row_order
from analyzers.logs.omitted_zeros import omitted_zeros_filled
from analyzers.namespaces import default_namespace, number_namespaces
from analyzers.pipeline import TraceOptions
from analyzers.rendering import RenderingAccount
from analyzers.request import Log
from analyzers.request_rows import RequestRows, concatenated
from analyzers.time_order import OUTSIDE, check_period, in_period, time_order
from analyzers.tokenization import TokenizerChoice, choose_tokenizer, choose_tokenizer_of_log
from analyzers.trace import Int32, Int64


class PieceHead(Protocol):
    """What must be known of a piece where the rows are merged, wherever the rest of it lies. Fields as in `Piece`."""

    @property
    def account(self) -> SliceAccount: ...
    @property
    def rows(self) -> RequestRows: ...
    @property
    def path_names(self) -> list[str]: ...
    @property
    def rendering(self) -> RenderingAccount: ...
    @property
    def rendering_description(self) -> str: ...
    @property
    def tokenizer(self) -> str | None: ...
    @property
    def tokenizer_notes(self) -> tuple[str, ...]: ...
    @property
    def holds_text(self) -> bool: ...


@dataclass(frozen=True)
class MergedRows:
    """The rows of the Trace, and where each request of the pieces went.

    `log` is the account of all slices without requests, with the notes on reading and on times. `row_of[p]` (int64)
    gives the row of each request of piece p, -1 for one outside the period. `namespace` (int32) by row, numbered as
    in the Trace; `namespaces` their labels.
    """

    log: Log
    rows: RequestRows
    row_of: list[Int64]
    namespace: Int32
    namespace_fields: tuple[str, ...]
    namespaces: tuple[str, ...]


@dataclass(frozen=True)
class StalePieces:
    """Pieces (places among all) that must be made anew, with this tokenizer, before all can be merged."""

    tokenizer: str
    pieces: list[int]


def merge_rows(heads: Sequence[PieceHead], options: TraceOptions) -> MergedRows:
    """Put the rows of all pieces, given in the order of shards and slices, into the order of the Trace.

    Raises what `read_log` raises for a log without requests, and what `trace_log` raises for the period and the
    namespace.
    """
    accounts = [head.account for head in heads]
    log = merged_log(accounts)
    rows = omitted_zeros_filled(concatenated([head.rows for head in heads]), log)
    order = row_order(accounts)
    by_time, notes = time_order(rows.time_ns[order])
    for note in notes:
        log.note(note)
    order = order[by_time]
    kept = in_period(rows.time_ns[order], options.since_ns, options.until_ns)
    if options.since_ns is not None or options.until_ns is not None:
        check_period(rows.time_ns, kept)
    outside = len(kept) - int(kept.sum())
    if outside:
        log.skipped[OUTSIDE] = outside
    row_of = np.full(len(rows), -1, np.int64)
    row_of[order[kept]] = np.arange(len(rows) - outside)
    rows = rows.take(order[kept])
    fields = options.namespace if options.namespace is not None else default_namespace(rows)
    namespace, labels = number_namespaces(rows, fields)
    ends = np.cumsum([len(head.rows) for head in heads])
    return MergedRows(log, rows, np.split(row_of, ends[:-1]), namespace, fields, labels)


def stale_pieces(heads: Sequence[PieceHead], options: TraceOptions) -> StalePieces | None:
    """The pieces that another tokenizer was used for than the whole log asks for; None if there are none.

    If any prompt of the log is text, ids need the tokenizer too: it says which of them end a line. Raises what
    `merge_rows` raises.
    """
    if not any(head.holds_text for head in heads):
        return None
    name = options.tokenizer
    if name == "auto":
        name = _tokenizer_of_all(heads, options)
        stale = [p for p, head in enumerate(heads) if head.tokenizer != name]
    else:
        stale = [p for p, head in enumerate(heads) if head.tokenizer is None]
    stale = [p for p in stale if _has_requests(heads[p], options)]
    return StalePieces(name, stale) if stale else None


def _tokenizer_of_all(heads: Sequence[PieceHead], options: TraceOptions) -> str:
    models: set[tuple[str | None, str | None]] = set()
    for head in heads:
        models.update(_models(head.rows))
    names = {choose_tokenizer(*model).name for model in models}
    return names.pop() if len(names) == 1 else tokenizer_choice(merge_rows(heads, options).rows).name


def tokenizer_choice(rows: RequestRows) -> TokenizerChoice:
    """The tokenizer for a log of these rows, which stand in the order of the Trace."""
    return choose_tokenizer_of_log(_models(rows))


def _models(rows: RequestRows) -> list[tuple[str | None, str | None]]:
    model, provider = ([*names.values, None] for names in (rows.model, rows.provider))
    return [
        (model[m], provider[p])
        for m, p in zip(rows.model.codes.tolist(), rows.provider.codes.tolist(), strict=True)
    ]


def _has_requests(head: PieceHead, options: TraceOptions) -> bool:
    return bool(in_period(head.rows.time_ns, options.since_ns, options.until_ns).any())
