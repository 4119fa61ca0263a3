"""The files that inputs name, in a fixed order."""

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, cast

from analyzers.errors import InputError, UsageError

STDIN = "-"
LOG_ENDINGS = (
    ".jsonl",
    ".ndjson",
    ".json",
    ".log",
    ".csv",
    ".tsv",
    ".parquet",
    ".yaml",
    ".yml",
    ".har",
    ".traj",
    ".eval",
)
"""What is read from a directory; a file that is named is read whatever its ending."""
COMPRESSED_ENDINGS = (".gz", ".zst", ".zstd")


def printable_name(name: str | Path) -> str:
    """A file's name as text that any output can hold, with escapes for the bytes in it that are not UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def title_of(name: str) -> str:
    """What a sentence calls the file of this name."""
    return "standard input" if name == STDIN else name


@dataclass(frozen=True, slots=True)
class Version:
    """What tells a file from a changed one: its size in bytes (None if unknown) and a stamp, a time or a hash."""

    size: int | None
    stamp: str


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read: on this machine, or a remote one or standard input (`path` None).

    `name` is a `printable_name`, by which outputs call it; `path` is the file itself.
    `named` tells a file the user named from one found in a directory or by a glob: the first must be a log.
    With `end`, only the JSON lines in its bytes [start, end) are meant, the first of which is line `first_line`.
    """

    name: str
    path: Path | None
    named: bool
    start: int = 0
    end: int | None = None
    first_line: int = 1

    @property
    def title(self) -> str:
        """What a sentence calls it."""
        return title_of(self.name)

    @property
    def is_remote(self) -> bool:
        """Whether fsspec opens it."""
        return self.path is None and self.name != STDIN

    def version(self) -> Version:
        """Size and stamp. Raises InputError if the file cannot be reached."""
        if self.is_remote:
            from analyzers.logs.remote import version_of

            return version_of(self.name)
        if self.path is None:
            return Version(None, "")
        try:
            about = self.path.stat()
        except OSError as error:
            raise InputError(f"{self.name} cannot be opened: {error.strerror}.") from error
        return Version(about.st_size, str(about.st_mtime_ns))

    @contextmanager
    def open(self) -> Iterator[BufferedReader]:
        """The bytes as stored. Raises InputError if the file cannot be opened or read. Leaves standard input open."""
        if self.is_remote:
            from analyzers.logs.remote import open_remote

            with open_remote(self.name) as remote:
                yield remote
            return
        if self.path is None:
            if sys.stdin is None:
                raise InputError("Standard input is closed: pipe a log into it, or name a file.")
            stdin: object = sys.stdin.buffer
            if isinstance(stdin, BufferedReader):
                yield stdin
                return
            buffered: BufferedReader = BufferedReader(cast(Any, stdin))
            try:
                yield buffered
            finally:
                buffered.detach()
            return
        try:
            stored = cast(BufferedReader, self.path.open("rb", buffering=1 << 20))
        except OSError as error:
            raise InputError(f"{self.name} cannot be opened: {error.strerror}.") from error
        try:
            with stored:
                yield stored
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}.") from error


def find_sources(inputs: Sequence[str]) -> list[Source]:
    """The files of the inputs in the order given; those of a directory or glob by name, each file once.

    An input with a scheme (`s3://...`) names a file, a folder or a glob that fsspec opens. Raises InputError for
    an input that names no file and for a directory without logs, UsageError for an empty input and for a scheme no
    package here knows.
    """
    sources: dict[str | Path, Source] = {}
    for text in inputs:
        for source in _sources_of(text):
            sources.setdefault(source.path or source.name, source)
    return list(sources.values())


def _sources_of(text: str) -> list[Source]:
    if not text:
        raise UsageError("An input is empty: name a log file, a directory, a glob, or - for standard input.")
    if text == STDIN:
        return [Source(STDIN, None, named=True)]
    if "://" in text:
        return _remote_sources(text)
    path = Path(text)
    if path.is_dir():
        files = [found for found in path.rglob("*") if _is_log(found.relative_to(path)) and found.is_file()]
        if not files:
            raise _no_logs(printable_name(text))
        return [Source(printable_name(file), file, named=False) for file in sorted(files)]
    if path.exists():
        return [Source(printable_name(text), path, named=True)]
    if any(sign in text for sign in "*?["):
        matches = sorted(found for found in glob.glob(text, recursive=True) if Path(found).is_file())
        if not matches:
            raise InputError(f"No file matches {printable_name(text)}.")
        return [Source(printable_name(found), Path(found), named=False) for found in matches]
    raise InputError(
        f"{printable_name(text)} does not exist: name a log file, a directory, a glob, or - for standard input."
    )


def _remote_sources(text: str) -> list[Source]:
    from analyzers.logs.remote import Kind, find_remote

    found = find_remote(text)
    match found.kind:
        case Kind.FILE:
            return [Source(name, None, named=True) for name in found.names]
        case Kind.FOLDER:
            inside = [name for name in found.names if _is_log(PurePosixPath(found.relative(name)))]
            if not inside:
                raise _no_logs(text)
            inside.sort(key=lambda name: PurePosixPath(found.relative(name)))
            return [Source(name, None, named=False) for name in inside]
    return [Source(name, None, named=False) for name in sorted(found.names)]


def _no_logs(text: str) -> InputError:
    endings = ", ".join(LOG_ENDINGS)
    return InputError(f"{text} holds no log files: none ends in {endings} (or these with .gz or .zst).")


def _is_log(relative: PurePath) -> bool:
    if any(part.startswith(".") for part in relative.parts):
        return False
    name = relative.name.lower()
    for ending in COMPRESSED_ENDINGS:
        name = name.removesuffix(ending)
    return name.endswith(LOG_ENDINGS)
