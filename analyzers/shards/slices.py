"""A shard as logs of bounded size, one after the other."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzers.logs import FORMATS
from analyzers.logs.account import FORMATS_JOINED_BY, SliceAccount
from analyzers.logs.detect import ReadOptions
from analyzers.logs.inputs import STDIN
from analyzers.logs.reading import Reading
from analyzers.request import Log
from analyzers.shards.plan import Shard

_READERS = {reader.name: reader for reader in FORMATS}


@dataclass(frozen=True, slots=True)
class LogSlice:
    """Some of a shard's records, read. `number` counts from 0 in the shard.

    `log` has its requests and parts to itself; whatever else was read is in the account. It may have no request.
    """

    number: int
    log: Log
    account: SliceAccount


def read_slices(
    shard: Shard, options: ReadOptions, slice_bytes: int | None = None, skip: int = 0
) -> Iterator[LogSlice]:
    """Read a shard, giving a slice whenever `slice_bytes` of records were read and the format lets one end.

    Where `slice_bytes` is not given, the shard says how many. The first `skip` slices are passed over: their records are found (and unpacked) but not read. Raises what
    `read_log` raises for a file that cannot be read; a shard without requests is no error, see `merged_log`.
    """
    stdin = any(part.source.name == STDIN for part in shard.parts)
    reading = Reading(
        FORMATS,
        options,
        slice_bytes=math.inf if shard.in_one_slice else slice_bytes or shard.slice_bytes,
        mapping_is_checked=not stdin,
    )
    number = 0
    reading.passes_over = skip > 0
    for part in shard.parts:
        kind = None if part.reader is None else _READERS[part.reader]
        for _ in reading.file(part.source, part.file, kind):
            log, account = reading.take()
            if not reading.passes_over:
                yield LogSlice(number, log, account)
            number += 1
            reading.passes_over = number < skip
            # What `check_mapping` would have looked at lies behind.
            reading.mapping_is_checked = True
    log, account = reading.take()
    has_any = account.records or account.empty
    if not reading.passes_over and (has_any or number == 0):
        yield LogSlice(number, log, account)


def needs_reading_together(accounts: Sequence[SliceAccount]) -> bool:
    """Whether slices hold records that should have met in one slice, so that the log must be read at once.

    That is so where records of a format whose rows belong together were found in files of another format, and lie in
    several slices. `read_log` then gives what the slices cannot. `accounts` are those of all slices.
    """
    places: Counter[tuple[str, str]] = Counter()
    for account in accounts:
        places.update({place for run in account.runs for place in _places(run.formats)})
    return any(
        count > 1 or (_READERS[format].reach == "log" and len(accounts) > 1)
        for (format, _), count in places.items()
    )


def _places(formats: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each format whose records reach beyond themselves, and the file that they reach in ("" for all)."""
    for file, names in formats:
        for name in names.split(FORMATS_JOINED_BY):
            reach = _READERS[name].reach if name else "record"
            if reach == "file":
                yield name, file
            elif reach in ("input", "log"):
                yield name, ""
