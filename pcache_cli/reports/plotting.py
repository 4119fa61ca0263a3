"""Figures without a display, saved as PNG."""

from pathlib import Path
from typing import Any

from analyzers.errors import InputError, UsageError


def figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A matplotlib figure of rows x columns panels, and its axes. Raises UsageError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise UsageError("plots need matplotlib: install pcache-cli[plot]") from problem
    drawing = Figure(figsize=size, layout="constrained")
    return drawing, drawing.subplots(rows, columns)


def save(drawing: Any, path: Path) -> None:
    """Write the figure as PNG. Raises UsageError for another ending, InputError when it cannot be written."""
    if path.suffix.lower() != ".png":
        raise UsageError(f"'{path}' must end in .png")
    try:
        drawing.savefig(path, dpi=120)
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror or problem}") from problem
