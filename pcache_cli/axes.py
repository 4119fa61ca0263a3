"""Block sizes, capacities and lifetimes as people type them: `1,16,128`, `1GiB..64GiB`, `30s..24h:12`, `none`."""

import re
from typing import TYPE_CHECKING

from analyzers.errors import UsageError
from pcache_cli.units import parse_duration, parse_size, split_list, split_range

if TYPE_CHECKING:
    from simulators.grids import Capacities, CapacityUnit

_COUNTED = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmMgG]?)\s*(blocks|tokens)")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_LARGEST_BLOCK = 2**30
_LARGEST_CAPACITY = 2**50
_MOST_POINTS = 1000
_WITHOUT_END = ("none", "unbounded")


def parse_block_sizes(text: str) -> tuple[int, ...]:
    """`1,16,128`. Raises UsageError."""
    sizes = []
    for item in split_list(text):
        if not item.isdecimal() or int(item) < 1:
            raise UsageError(f"'{item}' is no block size; give whole tokens, 1 or more, for example 16")
        if int(item) > _LARGEST_BLOCK:
            raise UsageError(
                f"a block size of {item} is not possible; the largest is {_LARGEST_BLOCK:,} tokens"
            )
        sizes.append(int(item))
    return tuple(sorted(set(sizes)))


def parse_capacity(text: str) -> tuple[int, "CapacityUnit"]:
    """A size (`64GiB`), `4096blocks` or `1Mtokens`. Raises UsageError, also for a number without a unit."""
    counted = _COUNTED.fullmatch(text.strip())
    if counted:
        unit: CapacityUnit = "blocks" if counted[3] == "blocks" else "tokens"
        value = round(float(counted[1]) * _FACTORS[counted[2].lower()])
        if value > _LARGEST_CAPACITY:
            raise UsageError(f"'{text}' is more than any machine holds; write none for room without end")
        return value, unit
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text):
        raise UsageError(
            f"'{text}' could be blocks, tokens or bytes; write {text}blocks, {text}tokens or {text}B"
        )
    return parse_size(text), "bytes"


def parse_capacities(text: str) -> "Capacities | None":
    """A list or a range of capacities in one unit; None for `none`. Raises UsageError."""
    from simulators.grids import Capacities, spaced

    if text.strip() in _WITHOUT_END:
        return None
    low_high, points = _range_and_points(text)
    items = low_high or split_list(text)
    parsed = [parse_capacity(item) for item in items]
    units = {unit for _, unit in parsed}
    if len(units) > 1:
        raise UsageError(f"'{text}' mixes {' and '.join(sorted(units))}; give all capacities in one unit")
    values = [float(value) for value, _ in parsed]
    if low_high:
        _refuse_downwards(text, values[0], values[1])
        values = spaced(values[0], values[1], points)
    if min(values) < 1:
        raise UsageError(f"'{text}' holds nothing; give positive capacities")
    return Capacities(parsed[0][1], tuple(sorted({round(v) for v in values})))


def parse_lifetimes(text: str) -> tuple[float | None, ...]:
    """Lifetimes in seconds, ascending, None (no expiry) last. Raises UsageError."""
    from simulators.grids import spaced

    low_high, points = _range_and_points(text)
    if low_high:
        low, high = (parse_duration(end) for end in low_high)
        _refuse_downwards(text, low, high)
        return tuple(spaced(low, high, points))
    items = split_list(text)
    known = sorted({parse_duration(item) for item in items if item not in _WITHOUT_END})
    return (*known, None) if len(known) < len(set(items)) else tuple(known)


def _range_and_points(text: str) -> tuple[tuple[str, str] | None, int | None]:
    low_high = split_range(text)
    if low_high is None:
        return None, None
    low, high = low_high
    high, colon, points = high.partition(":")
    if colon and not points.strip().isdecimal():
        raise UsageError(f"'{points}' is no number of points; write for example 1GiB..64GiB:12")
    if colon and int(points) > _MOST_POINTS:
        raise UsageError(f"{points} points are more than can be told apart; give at most {_MOST_POINTS:,}")
    return (low, high), int(points) if colon else None


def _refuse_downwards(text: str, low: float, high: float) -> None:
    if low > high:
        raise UsageError(f"'{text}' runs downwards; write the smaller end first")
