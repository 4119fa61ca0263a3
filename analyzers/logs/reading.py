"""All inputs through the reader of their format into one log, with every record accounted for."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from analyzers.errors import InputError, PcacheError, UsageError
from analyzers.logs.detect import SAMPLE, detect, unknown_format
from analyzers.logs.inputs import Source, find_sources
from analyzers.logs.omitted_zeros import fill_omitted_zeros
from analyzers.logs.reader import IN_ORDER, NotThisFormatError, Reader, Record
from analyzers.logs.records import NOT_JSON, NOT_UTF8, mend, read_records
from analyzers.request import Log

UNKNOWN = "unknown format"
MENDED = "Lone surrogates were read as U+FFFD and NaN as null."
_MAPPED_FORMAT = "prompts"
_MOST_LOOKED_AT = 256


def read(
    inputs: Sequence[str],
    formats: Sequence[type[Reader]],
    *,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Log:
    """Read inputs with the given formats; see `analyzers.logs.read_log`."""
    log = Log()
    reading = _Reading(log, formats, _forced(format, mapping, formats), dict(mapping or {}), strict)
    for source in find_sources(inputs):
        reading.file(source)
    reading.finish()
    fill_omitted_zeros(log)
    return log


def _forced(
    name: str | None, mapping: Mapping[str, str] | None, formats: Sequence[type[Reader]]
) -> type[Reader] | None:
    """The reader that every file gets, if the user named a format or the columns of a table."""
    if name is None:
        if not mapping:
            return None
        name = _MAPPED_FORMAT
    for reader in formats:
        if reader.name == name:
            return reader
    raise UsageError(f"--format {name} is unknown; use one of {', '.join(known.name for known in formats)}.")


class UnknownFormatError(InputError):
    """No format matches a file."""


class _Reading:
    def __init__(
        self,
        log: Log,
        formats: Sequence[type[Reader]],
        forced: type[Reader] | None,
        mapping: Mapping[str, str],
        strict: bool,
    ) -> None:
        self.log = log
        self.formats = formats
        self.forced = forced
        self.mapping = mapping
        self.strict = strict
        self.readers: dict[type[Reader], Reader] = {}
        self.problems: list[PcacheError] = []
        self.empty: list[str] = []

    def file(self, source: Source) -> None:
        """Read one file. A file that was not named by the user may turn out to be no log."""
        try:
            self._read_file(source)
        except InputError as error:
            if source.named or self.strict:
                raise
            self.problems.append(error)
            self.log.records += 1
            reason = UNKNOWN if isinstance(error, UnknownFormatError) else "unreadable file"
            self.log.skip(source.name, 1, reason, str(error).split(". Tried:")[0])

    def finish(self) -> None:
        """End all readers; raise the reason if no file gave a request; check the account."""
        for reader in self.readers.values():
            reader.end_of_input()
        for name in self.empty:
            self.log.note(f"{name} is empty.")
        self._stop_if_strict()
        log = self.log
        accounted = len(log.requests) + log.merged + sum(log.skipped.values())
        assert log.records == accounted, f"{log.records} records, {accounted} accounted for"
        if log.requests:
            return
        if self.problems:
            raise self.problems[0]
        if not log.records:
            raise InputError(f"There is no record in {', '.join(self.empty)}.")
        first = log.examples[0] if log.examples else None
        where = f": {first.file}, line {first.line}: {first.reason}. {first.detail}".rstrip() if first else ""
        raise InputError(f"None of the {log.records} records is a model call{where}")

    def _read_file(self, source: Source) -> None:
        records = self._good_records(source)
        sample = _first_records(records)
        if not sample:
            self.empty.append(source.name)
            return
        raws = [record.raw for record in sample]
        best = self.forced or detect(raws, self.formats)
        if best is None:
            raise UnknownFormatError(unknown_format(source.name, raws, self.formats))
        self.log.formats[source.name] = best.name
        reader = self._reader(best)
        read = reader.read
        for record in chain(sample, records):
            self.log.records += 1
            try:
                read(record)
            except (NotThisFormatError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                self._read_with_others(record, best, error)
            if self.strict:
                self._stop_if_strict()
        for opened in self.readers.values():
            opened.end_of_file()

    def _good_records(self, source: Source) -> Iterator[Record]:
        """Records that are UTF-8; the others are skipped."""
        for record in read_records(source, self.log):
            if not record.raw.isascii():
                try:
                    record.raw.decode()
                except UnicodeDecodeError as error:
                    self.log.records += 1
                    detail = f"byte {error.start} is not UTF-8; is the file Latin-1?"
                    self.log.skip(record.file, record.line, NOT_UTF8, detail)
                    continue
            yield record

    def _read_with_others(self, record: Record, tried: type[Reader], error: Exception) -> None:
        """A record its file's reader refused: mend it, or give it to the format it looks like, or skip it."""
        log = self.log
        if not isinstance(error, NotThisFormatError):
            mended = mend(record.raw)
            if mended is not record.raw:
                log.note(MENDED)
                record = record._replace(raw=mended)
                try:
                    self._reader(tried).read(record)
                    return
                except (NotThisFormatError, msgspec.DecodeError, RecursionError) as again:
                    error = again
        in_order = isinstance(error, NotThisFormatError) and error.reason in IN_ORDER
        others = [] if self.forced or in_order else [known for known in self.formats if known is not tried]
        other = detect([record.raw], others)
        if other is not None:
            try:
                self._reader(other).read(record)
                self._also(record.file, other.name)
                return
            except (NotThisFormatError, msgspec.DecodeError, RecursionError) as again:
                error = again
        reason, detail = _why(error)
        log.skip(record.file, record.line, reason, detail)

    def _also(self, file: str, format: str) -> None:
        """A file holds records of a second format."""
        names = self.log.formats.get(file, "").split(" + ")
        if format not in names:
            self.log.formats[file] = " + ".join([*names, format])

    def _reader(self, kind: type[Reader]) -> Reader:
        reader = self.readers.get(kind)
        if reader is None:
            reader = self.readers[kind] = kind(self.log, self.mapping)
        return reader

    def _stop_if_strict(self) -> None:
        if not self.strict:
            return
        for example in self.log.examples:
            if example.reason not in IN_ORDER:
                detail = f" ({example.detail})" if example.detail else ""
                raise InputError(f"{example.file}, line {example.line}: {example.reason}{detail}.")


def _first_records(records: Iterator[Record]) -> list[Record]:
    """Records until enough of them look like JSON objects to tell a format by."""
    first: list[Record] = []
    objects = 0
    for record in records:
        first.append(record)
        objects += record.raw[:1] == b"{"
        if objects == SAMPLE or len(first) == _MOST_LOOKED_AT:
            break
    return first


def _why(error: Exception) -> tuple[str, str]:
    """The kind of a failure, and its detail."""
    if isinstance(error, NotThisFormatError):
        return error.reason, error.detail
    if isinstance(error, msgspec.ValidationError):
        return "unexpected shape", str(error)
    if isinstance(error, RecursionError):
        return "nested too deeply", ""
    return NOT_JSON, str(error)
