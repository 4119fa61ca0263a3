"""How the files of a log are shared out: shards, each of which one process can read on its own.

What a format's reader says of its `reach` decides. Files of reach "input" are one shard a format, as their rows
belong together wherever they lie; a large plain file of reach "record" is cut at line ends; all else is a shard a
file, small ones together. Shards stand in the order of their first file. A shard's requests need not lie between
those of the shards around it: `analyzers.logs.account.row_order` restores the order of one reading.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from analyzers.errors import InputError
from analyzers.logs import FORMATS
from analyzers.logs.containers import IsTraceError
from analyzers.logs.detect import ReadOptions, first_records, forced_reader, reader_of
from analyzers.logs.inputs import STDIN, Source, Version, find_sources
from analyzers.logs.reader import Reader, Record
from analyzers.logs.records import good_records, is_json_lines
from analyzers.pipeline import TOOL_VERSION
from analyzers.request import Log

SHARD_BYTES: Final = 64 * 2**20
_BLOCK = 1 << 24
_THREADS = 16
"""Remote files whose first records are fetched at a time."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a shard, or a range of its lines (`source` then has an `end`).

    `file` is its number among all inputs; `reader` is the name of its format, None where that is seen when it is read
    (standard input) or there is none (an empty file, or one that is no log); `size` is bytes as stored, None if unknown.
    """

    file: int
    source: Source
    reader: str | None
    size: int | None


@dataclass(frozen=True, slots=True)
class Shard:
    """Files that one process reads. `number` counts from 0.

    It is read in slices of about `slice_bytes`, but a shard `in_one_slice` cannot be cut.
    """

    number: int
    parts: tuple[FilePart, ...]
    in_one_slice: bool
    slice_bytes: int = SHARD_BYTES

    @property
    def size(self) -> int | None:
        """Bytes as stored, None if not known."""
        sizes = [part.size for part in self.parts if part.size is not None]
        return sum(sizes) if len(sizes) == len(self.parts) else None


@dataclass(frozen=True, slots=True)
class Plan:
    """All shards of a log. Equal fingerprints (hex) mean the same files, unchanged, shared out and read alike.

    `versions` are the files as they were when they were shared out.
    """

    shards: tuple[Shard, ...]
    options: ReadOptions
    fingerprint: str
    versions: tuple[tuple[Source, Version], ...]

    @property
    def has_stdin(self) -> bool:
        """Whether standard input, which nobody can read twice, is among the files."""
        return any(part.source.name == STDIN for shard in self.shards for part in shard.parts)


def plan_shards(
    inputs: Sequence[str],
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
    shard_bytes: int = SHARD_BYTES,
    leave_out: frozenset[Path] = frozenset(),
) -> Plan:
    """Share out the files of inputs. The first records of each file are read to tell its format.

    Files in `leave_out` (resolved paths) are passed over where they were found in a folder or by a glob, not named.

    Standard input can be read but once: alone it is one shard, among other inputs it makes all of them one.
    Raises what `read_log` raises for inputs that do not exist, cannot be opened or are in no known format, and for
    options that make no sense.
    """
    options = ReadOptions(format, tuple((mapping or {}).items()), strict)
    forced = forced_reader(options, FORMATS)
    sources = [source for source in find_sources(inputs) if not _is_left_out(source, leave_out)]
    if not sources:
        raise InputError(f"There is no log in {', '.join(inputs)} but the file that is to be written.")
    versions = [source.version() for source in sources]
    fingerprint = _fingerprint(sources, versions, options, shard_bytes)
    has_stdin = any(source.name == STDIN for source in sources)
    if forced is not None and mapping and not has_stdin:
        records = chain.from_iterable(_records_that_can_be_read(source, strict) for source in sources)
        forced.check_mapping(mapping, records)
    readers: Sequence[type[Reader] | None] = [None] * len(sources)
    if not has_stdin:
        readers = [forced] * len(sources) if forced is not None else _readers_of(sources, strict)
    parts = [
        FilePart(number, source, None if reader is None else reader.name, version.size)
        for number, (source, version, reader) in enumerate(zip(sources, versions, readers, strict=True))
    ]
    shards = _shards(parts, readers, has_stdin, shard_bytes)
    return Plan(shards, options, fingerprint, tuple(zip(sources, versions, strict=True)))


def check_unchanged(plan: Plan) -> list[str]:
    """Look at the files again when they have been read: notes on those that have grown since they were shared out.

    Raises InputError for a file that was rewritten, cut or moved meanwhile, of which nobody knows what was read.
    """
    notes = []
    for source, before in plan.versions:
        try:
            now = source.version()
        except InputError:
            if source.named:
                raise
            continue  # reading has counted it as unreadable, or had read it
        if now == before:
            continue
        if before.size is None or now.size is None or now.size <= before.size:
            raise InputError(
                f"{source.name} was changed while it was read; run again when nobody writes to it."
            )
        notes.append(f"{source.name} grew while it was read: of what came later, some or all is missing")
    return notes


def read_at_once(plan: Plan) -> Plan:
    """The same files as one shard in one slice, for a log whose slices `needs_reading_together`.

    Raises InputError for standard input, which cannot be read again.
    """
    whole: dict[int, FilePart] = {}
    for part in (part for shard in plan.shards for part in shard.parts):
        if part.source.name == STDIN:
            raise InputError(
                "Standard input mixes formats whose rows belong together; save it to a file and name that."
            )
        size = part.size if part.source.end is None else part.source.version().size
        source = replace(part.source, start=0, end=None, first_line=1)
        whole[part.file] = replace(part, source=source, size=size)
    parts = tuple(whole[file] for file in sorted(whole))
    fingerprint = hashlib.blake2b(f"{plan.fingerprint} at once".encode(), digest_size=16).hexdigest()
    return replace(plan, shards=(Shard(0, parts, in_one_slice=True),), fingerprint=fingerprint)


def _shards(
    parts: Sequence[FilePart],
    readers: Sequence[type[Reader] | None],
    has_stdin: bool,
    shard_bytes: int,
) -> tuple[Shard, ...]:
    if any(reader is not None and reader.reach == "log" for reader in readers):
        return (Shard(0, tuple(parts), in_one_slice=True),)
    if has_stdin:
        return (Shard(0, tuple(parts), in_one_slice=len(parts) > 1, slice_bytes=shard_bytes),)
    together: dict[str, list[FilePart]] = {}
    apart: list[FilePart] = []
    for part, reader in zip(parts, readers, strict=True):
        if reader is not None and reader.reach == "input":
            together.setdefault(reader.name, []).append(part)
        elif reader is not None and reader.reach == "record" and _is_large(part, shard_bytes):
            apart.extend(_ranges(part, shard_bytes))
        else:
            apart.append(part)
    shards = [(group, True) for group in together.values()]
    shards += [(pack, False) for pack in _packs(apart, shard_bytes)]
    shards.sort(key=lambda each: (each[0][0].file, each[0][0].source.start))
    return tuple(
        Shard(number, tuple(group), whole, shard_bytes) for number, (group, whole) in enumerate(shards)
    )


def _readers_of(sources: Sequence[Source], strict: bool) -> list[type[Reader] | None]:
    """The format of each file, None where it has none and may have none."""

    def reader(source: Source) -> type[Reader] | None:
        try:
            sample = first_records(good_records(source, Log()))
            return reader_of(source, sample, FORMATS) if sample else None
        except InputError as error:
            if _must_be_read(source, strict, error):
                raise
            return None

    remote = [source for source in sources if source.is_remote]
    with ThreadPoolExecutor(_THREADS) as threads:
        found = dict(zip((source.name for source in remote), threads.map(reader, remote), strict=True))
    return [found[source.name] if source.is_remote else reader(source) for source in sources]


def _records_that_can_be_read(source: Source, strict: bool) -> Iterator[Record]:
    try:
        yield from good_records(source, Log())
    except InputError as error:
        if _must_be_read(source, strict, error):
            raise


def _must_be_read(source: Source, strict: bool, error: InputError) -> bool:
    """Whether a file that cannot be read stops all: not one that was only found, unless `strict`; a trace never is."""
    return source.named or (strict and not isinstance(error, IsTraceError))


def _is_left_out(source: Source, leave_out: frozenset[Path]) -> bool:
    if not leave_out or source.named or source.path is None:
        return False
    return source.path.resolve() in leave_out


def _is_large(part: FilePart, shard_bytes: int) -> bool:
    """Whether a file is to be cut into ranges of lines."""
    if part.source.path is None or (part.size or 0) <= shard_bytes:
        return False
    try:
        return is_json_lines(part.source)
    except InputError:
        return False  # reading it tells what is wrong with it


def _ranges(part: FilePart, shard_bytes: int) -> Iterator[FilePart]:
    """A file as ranges of whole lines, each of at least `shard_bytes` but the last."""
    source = part.source
    start = position = 0
    first_line = line = 1
    with source.open() as stored:
        while block := stored.read(_BLOCK):
            at = 0  # where the lines of the block are counted up to
            while (end := block.find(b"\n", max(start + shard_bytes - 1 - position, at))) >= 0:
                line += block.count(b"\n", at, end + 1)
                at = end + 1
                size = position + at - start
                yield replace(
                    part,
                    source=replace(source, start=start, end=position + at, first_line=first_line),
                    size=size,
                )
                start, first_line = position + at, line
            line += block.count(b"\n", at)
            position += len(block)
    if position > start:
        rest = replace(source, start=start, end=position, first_line=first_line)
        yield replace(part, source=rest, size=position - start)


def _packs(parts: Sequence[FilePart], shard_bytes: int) -> Iterator[list[FilePart]]:
    """Neighbours together up to `shard_bytes`; a file of unknown size and a range of one by itself."""
    pack: list[FilePart] = []
    size = 0
    for part in parts:
        alone = part.size is None or part.source.end is not None
        if pack and (alone or size + (part.size or 0) > shard_bytes):
            yield pack
            pack, size = [], 0
        if alone:
            yield [part]
            continue
        pack.append(part)
        size += part.size or 0
    if pack:
        yield pack


def _fingerprint(
    sources: Sequence[Source], versions: Sequence[Version], options: ReadOptions, shard_bytes: int
) -> str:
    files = [
        (source.name, version.size, version.stamp) for source, version in zip(sources, versions, strict=True)
    ]
    what = msgspec.json.encode((TOOL_VERSION, shard_bytes, options, files))
    return hashlib.blake2b(what, digest_size=16).hexdigest()
