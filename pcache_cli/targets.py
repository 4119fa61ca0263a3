"""Files that a command is to write, looked at before it starts to work."""

import os
import re
from pathlib import Path

from analyzers.errors import UsageError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
"""A Path has one slash left of the two behind a scheme. A drive of Windows has one letter."""


def check_target(option: str, path: Path | None, *endings: str, beside: bool = False) -> None:
    """Raises UsageError for an address, a file of another ending, a folder, or a place that cannot be written to.

    None, an option that was left out, is fine. `beside` says that other files are to be made in the same folder.
    """
    if path is None:
        return
    if address := _ADDRESS.match(path.as_posix()):
        slashes = "///" if address[1] == "file" else "//"
        shown = f"{address[1]}:{slashes}{path.as_posix()[address.end() :]}"
        raise UsageError(f"{option} '{shown}' is an address; give the path of a local file")
    if endings and path.suffix.lower() not in endings:
        raise UsageError(f"{option} '{path}' must end in {' or '.join(endings)}")
    if path.is_dir():
        raise UsageError(f"{option} '{path}' is a folder; name a file in it")
    folder = path.absolute().parent
    if not folder.is_dir():
        lacking = "is a file, not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"{option} '{path}': the folder {path.parent} {lacking}")
    if path.exists() and not os.access(path, os.W_OK):
        raise UsageError(f"{option} '{path}' is there and may not be written to")
    if (beside or not path.exists()) and not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{option} '{path}': nothing may be written in the folder {path.parent}")


def check_table_and_plot(table: Path | None, plot: Path | None) -> None:
    """The files of --output and --plot. Raises UsageError, also where nothing is there to plot with."""
    from importlib.util import find_spec

    check_target("--output", table, ".csv", ".parquet")
    check_target("--plot", plot, ".png")
    if plot is not None and find_spec("matplotlib") is None:
        raise UsageError("plots need matplotlib: install pcache-cli[plot]")
