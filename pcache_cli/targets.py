"""Files that a command is to write, looked at before it starts to work."""

from pathlib import Path

from analyzers.errors import UsageError


def check_target(option: str, path: Path | None, *endings: str) -> None:
    """Raises UsageError for a file of another ending, in a folder that is not there, or that is a folder itself.

    None, an option that was left out, is fine.
    """
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise UsageError(f"{option} '{path}' must end in {' or '.join(endings)}")
    if path.is_dir():
        raise UsageError(f"{option} '{path}' is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} '{path}': the folder {path.parent} does not exist")


def check_table_and_plot(table: Path | None, plot: Path | None) -> None:
    """The files of --output and --plot. Raises UsageError, also where nothing is there to plot with."""
    from importlib.util import find_spec

    check_target("--output", table, ".csv", ".parquet")
    check_target("--plot", plot, ".png")
    if plot is not None and find_spec("matplotlib") is None:
        raise UsageError("plots need matplotlib: install pcache-cli[plot]")
