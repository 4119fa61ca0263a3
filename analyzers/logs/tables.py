"""CSV tables and YAML documents as records."""

import base64
import csv
import io
import sys
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from analyzers.errors import InputError
from analyzers.logs.reader import Record
from analyzers.request import Log

BINARY_KEY: Final = "!!binary"
"""A YAML binary scalar becomes {"!!binary": base64}."""
_MAX_NODES = 50_000_000
_DELIMITERS = ",\t;"


def looks_like_table(name: str, head: bytes) -> bool:
    """Whether text begins with the header of a CSV or TSV table: two or more short names."""
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    if name.lower().endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")):
        return True
    cells = next(csv.reader([first], delimiter=_delimiter(first)), [])
    return len(cells) > 1 and all(0 < len(cell) <= 64 and ": " not in cell for cell in cells)


def read_table(name: str, stream: io.BufferedReader, log: Log) -> Iterator[Record]:
    """Each row of a table with a header as a JSON object of strings."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        first = text.readline()
        header = next(csv.reader([first], delimiter=_delimiter(first)), [])
        rows = csv.reader(text, delimiter=_delimiter(first))
        for row in rows:
            if not row:
                continue
            line = rows.line_num + 1
            if len(row) != len(header):
                log.records += 1
                log.skip(name, line, "wrong number of cells", f"{len(row)} in place of {len(header)}")
                continue
            yield Record(name, line, msgspec.json.encode(dict(zip(header, row, strict=True))))
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text (byte {error.start}); convert it first.") from error
    except csv.Error as error:
        raise InputError(f"{name} is not a readable table: {error}.") from error
    finally:
        text.detach()  # or closing the wrapper would close standard input


def read_yaml(name: str, stream: io.BufferedReader) -> Iterator[Record]:
    """Each YAML document as one record. Only plain data is loaded, never objects."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for document in yaml.load_all(stream, Loader=loader):
            yield Record(name, 1, msgspec.json.encode(_Plain(name).value(document)))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"{name} is not readable YAML: {problem}.") from error


class _Plain:
    """YAML values as JSON can hold them. Aliases are written out, so their number is bounded."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes = 0

    def value(self, value: Any) -> Any:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise InputError(f"{self._name} unfolds to more than {_MAX_NODES} YAML values; this is no log.")
        if isinstance(value, dict):
            return {key if isinstance(key, str) else str(key): self.value(v) for key, v in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.value(item) for item in value]
        if isinstance(value, bytes):
            return {BINARY_KEY: base64.b64encode(value).decode()}
        if isinstance(value, float) and (value != value or abs(value) == float("inf")):
            return None
        return value


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)
