"""Figures without a display, saved as PNG."""

from pathlib import Path
from typing import Any

from analyzers.errors import InputError


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
