"""Touch records: all that stack distances need of a log, whatever the block size; a few whole numbers a request.

A record says that a request goes through the tokens [start, end) of its path and which request did so last before.
Trees of the prefix forest share no node, and neither do parts of one tree: each can be walked where it lies, and the
records of all parts, merged by request, are those of the whole log.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from analyzers.errors import InputError
from analyzers.trace import NO_TIME, Int32, Int64, RequestTable
from simulators.blocks import CachedSequences

SCHEMA_VERSION = 1
_METADATA_KEY = b"pcache_touches"


class Aged(Protocol):
    """Touches whose age is known: time since the touch before (int64 ns), 0 where there was none; None without times."""

    @property
    def age_ns(self) -> Int64 | None: ...


@dataclass(frozen=True)
class Touches:
    """The records of a whole trace, those of request r at [offsets[r], offsets[r + 1]), from the root on.

    `offsets` (int64, requests + 1); `last`, `start`, `end` (int32 a record); `time_ns` (int64 a request), None where
    a request has no time. Tokens that no request touched before have no record; see `touch_runs`.
    """

    offsets: Int64
    last: Int32
    start: Int32
    end: Int32
    time_ns: Int64 | None

    @cached_property
    def request(self) -> Int32:
        """The request of each record (int32)."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def age_ns(self) -> Int64 | None:
        """Time since the touch before, a record (int64 nanoseconds); None without times."""
        if self.time_ns is None:
            return None
        return self.time_ns[self.request] - self.time_ns[self.last]

    def records(self, rows: Int32) -> "TouchRecords":
        """As records that stand for themselves; `rows[r]` is the number that request r has in the whole log."""
        return TouchRecords(rows[self.request], rows[self.last], self.start, self.end)


@dataclass(frozen=True)
class TouchRecords:
    """Records of some requests (int32 arrays of equal length, 16 bytes a record), ordered by request, then depth.

    `request` and `last` are numbers of requests in the whole log.
    """

    request: Int32
    last: Int32
    start: Int32
    end: Int32

    def __len__(self) -> int:
        return len(self.request)


@dataclass(frozen=True)
class TouchedRequests:
    """Consecutive requests as a touch file holds them: lengths and times (int64 a request, NO_TIME where unknown),
    and their records, whose offsets begin at 0."""

    prompt_tokens: Int64
    total_tokens: Int64
    time_ns: Int64
    offsets: Int64
    last: Int32
    end: Int32

    def start(self) -> Int32:
        """Where each record begins: at the root, or where the record before it ends."""
        start = np.zeros(len(self.end), np.int32)
        start[1:] = self.end[:-1]
        start[self.offsets[:-1][np.diff(self.offsets) > 0]] = 0
        return start


def touches(sequences: CachedSequences, requests: RequestTable) -> Touches:
    """The stretches of all paths by their last toucher: the same for every block size."""
    from simulators.kernels.paths import touch_runs

    offsets, last, start, end = touch_runs(
        sequences.parent, sequences.depth_start, sequences.depth_end, sequences.leaf
    )
    timed = bool(np.all(requests.time_ns != NO_TIME))
    return Touches(offsets, last, start, end, requests.time_ns if timed else None)


def merge_touches(parts: Sequence[TouchRecords], first: int, end: int) -> TouchRecords:
    """The records of the requests [first, end), from those of parts of the forest that share no node.

    A part is whole trees or a connected piece of one; each request's records end where it leaves the part. Records
    that meet and have the same last request become one, so the result does not depend on where trees were cut.
    """
    chosen = [slice(*np.searchsorted(part.request, (first, end))) for part in parts]
    request, last, start, stop = (
        np.concatenate(
            [np.empty(0, np.int32), *(getattr(p, name)[c] for p, c in zip(parts, chosen, strict=True))]
        )
        for name in ("request", "last", "start", "end")
    )
    order = np.lexsort((start, request))
    request, last, start, stop = request[order], last[order], start[order], stop[order]
    begins = np.ones(len(request), bool)
    begins[1:] = (request[1:] != request[:-1]) | (last[1:] != last[:-1])
    return TouchRecords(request[begins], last[begins], start[begins], stop[np.roll(begins, -1)])


def touched_requests(
    records: TouchRecords, first: int, prompt_tokens: Int64, total_tokens: Int64, time_ns: Int64
) -> TouchedRequests:
    """The merged records of the requests first, first + 1, … with what is known of each of them."""
    offsets = np.searchsorted(records.request, first + np.arange(len(prompt_tokens) + 1)).astype(np.int64)
    return TouchedRequests(prompt_tokens, total_tokens, time_ns, offsets, records.last, records.end)


def save_touches(path: str | Path, blocks: Iterable[TouchedRequests]) -> None:
    """Write blocks of consecutive requests as one Parquet file: a row a request, a row group a block.

    Raises InputError where the file cannot be written; a broken run leaves no half a file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    lists = pa.list_(pa.int32())
    schema = pa.schema(
        [(name, pa.int64()) for name in ("prompt_tokens", "total_tokens", "time_ns")]
        + [("last", lists), ("end", lists)],
        metadata={_METADATA_KEY: str(SCHEMA_VERSION).encode()},
    )
    target = Path(path)
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            for block in blocks:
                offsets = pa.array(block.offsets.astype(np.int32))
                columns = [
                    pa.array(block.prompt_tokens),
                    pa.array(block.total_tokens),
                    pa.array(block.time_ns, mask=block.time_ns == NO_TIME),
                    pa.ListArray.from_arrays(offsets, pa.array(block.last)),
                    pa.ListArray.from_arrays(offsets, pa.array(block.end)),
                ]
                writer.write_table(pa.table(columns, schema=schema), row_group_size=max(len(offsets) - 1, 1))
        unfinished.replace(target)
    except OSError as problem:
        raise InputError(
            f"cannot write touch records to {target}: {problem.strerror or problem}"
        ) from problem
    finally:
        unfinished.unlink(missing_ok=True)


@dataclass(frozen=True)
class TouchFile:
    """A file of `save_touches`: `requests` is their number; iterating gives a block of them at a time."""

    path: Path
    requests: int

    def __iter__(self) -> Iterator[TouchedRequests]:
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group).combine_chunks()
                last, end = table["last"].chunk(0), table["end"].chunk(0)
                yield TouchedRequests(
                    table["prompt_tokens"].to_numpy(),
                    table["total_tokens"].to_numpy(),
                    pc.fill_null(table["time_ns"], NO_TIME).to_numpy(),
                    last.offsets.to_numpy().astype(np.int64),
                    last.values.to_numpy(),
                    end.values.to_numpy(),
                )


def open_touches(path: str | Path) -> TouchFile:
    """Raises InputError for a file that is no file of touch records or of another schema version."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            version = (file.schema_arrow.metadata or {}).get(_METADATA_KEY)
            requests = file.metadata.num_rows
    except (OSError, pa.ArrowException) as problem:
        raise InputError(f"cannot read {path} as touch records: {problem}") from problem
    if version != str(SCHEMA_VERSION).encode():
        raise InputError(f"{path} holds no touch records of schema version {SCHEMA_VERSION}; make it anew")
    return TouchFile(Path(path), requests)
