"""All inputs through the reader of their format into one log or its slices, with every record accounted for."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, islice

import msgspec

from analyzers.errors import CannotEvaluateError, InputError
from analyzers.logs.account import UNREADABLE, FileNote, FileRun, SliceAccount, merged_log
from analyzers.logs.containers import IsTraceError
from analyzers.logs.detect import (
    ReadOptions,
    UnknownFormatError,
    detect,
    first_records,
    forced_reader,
    reader_of,
)
from analyzers.logs.inputs import Source, find_sources, title_of
from analyzers.logs.omitted_zeros import fill_omitted_zeros
from analyzers.logs.reader import IN_ORDER, NotThisFormatError, Reader, Record
from analyzers.logs.records import NOT_JSON, good_records, mend
from analyzers.request import Log, Request

UNKNOWN = "unknown format"
MENDED = "Lone surrogates were read as U+FFFD and NaN as null."


def read(
    inputs: Sequence[str],
    formats: Sequence[type[Reader]],
    *,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Log:
    """Read inputs with the given formats; see `analyzers.logs.read_log`."""
    reading = Reading(formats, ReadOptions(format, tuple((mapping or {}).items()), strict))
    for number, source in enumerate(find_sources(inputs)):
        for _ in reading.file(source, number):
            pass
    taken, account = reading.take()
    log = merged_log([account])
    log.requests, log.parts = taken.requests, taken.parts
    fill_omitted_zeros(log)
    return log


class Reading:
    """Reads files into a log, which is taken whole or in slices.

    A slice is full when `slice_bytes` of records were read. `passes_over`: whether records are only counted, not read.
    `mapping_is_checked`: see `Reader.trust_mapping`.
    """

    def __init__(
        self,
        formats: Sequence[type[Reader]],
        options: ReadOptions,
        *,
        slice_bytes: float = math.inf,
        mapping_is_checked: bool = False,
    ) -> None:
        self.formats = formats
        self.forced = forced_reader(options, formats)
        self.mapping = dict(options.mapping)
        self.strict = options.strict
        self.slice_bytes = slice_bytes
        self.passes_over = False
        self.mapping_is_checked = mapping_is_checked
        self.log = Log()
        self._start_slice()

    def _start_slice(self) -> None:
        self.readers: dict[type[Reader], Reader] = {}
        self._file = 0
        self._size = 0
        self._runs: list[FileRun] = []
        self._in_runs = (0, 0, 0, 0)
        """Requests, formats, examples and notes of the log that the runs hold."""
        self._used: list[FileNote] = []
        self._empty: list[FileNote] = []
        self._problems: list[FileNote] = []

    def file(self, source: Source, number: int, kind: type[Reader] | None = None) -> Iterator[None]:
        """Read one file, the `number`-th of all, giving way whenever a slice is full and may end.

        `kind` is its reader where that is known. A file that was not named by the user may turn out to be no log, or a
        trace, which is left out.
        """
        self._file = number
        try:
            yield from self._read_file(source, kind)
        except IsTraceError:
            if source.named:
                raise
            self.log.note(f"{source.name} was left out: it is a trace, not a log.")
        except InputError as error:
            if source.named or self.strict:
                raise
            self._problems.append(FileNote(number, str(error)))
            self.log.records += 1
            reason = UNKNOWN if isinstance(error, UnknownFormatError) else UNREADABLE
            self.log.skip(source.name, 1, reason, str(error).split(". Tried:")[0])
            self._end_file()
        self._end_run(number, None)
        if self._size >= self.slice_bytes:
            yield

    def take(self) -> tuple[Log, SliceAccount]:
        """End all readers and hand over what was read since the last time; the log is then empty again."""
        log = self.log
        self._end_run(self._file, None)
        unanswerable = None
        for reader in self.readers.values():
            before = log.requests.copy()
            try:
                reader.end_of_input()
            except CannotEvaluateError as error:
                unanswerable = unanswerable or str(error)
            self._recount(before)
            self._end_run(None, reader.name)
        self._stop_if_strict()
        accounted = len(log.requests) + log.merged + sum(log.skipped.values())
        assert self.passes_over or log.records == accounted, (
            f"{log.records} records, {accounted} accounted for"
        )
        account = SliceAccount(
            records=log.records,
            merged=log.merged,
            skipped=tuple(log.skipped.items()),
            unit=log.unit,
            prompts_incomplete=log.prompts_incomplete,
            runs=tuple(self._runs),
            readers=tuple(self._used),
            empty=tuple(self._empty),
            problems=tuple(self._problems),
            unanswerable=unanswerable,
        )
        # The log that readers of records and files hold stays the same object, as if newly made.
        taken, fresh = replace(log), Log()
        for field in fields(Log):
            setattr(log, field.name, getattr(fresh, field.name))
        self._start_slice()
        return taken, account

    def _read_file(self, source: Source, kind: type[Reader] | None) -> Iterator[None]:
        log, number = self.log, self._file
        records = good_records(source, log)
        known = kind or self.forced
        sample, in_order = self._sample(records, look=known is None)
        if not sample:
            if source.end is None:
                self._empty.append(FileNote(number, source.title))
            return
        best = known or reader_of(source, sample, self.formats)
        may_end = self.slice_bytes if best.reach == "record" else math.inf
        read = self._start(source, best)
        size = self._size
        for record in chain(in_order, records):
            log.records += 1
            size += len(record.raw)
            try:
                read(record)
            except (NotThisFormatError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                self._read_with_others(record, best, error)
            if self.strict:
                self._stop_if_strict()
            if size >= may_end:
                self._end_file()
                yield
                self._file, size = number, 0
                read = self._start(source, best)
        self._size = size
        self._end_file()

    def _sample(self, records: Iterator[Record], look: bool) -> tuple[list[Record], Iterator[Record]]:
        """The first records, one or (`look`) enough to tell the format by, and the same to be read.

        Those are given once what was skipped among them stands in the log where it stood in the file.
        """
        log, start, marks = self.log, len(self.log.examples), list[int]()

        def marked() -> Iterator[Record]:
            for record in records:
                marks.append(len(log.examples) - start)
                yield record

        sample = first_records(marked()) if look else list(islice(marked(), 1))
        ahead = log.examples[start:]

        def in_order() -> Iterator[Record]:
            del log.examples[start:]
            for record, begin, end in zip(sample, [0, *marks], marks, strict=False):
                log.examples += ahead[begin:end]
                yield record
            log.examples += ahead[marks[-1] :]

        return sample, in_order()

    def _start(self, source: Source, kind: type[Reader]) -> Callable[[Record], None]:
        """What reads the records of a file."""
        self.log.formats[source.name] = kind.name
        return _pass_over if self.passes_over else self._reader(kind).read

    def _end_file(self) -> None:
        for opened in self.readers.values():
            opened.end_of_file()

    def _end_run(self, file: int | None, reader: str | None) -> None:
        """Note what the log gained since the last run ended."""
        log = self.log
        requests, formats, examples, notes = self._in_runs
        self._in_runs = now = (len(log.requests), len(log.formats), len(log.examples), len(log.notes))
        if now == (requests, formats, examples, notes):
            return
        new_formats = list(islice(reversed(log.formats.items()), len(log.formats) - formats))[::-1]
        run = FileRun(
            file,
            reader,
            len(log.requests) - requests,
            tuple(new_formats),
            tuple(log.examples[examples:]),
            tuple(log.notes[notes:]),
        )
        self._runs.append(run)

    def _recount(self, before: list[Request]) -> None:
        """Take from the runs the requests that a reader removed at the end; `before` are those until then."""
        if not before or (
            len(self.log.requests) >= len(before) and self.log.requests[len(before) - 1] is before[-1]
        ):
            return
        left = {id(request) for request in self.log.requests}
        place = iter(before)
        self._runs = [
            replace(run, requests=sum(id(request) in left for request in islice(place, run.requests)))
            for run in self._runs
        ]
        self._in_runs = (sum(run.requests for run in self._runs), *self._in_runs[1:])

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
            self._used.append(FileNote(self._file, kind.name))
            if self.mapping_is_checked:
                reader.trust_mapping()
        return reader

    def _stop_if_strict(self) -> None:
        if not self.strict:
            return
        for example in self.log.examples:
            if example.reason not in IN_ORDER:
                detail = f" ({example.detail})" if example.detail else ""
                raise InputError(f"{title_of(example.file)}, line {example.line}: {example.reason}{detail}.")


def _pass_over(record: Record) -> None:
    """Read nothing."""


def _why(error: Exception) -> tuple[str, str]:
    """The kind of a failure, and its detail."""
    if isinstance(error, NotThisFormatError):
        return error.reason, error.detail
    if isinstance(error, msgspec.ValidationError):
        return "unexpected shape", str(error)
    if isinstance(error, RecursionError):
        return "nested too deeply", ""
    return NOT_JSON, str(error)
