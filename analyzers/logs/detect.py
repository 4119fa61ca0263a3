"""Which format a file or a record is in, from its content."""

from collections.abc import Sequence
from typing import Any

import msgspec

from analyzers.logs.reader import Reader
from analyzers.logs.records import mend

SAMPLE = 16
"""Records of a file that are looked at."""


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
