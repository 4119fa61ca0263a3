"""Sizes, durations, lists and ranges as people type them."""

import re

from analyzers.errors import UsageError

_SIZE_FACTORS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_DURATION_FACTORS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LARGEST = 2**60
_LONGEST_S = 100 * 365.25 * 86400
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*")


def parse_size(text: str) -> int:
    """Bytes from `512MiB`, `2GB`, `1.5tib` or a plain number of bytes. Raises UsageError."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    factor = _SIZE_FACTORS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise UsageError(f"'{text}' is not a size; write for example 512MiB or 2GB")
    size = round(float(match[1]) * factor)
    if size > _LARGEST:
        raise UsageError(f"'{text}' is more than any machine holds")
    return size


def parse_duration(text: str) -> float:
    """Seconds from `250ms`, `30s`, `5m`, `1h`, `7d` or a plain number of seconds. Raises UsageError."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    factor = _DURATION_FACTORS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise UsageError(f"'{text}' is not a duration; write for example 30s, 5m or 1h")
    seconds = float(match[1]) * factor
    if seconds > _LONGEST_S:
        raise UsageError(f"'{text}' is longer than a hundred years; write none for no end")
    return seconds


def split_list(text: str) -> list[str]:
    """The items of `a,b,c`, trimmed; raises UsageError for an empty list or an empty item."""
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise UsageError(f"'{text}' has an empty item; write for example 1,16,128")
    return items


def split_range(text: str) -> tuple[str, str] | None:
    """The two ends of `low..high`, or None when the text is no range. Raises UsageError when an end is missing."""
    if ".." not in text:
        return None
    low, _, high = text.partition("..")
    if not low.strip() or not high.strip():
        raise UsageError(f"'{text}' is half a range; write for example 1GiB..64GiB")
    return low.strip(), high.strip()


def parse_share(text: str) -> float:
    """A share from `1%`, `0.5 %` or `0.01`. Raises UsageError for anything else or outside 0 to 1."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    share = -1.0 if match is None else float(match[1]) / (100 if match[2] else 1)
    if not 0 <= share <= 1:
        raise UsageError(f"'{text}' is no share; write for example 1% or 0.01")
    return share
