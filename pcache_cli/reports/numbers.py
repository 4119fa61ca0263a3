"""How figures are written for people."""

import math


def percent(ratio: float | None, digits: int = 1) -> str:
    """`0.6512` as `65.1 %`; "unknown" for None."""
    return "unknown" if ratio is None else f"{100 * ratio:.{digits}f} %"


def points(ratio: float | None) -> str:
    """A difference of ratios, `0.0123` as `1.3 points`: rounded up, as it bounds an error; "unknown" for None."""
    return "unknown" if ratio is None else f"{math.ceil(1000 * ratio) / 10:.1f} points"


def count(value: int | None) -> str:
    """Digits in groups of three; "unknown" for None."""
    return "unknown" if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """`1` as `1 request`, `2000` as `2,000 requests`."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def short_name(name: str, most: int = 28) -> str:
    """The end of a long name, where it differs from others."""
    return name if len(name) <= most else f"…{name[-most + 1 :]}"


def short_count(value: float) -> str:
    """`61194628` as `61.2M`."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.1f}{unit}"
    return f"{value:,.0f}"


def duration(seconds: float) -> str:
    """`90` as `1.5 min`."""
    for limit, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= limit:
            return f"{seconds / limit:.1f} {unit}"
    return f"{seconds:.3g} s"
