"""Which prefixes to write before they are needed, when, and what that saves.

Two kinds of waste can be bought off with a request that computes nothing but the prefix: several requests that
start before the first of them can be read and all pay the write (warm first, then send), and a prefix that
expires between requests and is written anew (read it once each lifetime to keep it).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

import numpy as np
import numpy.typing as npt

from analyzers.trace import NO_TIME, Int64, Trace
from simulators.cost import PricedRow
from simulators.logged_usage import scales
from simulators.prices import MILLION
from simulators.touches import Touches


@dataclass(frozen=True, slots=True)
class Burst:
    """Requests that started before the first of them could be read: `needless` of them wrote for nothing."""

    first_row: int
    rows: tuple[int, ...]
    tokens: int
    needless: int
    start_ns: int
    saving: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class KeepWarm:
    """A prefix that expired and was written again, and what reading it in between would have cost instead.

    `rewrites` are those within the gap for which keeping pays, `hours_utc` the hours of the day in which
    most of them fell, `pings` the reads that avoid them; it pays for gaps up
    to `worth_up_to_s`, None: for all.
    """

    first_row: int
    tokens: int
    ttl_s: int
    rewrites: int
    hours_utc: tuple[int, ...]
    pings: int
    rewrite_cost: Decimal
    ping_cost: Decimal
    saving: Decimal
    worth_up_to_s: float | None
    currency: str


@dataclass(frozen=True, slots=True)
class Prewarming:
    """Bursts and prefixes worth keeping, the dearest first. `bursts` None: the log has no first-token times."""

    bursts: tuple[Burst, ...] | None
    keep: tuple[KeepWarm, ...]


def prewarming(
    trace: Trace, touches: Touches, rows: Sequence[PricedRow], minimum_tokens: int = 1024, top: int = 10
) -> Prewarming:
    """What warming up would have saved. Only models that charge for writes, only prefixes of `minimum_tokens`."""
    known = (trace.requests.first_token_ns != NO_TIME).any() or (trace.requests.end_ns != NO_TIME).any()
    ends = trace.tree.depth_end
    scale = scales(trace)
    visible = _visible(trace)
    times = trace.requests.time_ns
    bursts: dict[tuple[int, ...], Burst] = {}
    keep: list[KeepWarm] = []
    starts = np.flatnonzero(touches.first)
    for begin in starts[touches.count[touches.node[starts]] > 1].tolist():
        node = int(touches.node[begin])
        members = touches.row[begin : begin + int(touches.count[node])]
        rates = rows[int(members[0])].rates
        if rates is None or not rates.written or rates.read is None or ends[node] < minimum_tokens:
            continue
        ttl = min(rates.written)
        tokens = round(int(touches.tokens[node]) * float(scale[members[0]]))
        write, read = rates.written[ttl] * tokens / MILLION, rates.read * tokens / MILLION
        if known:
            group = _cold_burst(members, times, visible)
            if len(group) > 1:
                _extend(
                    bursts,
                    group,
                    tokens,
                    (len(group) - 1) * (write - read),
                    int(times[group[0]]),
                    rates.currency,
                )
        gaps = touches.gap_s[begin + 1 : begin + len(members)]
        found = _kept(gaps, times[members[1:]], ttl, write, read)
        if found.rewrites:
            worth = float(ttl * (1 + (write - read) // read)) if read else None
            rewritten, pinged = found.rewrites * (write - read), found.pings * read
            keep.append(
                KeepWarm(
                    int(members[0]),
                    tokens,
                    ttl,
                    found.rewrites,
                    found.hours,
                    found.pings,
                    rewritten,
                    pinged,
                    rewritten - pinged,
                    worth,
                    rates.currency,
                )
            )
    keep.sort(key=lambda k: (-k.saving, k.first_row, k.tokens))
    # Text of a few tokens behind a long prefix is kept with it and needs no line of its own.
    keep = [k for k in keep if k.saving * 100 >= keep[0].saving]
    ordered = sorted(bursts.values(), key=lambda b: (-b.saving, b.first_row))
    return Prewarming(tuple(ordered[:top]) if known else None, tuple(keep[:top]))


def _visible(trace: Trace) -> Int64:
    first, end = trace.requests.first_token_ns, trace.requests.end_ns
    known = np.where(first != NO_TIME, first, end)
    return np.where(known != NO_TIME, known, trace.requests.time_ns)


def _cold_burst(
    members: Int64,
    times: Int64,
    visible: Int64,
) -> tuple[int, ...]:
    """The requests that start before the first one's entry can be read, that one included."""
    ready = visible[members[0]]
    group = [
        int(row) for row in members if times[row] != NO_TIME and (row == members[0] or times[row] < ready)
    ]
    return tuple(group)


def _extend(
    bursts: dict[tuple[int, ...], Burst],
    group: tuple[int, ...],
    tokens: int,
    saving: Decimal,
    start: int,
    currency: str,
) -> None:
    """Nodes of one path that the same requests wrote together are one burst."""
    known = bursts.get(group)
    if known is not None:
        tokens, saving = tokens + known.tokens, saving + known.saving
    bursts[group] = Burst(group[0], group, tokens, len(group) - 1, start, saving, currency)


@dataclass(frozen=True, slots=True)
class _Kept:
    rewrites: int
    pings: int
    hours: tuple[int, ...]


def _kept(gaps: npt.NDArray[np.float64], times: Int64, ttl: int, write: Decimal, read: Decimal) -> _Kept:
    """The gaps through which reads are cheaper than one write, and the hours in which they ended."""
    rewrites = pings = 0
    hours: Counter[int] = Counter()
    expired = gaps > ttl
    for gap, time in zip(gaps[expired].tolist(), times[expired].tolist(), strict=True):
        needed = ceil(gap / ttl) - 1
        if needed * read < write - read:
            rewrites += 1
            pings += needed
            hours[time // (3600 * 10**9) % 24] += 1
    return _Kept(rewrites, pings, tuple(sorted(hour for hour, _ in hours.most_common(3))))
