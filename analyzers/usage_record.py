"""What the log says was in the cache: per request the tokens read, written, and left behind for the next."""

from dataclasses import dataclass

import numpy as np

from analyzers.pipeline import TracedLog
from analyzers.request import Dialect
from analyzers.trace import MISSING, NO_TIME, Int64

DEFAULT_TTL_S = {"anthropic": 300, "bedrock": 300, "google-claude": 300, "azure-claude": 300}
"""Lifetime where neither marker nor row states one (provider documentation, August to November 2026)."""


@dataclass(frozen=True)
class UsageRecord:
    """Logged usage as arrays by row (int64, -1 where the log does not say).

    `read` is 0 where the provider leaves the field out for 0 (Gemini, where other rows of the log carry it).
    `cached` = read + written: what a request leaves in the cache, known where the log states writes. `scale` is
    logged prompt tokens over ours, 1.0 where unknown (float64). `ttl_s` is the lifetime of what a request
    left behind, `time_s` its time in seconds (float64, nan where unknown).
    """

    prompt: Int64
    read: Int64
    written: Int64
    cached: Int64
    scale: "np.typing.NDArray[np.float64]"
    ttl_s: Int64
    time_s: "np.typing.NDArray[np.float64]"
    first_token_s: "np.typing.NDArray[np.float64]"


def usage_record(traced: TracedLog) -> UsageRecord:
    """The usage of a traced log."""
    table, requests = traced.trace.requests, traced.log.requests
    read = table.usage_read.copy()
    stated = {r.model for r, tokens in zip(requests, read.tolist(), strict=True) if tokens >= 0}
    for row, request in enumerate(requests):
        if (
            read[row] == MISSING
            and request.dialect is Dialect.GEMINI
            and request.model in stated
            and table.usage_prompt[row] >= 0
        ):
            read[row] = 0
    written = table.usage_written
    cached = np.where((read >= 0) & (written >= 0), read + written, MISSING)
    known = (table.usage_prompt > 0) & (table.prompt_tokens > 0)
    scale = np.where(known, table.usage_prompt / np.maximum(table.prompt_tokens, 1), 1.0)
    return UsageRecord(
        prompt=table.usage_prompt,
        read=read,
        written=written,
        cached=cached,
        scale=scale,
        ttl_s=np.array([_lifetime(traced, row) for row in range(len(requests))], np.int64),
        time_s=_seconds(table.time_ns),
        first_token_s=_seconds(np.where(table.first_token_ns != NO_TIME, table.first_token_ns, table.end_ns)),
    )


def _seconds(times: Int64) -> "np.typing.NDArray[np.float64]":
    return np.where(times == NO_TIME, np.nan, times / 1e9)


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _lifetime(traced: TracedLog, row: int) -> int:
    """The longest lifetime that a request wrote, marked, or is labelled with; -1 where nothing tells."""
    request = traced.log.requests[row]
    if request.usage is not None and request.usage.written:
        stated = [ttl for ttl, tokens in request.usage.written.items() if ttl > 0 and tokens > 0]
        if stated:
            return max(stated)
    marked = traced.trace.marker_ttl_s.of(row)
    if len(marked) and int(marked.max()) > 0:
        return int(marked.max())
    label = dict(request.identity.labels).get("ttl", "")
    if label[:-1].isdigit() and label[-1:] in _UNITS:
        return int(label[:-1]) * _UNITS[label[-1]]
    if request.usage is not None and request.usage.written:
        unused = [ttl for ttl in request.usage.written if ttl > 0]
        if unused and len(marked):
            return min(unused)
    model = request.model or ""
    if "claude" in model:
        return DEFAULT_TTL_S["anthropic"]
    return DEFAULT_TTL_S.get(request.provider or "", MISSING)
