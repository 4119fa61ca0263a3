"""Where the lines, bars and ticks of the report's charts lie, in the units of an SVG view box."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pcache_cli.reports.numbers import count, duration, percent, short_count

if TYPE_CHECKING:
    from simulators.miss_timeline import MissTimeline
    from simulators.runs import Sweep

WIDTH, HEIGHT = 640, 300
WIDE = 1080
"""Width of a chart that has the page to itself."""
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 42
_TICKS = 5
_ROUND_LIFETIMES = (1, 10, 60, 300, 3600, 21600, 86400, 604800)

CLASS_WORDS = {
    "hit": "read from cache",
    "evicted": "evicted for want of room",
    "expired": "older than the lifetime",
    "block_tail": "rest of a block, or the last token",
    "isolation": "known in another namespace",
    "diverged": "seen before, behind another prefix",
    "cold": "never seen",
}


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Mark:
    """A point or a bar with the text that a reader gets for it."""

    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True)
class Series:
    """`colour` names a CSS class; `points` is the line as SVG writes it, empty for bars."""

    label: str
    colour: str
    points: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Chart:
    """A drawing, and the same figures as a table: a head and rows of text."""

    name: str
    width: int
    title: str
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def capacity_chart(sweep: "Sweep") -> Chart | None:
    """Miss ratio by capacity in tokens, one line a block size; None where no capacity makes a difference."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for size in sweep.sizes:
        room = [float(c) * size.block_size for c in size.capacity_blocks]
        misses = [1 - int(h) / max(sweep.prompt_tokens, 1) for h in size.hit_tokens[-1]]
        curves[f"blocks of {size.block_size}"] = list(dict(zip(room, misses, strict=True)).items())
    rooms = [x for curve in curves.values() for x, _ in curve]
    if len(set(rooms)) < 2:
        return None
    ticks = [
        Tick(_log_x(float(x), min(rooms), max(rooms)), short_count(x))
        for x in _log_ticks(min(rooms), max(rooms))
    ]
    return _lines(
        "capacity",
        "Miss ratio by capacity",
        "room for cached tokens (logarithmic)",
        curves,
        ticks,
        short_count,
    )


def lifetime_chart(sweep: "Sweep") -> Chart | None:
    """Miss ratio by sliding lifetime with room without end; None where the trace has no times."""
    curves = {}
    for size in sweep.sizes:
        points = zip(size.ttl_s, size.unbounded_hit_tokens, strict=True)
        curves[f"blocks of {size.block_size}"] = [
            (ttl, 1 - int(hits) / max(sweep.prompt_tokens, 1)) for ttl, hits in points if ttl is not None
        ]
    times = [x for curve in curves.values() for x, _ in curve]
    if len(set(times)) < 2:
        return None
    low, high = min(times), max(times)
    inside = [t for t in _ROUND_LIFETIMES if low <= t <= high]
    ticks = [Tick(_log_x(float(x), low, high), duration(x)) for x in inside]
    return _lines("lifetime", "Miss ratio by lifetime", "lifetime (logarithmic)", curves, ticks, duration)


def timeline_chart(timeline: "MissTimeline") -> Chart:
    """Every prompt token by class over time, stacked."""
    span = max(timeline.end - int(timeline.starts[0]), 1)
    starts = [int(s) for s in timeline.starts]
    edges = [*starts, timeline.end]
    across = [_across((edge - starts[0]) / span, WIDE) for edge in edges]
    totals = [sum(int(t[k]) for t in timeline.tokens.values()) for k in range(len(starts))]
    base = [0.0] * len(starts)
    series = []
    for kind, tokens in timeline.tokens.items():
        marks = []
        for k, value in enumerate(int(t) for t in tokens):
            if not value:
                continue
            share = value / totals[k]
            top = _down(base[k] + share)
            words = (
                f"{CLASS_WORDS.get(kind, kind.replace('_', ' '))}: {count(value)} tokens, {percent(share)}"
            )
            marks.append(
                Mark(
                    round(across[k], 2),
                    round(top, 2),
                    round(max(across[k + 1] - across[k] - 0.6, 0.4), 2),
                    round(_down(base[k]) - top, 2),
                    f"{_moment(timeline, starts[k])}: {words}",
                )
            )
            base[k] += share
        series.append(Series(CLASS_WORDS.get(kind, kind), f"k-{kind}", "", tuple(marks)))
    picked = sorted({round(k * (len(edges) - 1) / 4) for k in range(5)})
    names = [CLASS_WORDS.get(kind, kind) for kind in timeline.tokens]
    return Chart(
        name="timeline",
        width=WIDE,
        title="Where every prompt token went, over time",
        x_label="time (UTC)" if timeline.timed else "request",
        y_label="share of prompt tokens",
        x_ticks=tuple(Tick(round(across[k], 2), _moment(timeline, edges[k])) for k in picked),
        y_ticks=_share_ticks(),
        series=tuple(series),
        head=("from", "requests", *names),
        rows=tuple(
            (
                _moment(timeline, starts[k]),
                count(int(timeline.requests[k])),
                *(count(int(t[k])) for t in timeline.tokens.values()),
            )
            for k in range(len(starts))
            if timeline.requests[k]
        ),
    )


def _lines(
    name: str,
    title: str,
    x_label: str,
    curves: dict[str, list[tuple[float, float]]],
    ticks: Sequence[Tick],
    wording: "object",
) -> Chart:
    words = wording if callable(wording) else str
    xs = sorted({x for curve in curves.values() for x, _ in curve})
    series = []
    for number, (label, curve) in enumerate(curves.items()):
        marks = tuple(
            Mark(
                round(_log_x(x, xs[0], xs[-1]), 2),
                round(_down(y), 2),
                0,
                0,
                f"{label}, {words(x)}: miss ratio {percent(y)}",
            )
            for x, y in curve
        )
        line = " ".join(f"{mark.x},{mark.y}" for mark in marks)
        series.append(Series(label, f"s-{number}", line, marks))
    found = {label: dict(curve) for label, curve in curves.items()}
    return Chart(
        name=name,
        width=WIDTH,
        title=title,
        x_label=x_label,
        y_label="miss ratio",
        x_ticks=tuple(ticks),
        y_ticks=_share_ticks(),
        series=tuple(series),
        head=(x_label.partition(" (")[0], *curves),
        rows=tuple(
            (words(x), *(percent(curve[x]) if x in curve else "–" for curve in found.values())) for x in xs
        ),
    )


def _share_ticks() -> tuple[Tick, ...]:
    return tuple(Tick(round(_down(k / 4), 2), f"{25 * k} %") for k in range(_TICKS))


def _across(share: float, width: int = WIDTH) -> float:
    return LEFT + share * (width - LEFT - RIGHT)


def _down(share: float) -> float:
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)


def _log_x(value: float, low: float, high: float) -> float:
    return round(_across(math.log(value / low) / math.log(high / low)), 2)


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten inside the range, thinned to what fits."""
    steps = [m * 10.0**e for e in range(int(math.log10(low)), int(math.log10(high)) + 1) for m in (1, 2, 5)]
    inside = [s for s in steps if low <= s <= high]
    return inside[:: -(-len(inside) // 6)] if inside else [low, high]


def _moment(timeline: "MissTimeline", place: int) -> str:
    if not timeline.timed:
        return count(place)
    moment = datetime.fromtimestamp(place / 1e9, UTC)
    seconds = (timeline.end - int(timeline.starts[0])) / 1e9
    if seconds < 2 * 3600:
        return moment.strftime("%H:%M:%S")
    return moment.strftime("%d %b %H:%M")
