"""A file as a stream of records, whatever holds them: JSON lines, documents, arrays, tables, YAML."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from analyzers.errors import InputError
from analyzers.logs.decompression import CutOffError, expand
from analyzers.logs.inputs import Source
from analyzers.logs.reader import Record
from analyzers.request import Log

MAX_RECORD: Final = 2**30
"""Bytes of the largest line or document that is read."""
NOT_JSON: Final = "not JSON"
NOT_UTF8: Final = "not UTF-8"
TOO_LARGE: Final = "over 1 GiB"
CUT_OFF: Final = "cut off"

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_RAW = msgspec.json.Decoder(msgspec.Raw)
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_BAD_ESCAPE = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_STRING_OR_NUMBER_WORD = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b', re.DOTALL)


def read_records(source: Source, log: Log) -> Iterator[Record]:
    """The records of one file, or of a range of its lines, in order. What is none is skipped in the log, with why.

    Raises InputError where the whole file cannot be read: UTF-16, a binary file, expanding without end.
    """
    with source.open() as stored:
        if source.end is not None:
            yield from _read_lines(source, stored, log)
            return
        stream = expand(source.title, stored)
        try:
            yield from _records_of(source, stream, log)
        except CutOffError as error:
            log.records += 1
            log.skip(source.name, 1, CUT_OFF, str(error))


def good_records(source: Source, log: Log) -> Iterator[Record]:
    """The records of a file that are UTF-8; the others are skipped in the log."""
    for record in read_records(source, log):
        if not record.raw.isascii():
            try:
                record.raw.decode()
            except UnicodeDecodeError as error:
                log.records += 1
                detail = f"byte {error.start} is not UTF-8; is the file Latin-1?"
                log.skip(record.file, record.line, NOT_UTF8, detail)
                continue
        yield record


def is_json_lines(source: Source) -> bool:
    """Whether a file is plain, not compressed, and its first line a JSON object: then any run of its lines can be
    read alone, as the `start`, `end` and `first_line` of a Source say."""
    with source.open() as stored:
        head = stored.peek(1 << 16)
        if not head.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{"):
            return False
        stored.read(len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0)
        first = next(_lines(source.name, stored, Log()), None)
        return first is not None and not _opens_document(first.raw)


def _read_lines(source: Source, stored: io.BufferedReader, log: Log) -> Iterator[Record]:
    """The records in a range of the lines of a file that `is_json_lines`."""
    start, end = source.start, source.end or 0
    if start == 0 and stored.peek(len(_BYTE_ORDER_MARK)).startswith(_BYTE_ORDER_MARK):
        start = len(_BYTE_ORDER_MARK)
    stored.seek(start)
    stream: io.BufferedReader = io.BufferedReader(_UpTo(stored, end - start), 1 << 20)
    yield from _each(_lines(source.name, stream, log, source.first_line))


class _UpTo(io.RawIOBase):
    """The next bytes of a stream, up to a number of them. Closing it leaves the stream open."""

    def __init__(self, stream: io.BufferedReader, count: int) -> None:
        self._stream = stream
        self._left = count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto(memoryview(buffer).cast("B")[: self._left])
        self._left -= count
        return count


def _records_of(source: Source, stream: io.BufferedReader, log: Log) -> Iterator[Record]:
    name = source.name
    head = _peek(stream)
    if head[:4] == b"PAR1" or head[:4] == b"PK\x03\x04":
        from analyzers.logs.containers import read_parquet, read_zip

        yield from (read_parquet if head[:4] == b"PAR1" else read_zip)(name, stream)
        return
    _check_encoding(source.title, head)
    if head.startswith(_BYTE_ORDER_MARK):
        stream.read(len(_BYTE_ORDER_MARK))
        head = head.removeprefix(_BYTE_ORDER_MARK)
    start = head.lstrip()
    if start[:1] in (b"{", b"["):
        yield from _read_json(name, stream, log)
        return
    from analyzers.logs.tables import looks_like_table, read_table, read_yaml

    if looks_like_table(name, head):
        yield from read_table(name, stream, log)
    elif name.lower().removesuffix(".gz").endswith((".yaml", ".yml")) or _is_yaml(start):
        yield from read_yaml(name, stream)
    else:
        yield from _read_json(name, stream, log)


def mend(raw: bytes) -> bytes:
    """JSON as Python and JavaScript write it, made valid: a lone surrogate escape becomes U+FFFD, NaN null.

    Returns the same object when there is nothing to mend.
    """
    mended = raw
    if b"\\ud" in raw or b"\\uD" in raw:
        mended = _BAD_ESCAPE.sub(_replace_lone, mended)
    if b"NaN" in mended or b"Infinity" in mended:
        mended = _STRING_OR_NUMBER_WORD.sub(lambda m: m[0] if m[0][:1] == b'"' else b"null", mended)
    return raw if mended == raw else mended


def _replace_lone(match: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if len(match[0]) == 6 else match[0]


def _read_json(name: str, stream: io.BufferedReader, log: Log) -> Iterator[Record]:
    lines = _lines(name, stream, log)
    first = next(lines, None)
    if first is None:
        return
    if _opens_document(first.raw):
        rest = [first, *lines]
        documents = _documents(name, rest)
        if documents is not None:
            yield from documents
            return
        lines = iter(rest)
    else:
        yield from _elements(first)
    yield from _each(lines)


def _each(lines: Iterator[Record]) -> Iterator[Record]:
    """The lines, and the elements of those that hold an array."""
    for record in lines:
        if record.raw[:1] == b"[":
            yield from _elements(record)
        else:
            yield record


def _lines(name: str, stream: io.BufferedReader, log: Log, first: int = 1) -> Iterator[Record]:
    """Each line that is not blank as a record, white space around it removed. `first` is the first one's number."""
    number = first - 1
    try:
        while line := stream.readline(MAX_RECORD):
            number += 1
            if len(line) >= MAX_RECORD and line[-1:] != b"\n":
                while line and line[-1:] != b"\n":
                    line = stream.readline(MAX_RECORD)
                log.records += 1
                log.skip(name, number, TOO_LARGE)
                continue
            raw = line.strip()
            if raw:
                yield Record(name, number, raw)
    except CutOffError as error:
        log.records += 1
        log.skip(name, number + 1, CUT_OFF, str(error))


