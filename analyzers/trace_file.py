"""Save a Trace to one Parquet file and load it again.

One row a request. The prefix tree travels in list columns: a row holds the nodes its request was the first to
bring (`node_parent`, `node_depth_start`, `node_depth_end`), so the file is one plain table that any Parquet
reader opens. Everything that is not per request stands in the file's metadata under `pcache`.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from analyzers.errors import InputError
from analyzers.trace import (
    MISSING,
    NO_TIME,
    Int32,
    Int64,
    Names,
    PrefixTree,
    Ragged,
    RequestTable,
    Trace,
    TraceInfo,
)
from analyzers.whole_file import whole_file

SCHEMA_VERSION = 1
PARQUET_MAGIC = b"PAR1"
_METADATA_KEY = b"pcache"
_TIME_COLUMNS = ("time_ns", "first_token_ns", "end_ns")
_COUNT_COLUMNS = (
    "prompt_tokens",
    "output_tokens",
    "cached_tokens",
    "usage_prompt",
    "usage_read",
    "usage_written",
    "usage_output",
    "seen_elsewhere",
)
_NODE_COLUMNS = ("leaf", "cached_leaf")
_NAME_COLUMNS = ("model", "provider", "session", "tenant", "route", "file")
_RAGGED_COLUMNS = ("boundaries", "boundary_paths", "markers", "marker_ttl_s", "written", "written_ttl_s")


def save_trace(trace: Trace, path: str | Path) -> None:
    """Write the trace as Parquet, whole or not at all. Raises InputError where it cannot be written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {"request_id": pa.array(trace.requests.request_id, pa.string())}
    for name in _TIME_COLUMNS:
        columns[name] = _nullable(pa, getattr(trace.requests, name), NO_TIME)
    columns["namespace"] = pa.array(trace.requests.namespace)
    for name in _COUNT_COLUMNS:
        columns[name] = _nullable(pa, getattr(trace.requests, name), MISSING)
    for name in _NODE_COLUMNS:
        columns[name] = pa.array(getattr(trace.requests, name))
    for name in _NAME_COLUMNS:
        column: Names = getattr(trace.requests, name)
        codes = _nullable(pa, column.codes, MISSING)
        columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array(column.values, pa.string()))
    columns["line"] = pa.array(trace.requests.line)
    for name in _RAGGED_COLUMNS:
        ragged: Ragged = getattr(trace, name)
        columns[name] = pa.LargeListArray.from_arrays(pa.array(ragged.offsets), pa.array(ragged.values))
    offsets = np.searchsorted(trace.tree.first_request, np.arange(len(trace) + 1)).astype(np.int64)
    for name in ("parent", "depth_start", "depth_end"):
        values = pa.array(getattr(trace.tree, name))
        columns[f"node_{name}"] = pa.LargeListArray.from_arrays(pa.array(offsets), values)
    info = trace.info
    metadata = {
        "schema_version": SCHEMA_VERSION,
        "paths": trace.paths,
        **{name: getattr(info, name) for name in info.__dataclass_fields__},
    }
    table = pa.table(columns).replace_schema_metadata({_METADATA_KEY: json.dumps(metadata).encode()})
    try:
        with whole_file(path) as file:
            pq.write_table(table, file, compression="zstd")
    except OSError as problem:
        raise InputError(f"cannot write the trace to {path}: {problem.strerror or problem}") from problem


def _nullable(pa: Any, values: npt.NDArray[Any], missing: int) -> Any:
    return pa.array(values, mask=values == missing)


def is_trace_file(path: str | Path) -> bool:
    """Whether the file is Parquet with this module's metadata. False for a missing or any other file."""
    try:
        with open(path, "rb") as file:
            if file.read(4) != PARQUET_MAGIC:
                return False
    except OSError:
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return is_trace_schema(pq.read_schema(_stored(path)))
    except (OSError, pa.ArrowException):
        return False


def _stored(path: str | Path) -> Any:
    """The file for pyarrow, which takes a name that is not UTF-8 as bytes only."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path))


def is_trace_schema(schema: Any) -> bool:
    """Whether a Parquet file with this pyarrow schema is a trace."""
    return _METADATA_KEY in (schema.metadata or {})


def sources_of(path: str | Path) -> tuple[str, ...]:
    """The files that a trace file was made from, without reading the trace."""
    import pyarrow.parquet as pq

    raw = (pq.read_schema(_stored(path)).metadata or {}).get(_METADATA_KEY, b"{}")
    return tuple(json.loads(raw).get("sources", ()))


def load_trace(path: str | Path) -> Trace:
    """Read a trace back. Raises InputError for a file that is damaged or of another schema version."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Not read_table: it imports pyarrow.dataset, and with it pandas where that is installed.
        table = pq.ParquetFile(_stored(path)).read().combine_chunks()
    except (OSError, pa.ArrowException) as problem:
        raise InputError(f"cannot read {path} as a trace: {problem}") from problem
    raw = (table.schema.metadata or {}).get(_METADATA_KEY)
    if raw is None:
        raise InputError(f"{path} is Parquet but no trace; make one with 'pcache trace LOG -o FILE'")
    metadata = json.loads(raw)
    version = metadata.pop("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{path} is a trace of schema version {version}, this pcache reads {SCHEMA_VERSION}; make it anew"
        )
    paths = metadata.pop("paths")
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in metadata.items()}
    info = TraceInfo(**fields)

    columns: dict[str, Any] = {
        **{name: _integers(table, name, NO_TIME) for name in _TIME_COLUMNS},
        **{name: _integers(table, name, MISSING) for name in (*_COUNT_COLUMNS, "line")},
        **{name: _int32(_integers(table, name, MISSING)) for name in ("namespace", *_NODE_COLUMNS)},
        **{name: _names(table, name) for name in _NAME_COLUMNS},
    }
    requests = RequestTable(request_id=table["request_id"].to_pylist(), **columns)
    starts = _ragged(table, "node_depth_start")
    tree = PrefixTree(
        parent=_int32(_ragged(table, "node_parent").values),
        depth_start=_int32(starts.values),
        depth_end=_int32(_ragged(table, "node_depth_end").values),
        first_request=np.repeat(np.arange(len(table), dtype=np.int32), np.diff(starts.offsets)),
    )
    ragged = {name: _ragged(table, name) for name in _RAGGED_COLUMNS}
    return Trace(info=info, requests=requests, tree=tree, paths=paths, **ragged)


def _int32(values: npt.NDArray[Any]) -> Int32:
    return values.astype(np.int32)


def _integers(table: Any, name: str, missing: int) -> Int64:
    import pyarrow.compute as pc

    column = pc.fill_null(table[name].cast("int64"), missing)
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _names(table: Any, name: str) -> Names:
    import pyarrow.compute as pc

    column = table[name]
    if column.num_chunks == 0:
        return Names(np.empty(0, np.int32), [])
    array = column.chunk(0)
    codes = pc.fill_null(array.indices.cast("int32"), MISSING)
    return Names(np.asarray(codes.to_numpy(zero_copy_only=False), np.int32), array.dictionary.to_pylist())


def _ragged(table: Any, name: str) -> Ragged:
    column = table[name]
    if column.num_chunks == 0:
        return Ragged(np.zeros(1, np.int64), np.empty(0, np.int64))
    array = column.chunk(0)
    offsets = np.asarray(array.offsets.to_numpy(), np.int64)
    values = np.asarray(array.values.to_numpy(zero_copy_only=False), np.int64)
    return Ragged(offsets - offsets[0], values[offsets[0] : offsets[-1]])
