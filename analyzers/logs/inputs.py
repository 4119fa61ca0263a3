"""The files that inputs name, in a fixed order."""

import glob
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from analyzers.errors import InputError

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


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read, or standard input (`path` None).

    `named` tells a file the user named from one found in a directory or by a glob: the first must be a log.
    """

    name: str
    path: Path | None
    named: bool

    @contextmanager
    def open(self) -> Iterator[BufferedReader]:
        """The bytes as stored. Raises InputError if the file cannot be opened. Leaves standard input open."""
        if self.path is None:
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
        with stored:
            yield stored


def find_sources(inputs: Sequence[str]) -> list[Source]:
    """The files of the inputs in the order given; those of a directory or glob by name, each file once.

    Raises InputError for an input that names no file and for a directory without logs.
    """
    sources: dict[str, Source] = {}
    for text in inputs:
        for source in _sources_of(text):
            sources.setdefault(source.name, source)
    return list(sources.values())


def _sources_of(text: str) -> list[Source]:
    if text == STDIN:
        return [Source(STDIN, None, named=True)]
    path = Path(text)
    if path.is_dir():
        files = [found for found in path.rglob("*") if _is_log(found.relative_to(path)) and found.is_file()]
        if not files:
            endings = ", ".join(LOG_ENDINGS)
            raise InputError(
                f"{text} holds no log files: none ends in {endings} (or these with .gz or .zst)."
            )
        return [Source(str(file), file, named=False) for file in sorted(files)]
    if path.exists():
        return [Source(text, path, named=True)]
    if any(sign in text for sign in "*?["):
        matches = sorted(found for found in glob.glob(text, recursive=True) if Path(found).is_file())
        if not matches:
            raise InputError(f"No file matches {text}.")
        return [Source(found, Path(found), named=False) for found in matches]
    raise InputError(f"{text} does not exist: name a log file, a directory, a glob, or - for standard input.")


def _is_log(relative: Path) -> bool:
    if any(part.startswith(".") for part in relative.parts):
        return False
    name = relative.name.lower()
    for ending in COMPRESSED_ENDINGS:
        name = name.removesuffix(ending)
    return name.endswith(LOG_ENDINGS)