def _opens_document(raw: bytes) -> bool:
    """Whether a first line is the beginning of a longer JSON value."""
    try:
        _RAW.decode(raw)
    except msgspec.DecodeError as error:
        return "truncated" in str(error) and mend(raw) is raw
    return False


def _documents(name: str, lines: list[Record]) -> list[Record] | None:
    """The JSON values that a file of several lines consists of, None if it is not made of whole ones."""
    data = mend(b"\n".join(record.raw for record in lines))
    try:
        _RAW.decode(data)
        return list(_elements(Record(name, lines[0].line, data)))
    except msgspec.DecodeError:
        pass
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    decoder = json.JSONDecoder()
    records: list[Record] = []
    position = 0
    while position < len(text):
        try:
            _, end = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            return None
        line = lines[0].line + text.count("\n", 0, position)
        records.extend(_elements(Record(name, line, text[position:end].encode())))
        position = end + len(text[end:]) - len(text[end:].lstrip())
    return records


def _elements(record: Record) -> Iterator[Record]:
    """The elements of an array as records of their own; any other value as it is. White space goes."""
    if record.raw[:1] != b"[":
        yield record._replace(raw=compact(record.raw))
        return
    try:
        elements = _ELEMENTS.decode(record.raw)
    except msgspec.DecodeError:
        yield record
        return
    line, position = record.line, 0
    for element in elements:
        raw = bytes(element)
        start = record.raw.find(raw, position)
        line += record.raw.count(b"\n", position, start)
        yield Record(record.file, line, compact(raw))
        line += raw.count(b"\n")
        position = start + len(raw)


def compact(raw: bytes) -> bytes:
    """Pretty-printed JSON without the white space between its tokens; the tokens stay as they are."""
    return msgspec.json.format(raw, indent=-1) if b"\n" in raw else raw


def _peek(stream: io.BufferedReader) -> bytes:
    try:
        return stream.peek(1 << 16)
    except CutOffError as error:
        raise InputError(f"{error}, and nothing in it could be read.") from error


def _check_encoding(name: str, head: bytes) -> None:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in head[:64]:
        kind = (
            "UTF-16 or UTF-32 text"
            if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"{" in head[:8]
            else "binary"
        )
        raise InputError(f"{name} is {kind}, not a UTF-8 log; convert it, for example with iconv -t UTF-8.")


def _is_yaml(start: bytes) -> bool:
    return re.match(rb"(---|interactions:|version:|[A-Za-z_]\w*:\s*(\n|\S))", start) is not None
