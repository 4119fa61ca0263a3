"""Which format a file or a record is in, from its content."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from analyzers.errors import InputError, UsageError
from analyzers.logs.inputs import Source
from analyzers.logs.reader import Reader, Record
from analyzers.logs.records import mend

SAMPLE = 16
"""Records of a file that are looked at."""
_MOST_LOOKED_AT = 256
_MAPPED_FORMAT = "prompts"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files are read, see `analyzers.logs.read_log`. `mapping` as (our field, the log's column) pairs."""

    format: str | None = None
    mapping: tuple[tuple[str, str], ...] = ()
    strict: bool = False


class UnknownFormatError(InputError):
    """No format matches a file."""


def detect(raws: Sequence[bytes], formats: Sequence[type[Reader]]) -> type[Reader] | None:
    """The format with the highest mean score on the records, None if all scores are 0.

    Of equal scores the first in `formats` wins.
    """
    records = _decoded(raws)
    best: type[Reader] | None = None
    best_score = 0.0
    for reader in formats:
        score = sum(reader.matches(record) for record in records)
        if score > best_score:
            best, best_score = reader, score
    return best


def forced_reader(options: ReadOptions, formats: Sequence[type[Reader]]) -> type[Reader] | None:
    """The reader that every file gets, if the user named a format or the columns of a table.

    Raises UsageError for a format that is none.
    """
    name = options.format
    if name is None:
        if not options.mapping:
            return None
        name = _MAPPED_FORMAT
    for reader in formats:
        if reader.name == name:
            return reader
    raise UsageError(f"--format {name} is unknown; use one of {', '.join(known.name for known in formats)}.")


def reader_of(source: Source, sample: Sequence[Record], formats: Sequence[type[Reader]]) -> type[Reader]:
    """The format of a file by its first records. Raises UnknownFormatError if there is none."""
    raws = [record.raw for record in sample]
    best = detect(raws, formats)
    if best is None:
        raise UnknownFormatError(unknown_format(source.title, raws, formats))
    return best


def first_records(records: Iterator[Record]) -> list[Record]:
    """Records until enough of them look like JSON objects to tell a format by."""
    first: list[Record] = []
    objects = 0
    for record in records:
        first.append(record)
        objects += record.raw[:1] == b"{"
        if objects == SAMPLE or len(first) == _MOST_LOOKED_AT:
            break
    return first


def unknown_format(file: str, raws: Sequence[bytes], formats: Sequence[type[Reader]]) -> str:
    """The sentence for a file that no format matches: what it holds, what was tried, what is nearest."""
    records = _decoded(raws)
    if not records:
        return f"{file} is no log: it is neither JSON nor YAML, CSV or Parquet, or is damaged from its start."
    keys = {key for record in records if isinstance(record, dict) for key in record}
    tried = ", ".join(reader.name for reader in formats)
    said = f"{file} is in no known log format"
    if keys:
        said += f" (its records have {_some(sorted(keys))})"
        nearest = max(formats, key=lambda reader: _likeness(keys, reader.keys))
        if _likeness(keys, nearest.keys) > 0:
            said += f"; nearest is {nearest.name}, whose records have {_some(nearest.keys)}"
    return f"{said}. Tried: {tried}. Name one with --format, or the columns of a plain table with --map."


def _decoded(raws: Sequence[bytes]) -> list[Any]:
    records = []
    for raw in raws:
        try:
            records.append(msgspec.json.decode(mend(raw)))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return records


def _likeness(keys: set[str], usual: Sequence[str]) -> float:
    """The share of keys in common (Jaccard)."""
    common = len(keys.intersection(usual))
    return common / (len(keys) + len(usual) - common) if usual else 0.0


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:6])
    return f"{shown}, ..." if len(names) > 6 else shown
