"""Figures without a display, saved as PNG."""

from pathlib import Path
from typing import Any

from analyzers.errors import InputError

_UNITS = (("days", 86400e9), ("hours", 3600e9), ("minutes", 60e9), ("seconds", 1e9))
_LEAST_OF_A_UNIT = 3


def time_unit(span_ns: int) -> tuple[str, float]:
    """The unit to draw so long a span in, and its nanoseconds: the largest of which the span has at least three."""
    return next(((name, ns) for name, ns in _UNITS if span_ns >= _LEAST_OF_A_UNIT * ns), _UNITS[-1])


def figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A matplotlib figure of rows x columns panels, and its axes."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=size, layout="constrained")
    return drawing, drawing.subplots(rows, columns)


def save(drawing: Any, path: Path) -> None:
    """Write the figure as PNG. Raises InputError when it cannot be written."""
    try:
        drawing.savefig(path, dpi=120)
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror or problem}") from problem
