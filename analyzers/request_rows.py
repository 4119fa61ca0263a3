"""The columns of requests that do not depend on their content: what a log says about each call, as arrays.

They are what stays of a request once its prompt has become token ids, so that a log larger than memory can be
read in slices and put together again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analyzers.request import Identity, PartKind, Request
from analyzers.trace import MISSING, NO_TIME, Int32, Int64, Names, Ragged


@dataclass(frozen=True)
class RequestRows:
    """One entry a request in every column.

    Times are int64 nanoseconds since 1970 UTC, NO_TIME where unknown; token counts int64, MISSING where unknown.
    `identity` (int32) points into `identities`. `output_tokens` is as logged, else as many as the output's ids.
    `written`: the tokens the log says were written, `written_ttl_s`: the lifetime they were written with, 0 where
    not stated.
    """

    request_id: list[str]
    time_ns: Int64
    first_token_ns: Int64
    end_ns: Int64
    dialect: Names
    model: Names
    provider: Names
    identity: Int32
    identities: tuple[Identity, ...]
    file: Names
    line: Int64
    output_tokens: Int64
    usage_prompt: Int64
    usage_read: Int64
    usage_written: Int64
    usage_output: Int64
    written: Ragged
    written_ttl_s: Ragged

    def __len__(self) -> int:
        return len(self.request_id)

    def take(self, index: Int64) -> "RequestRows":
        """The rows at these places (int64), in their order."""
        columns: dict[str, Any] = {name: getattr(self, name)[index] for name in _ARRAYS}
        for name in _NAMES:
            names: Names = getattr(self, name)
            columns[name] = Names(names.codes[index], names.values)
        for name in _RAGGED:
            columns[name] = taken(getattr(self, name), index)
        return replace(self, request_id=[self.request_id[i] for i in index.tolist()], **columns)


_ARRAYS = (
    "time_ns",
    "first_token_ns",
    "end_ns",
    "line",
    "identity",
    "output_tokens",
    "usage_prompt",
    "usage_read",
    "usage_written",
    "usage_output",
)
_NAMES = ("dialect", "model", "provider", "file")
_RAGGED = ("written", "written_ttl_s")


def rows_of(requests: Sequence[Request]) -> RequestRows:
    """The columns of these requests, in their order."""
    usages = [r.usage for r in requests]
    writes = [sorted((u.written or {}).items()) if u else [] for u in usages]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(w) for w in writes], dtype=np.int64)])
    identities: dict[Identity, int] = {}
    identity = np.array([identities.setdefault(r.identity, len(identities)) for r in requests], np.int32)
    return RequestRows(
        request_id=[r.request_id for r in requests],
        time_ns=_known((r.time_ns for r in requests), NO_TIME),
        first_token_ns=_known((r.first_token_ns for r in requests), NO_TIME),
        end_ns=_known((r.end_ns for r in requests), NO_TIME),
        dialect=names_of([r.dialect.value for r in requests]),
        model=names_of([r.model for r in requests]),
        provider=names_of([r.provider for r in requests]),
        identity=identity,
        identities=tuple(identities),
        file=names_of([r.file for r in requests]),
        line=np.array([r.line for r in requests], np.int64),
        output_tokens=_known(map(_output_tokens, requests), MISSING),
        usage_prompt=_known((u.prompt_tokens if u else None for u in usages), MISSING),
        usage_read=_known((u.read_tokens if u else None for u in usages), MISSING),
        usage_written=_known((u.written_tokens if u else None for u in usages), MISSING),
        usage_output=_known((u.output_tokens if u else None for u in usages), MISSING),
        written=Ragged(offsets, np.array([tokens for w in writes for _, tokens in w], np.int64)),
        written_ttl_s=Ragged(offsets, np.array([ttl for w in writes for ttl, _ in w], np.int64)),
    )


def concatenated(tables: Sequence[RequestRows]) -> RequestRows:
    """The rows of all tables, one behind the other; there must be at least one table."""

    identities: dict[Identity, int] = {}
    codes = [
        np.array([identities.setdefault(i, len(identities)) for i in table.identities], np.int32)
        for table in tables
    ]
    columns: dict[str, Any] = {
        **{name: np.concatenate([getattr(table, name) for table in tables]) for name in _ARRAYS},
        **{name: joined([getattr(table, name) for table in tables]) for name in _NAMES},
        **{name: stacked([getattr(table, name) for table in tables]) for name in _RAGGED},
    }
    columns["identity"] = np.concatenate([code[t.identity] for code, t in zip(codes, tables, strict=True)])
    request_id = [name for table in tables for name in table.request_id]
    return RequestRows(request_id=request_id, identities=tuple(identities), **columns)


def names_of(values: Sequence[str | None]) -> Names:
    """A text column, its values numbered in the order in which they first appear."""
    known: dict[str, int] = {}
    codes = np.array([MISSING if v is None else known.setdefault(v, len(known)) for v in values], np.int32)
    return Names(codes, list(known))


def joined(columns: Sequence[Names]) -> Names:
    """Text columns one behind the other, over one list of values."""
    known: dict[str, int] = {}
    codes = []
    for names in columns:
        code = np.array([*(known.setdefault(v, len(known)) for v in names.values), MISSING], np.int32)
        codes.append(code[names.codes])
    return Names(np.concatenate(codes), list(known))


def in_order_of_appearance(names: Names) -> Names:
    """The same column with its values numbered as `names_of` numbers them; values that no row has are gone."""
    used, first = np.unique(names.codes, return_index=True)
    first, used = first[used >= 0], used[used >= 0]
    order = used[np.argsort(first)]
    number = np.full(len(names.values) + 1, MISSING, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return Names(number[names.codes], [names.values[code] for code in order.tolist()])


def taken(ragged: Ragged, index: Int64) -> Ragged:
    """The lists at these places (int64), in their order."""
    counts = np.diff(ragged.offsets)[index]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    at = np.arange(offsets[-1], dtype=np.int64) + np.repeat(ragged.offsets[:-1][index] - offsets[:-1], counts)
    return Ragged(offsets, ragged.values[at])


def stacked(lists: Sequence[Ragged]) -> Ragged:
    """The lists of all, one behind the other."""
    counts = np.concatenate([np.diff(ragged.offsets) for ragged in lists])
    values = [ragged.values[ragged.offsets[0] : ragged.offsets[-1]] for ragged in lists]
    return Ragged(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), np.concatenate(values))


def by_identity(rows: RequestRows, read: Callable[[Identity], str | None]) -> Names:
    """A text column that is a function of the identity, its values in the order of appearance."""
    of_identity = names_of([read(identity) for identity in rows.identities])
    return in_order_of_appearance(Names(of_identity.codes[rows.identity], of_identity.values))


def _known(values: Iterable[int | None], missing: int) -> Int64:
    return np.array([missing if v is None else v for v in values], np.int64)


def _output_tokens(request: Request) -> int | None:
    logged = request.usage.output_tokens if request.usage else None
    if logged is None and request.output is not None and request.output.kind is PartKind.TOKENS:
        return len(request.output.raw) // 4
    return logged
