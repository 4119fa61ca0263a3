"""Where output goes: machine output to stdout, everything a person reads beside it to stderr.

Text that comes from logs, templates or file names is data: pass it through `plain` before it reaches
a terminal, so that neither ANSI escapes nor rich markup in it take effect.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class OutputSettings:
    """Set once a run by the options every command has."""

    quiet: bool = False
    color: bool = True
    debug: bool = False


settings = OutputSettings(color="NO_COLOR" not in os.environ)


def plain(text: str) -> str:
    """The text with control characters shown as escapes and rich markup made inert."""
    from rich.markup import escape

    return escape(_without_controls(text))


def _without_controls(text: str, kept: str = "") -> str:
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def stdout_console() -> "Console":
    """A rich console on stdout: a table for people; width 120 when stdout is no terminal."""
    from rich.console import Console

    class PipeConsole(Console):
        """A console that leaves a broken pipe to the command, which ends quietly; rich would exit with 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else 120
    return PipeConsole(file=sys.stdout, no_color=not settings.color, highlight=False, width=width)


def stderr_console() -> "Console":
    """A rich console on stderr: notes, progress, warnings, the next command to try."""
    from rich.console import Console

    return Console(file=sys.stderr, no_color=not settings.color, highlight=False, quiet=settings.quiet)


def note(message: str) -> None:
    """One line on stderr for a person; silent under --quiet. The message is shown as it is, not as markup."""
    if not settings.quiet:
        print(_without_controls(message, kept="\n"), file=sys.stderr)


def error(message: str) -> None:
    """One sentence on stderr, shown even under --quiet."""
    print(f"pcache: {_without_controls(message)}", file=sys.stderr)


def print_json(document: object) -> None:
    """The document on stdout as one JSON text, keys in the order given, so that runs compare byte for byte.

    Non-finite floats are refused (ValueError): a figure that is not known is None.
    """
    import json

    json.dump(document, sys.stdout, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write("\n")


@contextmanager
def progress(doing: str) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr while something takes its time; nothing where nobody watches or under --quiet.

    Gives a function that changes what the spinner says.
    """
    if settings.quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    with stderr_console().status(doing) as status:
        yield status.update


def announce_compilation() -> None:
    """Say that kernels are being compiled when this machine has no compiled copy yet."""
    from pathlib import Path

    from analyzers import kernels

    cache = kernels.build_tree.stats.cache_path
    if cache is None:
        note(
            "compiling kernels (some seconds); done once if NUMBA_CACHE_DIR names a folder that may be written to"
        )
    elif not any(Path(cache).glob("kernels.build_tree-*.nbi")):
        note("compiling kernels for this machine, once (some seconds)")
