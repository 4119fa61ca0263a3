"""Events after which entries may not be served any more, from a file of JSON lines.

    {"time": "2026-03-01T12:00:00Z", "kind": "model", "model": "prod-large"}
    {"time": 1772366400, "kind": "document", "request": "r17", "from_token": 2048}
    {"time": "2026-03-01T13:00:00Z", "kind": "privacy", "tenant": "acme"}

An event selects the requests that came before it and match all its fields (tenant, session, model, provider,
route, request), and loses every entry that one of them used; with `request` and `from_token`, the entries of that
request from this token on and whatever hangs on them. What is written later is a new entry and may be served.
The kind says why, and is reported: a new model or template, a new version of a document, a permission withdrawn, a
deletion for privacy. Entries that a selected request shares with others are lost too: this errs on the safe side.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

from analyzers.errors import InputError, UsageError
from analyzers.trace import Int32, Int64, Trace
from simulators.selection import FIELDS, matching

KINDS = ("model", "template", "document", "permission", "privacy")


@dataclass(frozen=True)
class Invalidation:
    """One event. `fields` are (column, value) pairs that must all match; times are ns since 1970."""

    time_ns: int
    kind: str
    fields: tuple[tuple[str, str], ...] = ()
    request: str | None = None
    from_token: int = 0


@dataclass(frozen=True)
class Reach:
    """How many blocks an event found in one tier of one replica (None: a tier shared by all)."""

    tier: str
    replica: int | None
    blocks: int


@dataclass(frozen=True)
class InvalidationReport:
    """What one event did: requests and distinct blocks it selected, and every place where copies were deleted."""

    event: Invalidation
    requests: int
    blocks: int
    reached: tuple[Reach, ...]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    time: str | int | float
    kind: str
    tenant: str | None = None
    session: str | None = None
    model: str | None = None
    provider: str | None = None
    route: str | None = None
    request: str | None = None
    from_token: int = 0


def read_invalidations(path: Path) -> tuple[Invalidation, ...]:
    """The events of a file in time order. Raises InputError with file and line for one that is not an event."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the invalidation events in {path}: {error}") from None
    events = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            events.append(_event(msgspec.json.decode(line, type=_Line)))
        except (msgspec.MsgspecError, ValueError, OverflowError) as error:
            raise InputError(f"{path}:{number}: not an invalidation event: {error}") from None
    return tuple(sorted(events, key=lambda event: event.time_ns))


def _event(line: _Line) -> Invalidation:
    if line.kind not in KINDS:
        raise ValueError(f"kind '{line.kind}' is none of {', '.join(KINDS)}")
    fields = tuple((name, value) for name in FIELDS if (value := getattr(line, name)) is not None)
    if not fields and line.request is None:
        raise ValueError(f"it selects nothing; name a request or one of {', '.join(FIELDS)}")
    if line.from_token and line.request is None:
        raise ValueError("from_token needs a request")
    if line.from_token < 0:
        raise ValueError("from_token is negative")
    return Invalidation(_time_ns(line.time), line.kind, fields, line.request, line.from_token)


def _time_ns(time: str | int | float) -> int:
    if isinstance(time, int):
        return time * 10**9
    if isinstance(time, float):
        return round(time * 1e9)
    moment = datetime.fromisoformat(time)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * 10**9 + moment.microsecond * 1000


def selected_requests(event: Invalidation, trace: Trace) -> Int64:
    """Requests before the event that it selects (int64 indices). Raises UsageError for an unknown request."""
    chosen = trace.requests.time_ns < event.time_ns
    for name, value in event.fields:
        chosen = chosen & matching(trace, name, value)
    if event.request is not None:
        if event.request not in trace.requests.request_id:
            raise UsageError(f"an invalidation names request '{event.request}', which is not in the log")
        chosen = chosen & (np.array(trace.requests.request_id) == event.request)
    return np.flatnonzero(chosen).astype(np.int64)


def selected_blocks(
    event: Invalidation, trace: Trace, requests: Int64, offsets: Int64, blocks: Int32, size: int
) -> Int32:
    """Distinct blocks that the selected requests used before the event (int32, ascending)."""
    skipped = event.from_token // size
    if event.from_token:
        # Whoever shares the block at which the selection begins hangs on it with all that follows.
        roots = {int(blocks[offsets[r] + skipped]) for r in requests if offsets[r] + skipped < offsets[r + 1]}
        before = np.flatnonzero(trace.requests.time_ns < event.time_ns)
        at = offsets[before] + skipped
        reaches = at < offsets[before + 1]
        before, at = before[reaches], at[reaches]
        requests = before[np.isin(blocks[at], list(roots))] if roots else before[:0]
    parts = [blocks[offsets[r] + skipped : offsets[r + 1]] for r in requests]
    return np.unique(np.concatenate(parts)).astype(np.int32) if parts else np.empty(0, np.int32)
