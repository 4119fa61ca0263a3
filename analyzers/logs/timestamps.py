"""Any timestamp a log writes, as nanoseconds since 1970 (UTC)."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from analyzers.request import Log

Unit = Literal["s", "ms", "us", "ns"]

_NS_PER: dict[str, int] = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_NS = 2**62
EARLIEST, LATEST = "1823-11-13", "2116-02-20"
"""The first and the last midnight (UTC) within `_LATEST_NS` of 1970."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_FRACTION = re.compile(r"[.,](\d+)")
_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d(:?\d\d)?|[+-]\d\d| ?UTC| ?GMT)$", re.IGNORECASE)
_AFTER_SECONDS = (".", "Z", "+", "-")
NO_ZONE = "Times without a time zone are read as UTC."
UNREADABLE = "Some timestamps could not be read; those requests keep their place in the file."


def parse_time(value: Any, unit: Unit | None = None) -> int | None:
    """Nanoseconds since 1970 of a number, a number as text, ISO 8601 or an HTTP date; None if unreadable.

    Numbers are seconds, milliseconds, microseconds or nanoseconds by their size (a time before the year
    5000 is below 1e11 s, 1e14 ms, 1e17 µs), unless `unit` says which. A time without a zone is UTC. None
    for a time before EARLIEST or after LATEST.
    """
    time_ns = _parsed(value, unit)
    return time_ns if time_ns is not None and abs(time_ns) < _LATEST_NS else None


def is_out_of_range(value: Any) -> bool:
    """Whether `parse_time` gives None for a time only because it is too early or too late."""
    time_ns = _parsed(value, None)
    return time_ns is not None and abs(time_ns) >= _LATEST_NS


def _parsed(value: Any, unit: Unit | None) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_number(value, unit)
    if isinstance(value, datetime):
        return _from_datetime(value, 0)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return _from_number(int(text) if text.lstrip("+-").isdigit() else float(text), unit)
    return _from_text(text)


def read_time(value: Any, log: Log, unit: Unit | None = None) -> int | None:
    """`parse_time`, noting in the log once that a zone was missing or that a time could not be read."""
    if value is None or value == "":
        return None
    time_ns = parse_time(value, unit)
    if time_ns is None:
        log.note(UNREADABLE)
    elif isinstance(value, str) and not _has_zone(value):
        log.note(NO_ZONE)
    return time_ns


def _has_zone(text: str) -> bool:
    """Whether a readable time names its zone, or is a number or a date and needs none."""
    if text[-1:] == "Z" or text[-6:-5] == "+":
        return True
    return ":" not in text or _ZONE.search(text.strip()) is not None


def _from_number(value: int | float, unit: Unit | None) -> int | None:
    if value != value or abs(value) >= 1e20:
        return None
    if unit is None:
        size = abs(value)
        unit = "s" if size < 1e11 else "ms" if size < 1e14 else "us" if size < 1e17 else "ns"
    if isinstance(value, float) and unit != "ns":
        # A float holds a time of today in seconds to a quarter of a microsecond: the rest is noise.
        return round(value * (_NS_PER[unit] // 1000)) * 1000
    return int(value) * _NS_PER[unit]


def _from_text(text: str) -> int | None:
    if text[19:20] in _AFTER_SECONDS and not text[26:27].isdigit():  # at most six digits of a second
        try:
            return _from_datetime(datetime.fromisoformat(text), 0)
        except ValueError:
            pass
    fraction = _FRACTION.search(text)
    nanoseconds = 0
    if fraction:
        nanoseconds = int(fraction[1][:9].ljust(9, "0"))
        text = text[: fraction.start()] + text[fraction.end() :]
    text = re.sub(r" ?(UTC|GMT)$", "Z", text)
    try:
        return _from_datetime(datetime.fromisoformat(text.replace(" Z", "Z")), nanoseconds)
    except ValueError:
        pass
    try:
        return _from_datetime(parsedate_to_datetime(text.replace("Z", " GMT")), nanoseconds)
    except (ValueError, TypeError, IndexError):
        return None


def _from_datetime(moment: datetime, nanoseconds: int) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - _EPOCH
    return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000 + nanoseconds
