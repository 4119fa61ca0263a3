"""Parquet tables and zip archives of JSON documents as records."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from analyzers.errors import InputError
from analyzers.logs.reader import Record
from analyzers.trace_file import is_trace_schema

_MAX_ARCHIVE: Final = 2**31
_ROWS = 1024


class IsTraceError(InputError):
    """A file is a trace that was made from a log."""


def read_parquet(name: str, stream: io.BufferedReader) -> Iterator[Record]:
    """Each row of a Parquet file as a JSON object; `line` is the row number. Raises IsTraceError for a trace."""
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(stream if stream.seekable() else io.BytesIO(stream.read()))
        if is_trace_schema(table.schema_arrow):
            raise IsTraceError(f"{name} is a trace, not a log; a trace is read alone.")
        number = 0
        for batch in table.iter_batches(batch_size=_ROWS):
            for row in batch.to_pylist():
                number += 1
                yield Record(name, number, msgspec.json.encode(row, enc_hook=str))
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{name} is not a readable Parquet file: {error}.") from error


def read_zip(name: str, stream: io.BufferedReader) -> Iterator[Record]:
    """Each .json member of a zip archive, by name, as one record whose file is `archive/member`."""
    from analyzers.logs.records import compact

    data: Any = stream if stream.seekable() else io.BytesIO(stream.read(_MAX_ARCHIVE))
    try:
        with zipfile.ZipFile(data) as archive:
            members = sorted(
                (info for info in archive.infolist() if info.filename.endswith(".json")),
                key=lambda info: info.filename,
            )
            if sum(info.file_size for info in members) > _MAX_ARCHIVE:
                raise InputError(f"{name} unpacks to more than {_MAX_ARCHIVE} bytes.")
            for info in members:
                with archive.open(info) as member:
                    raw = member.read(info.file_size).strip()
                yield Record(f"{name}/{info.filename}", 1, compact(raw))
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise InputError(f"{name} is not a readable zip archive: {error}.") from error
