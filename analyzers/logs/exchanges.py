"""Recorded HTTP exchanges as calls: what VCR cassettes and HAR archives share."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from analyzers.logs.answers import Answer, read_answer
from analyzers.logs.body import Body
from analyzers.logs.call import Call
from analyzers.logs.calls import Calls, dialect_of_call
from analyzers.logs.dialects import dialect_of_url
from analyzers.logs.event_streams import bedrock_events, response_of_events
from analyzers.logs.reader import NOT_A_CALL, NotThisFormatError, Record
from analyzers.request import Log

_BODY = msgspec.json.Decoder(Body)
_MAX_BODY = 2**28


@dataclass(slots=True)
class Exchange:
    """One HTTP exchange, bodies as bytes (perhaps still gzipped) and header names in lower case."""

    method: str
    url: str
    request_body: bytes
    response_body: bytes
    status: int | None = None
    request_headers: dict[str, str] = field(default_factory=dict)
    response_headers: dict[str, str] = field(default_factory=dict)
    started: Any = None
    ended: Any = None


def take_exchanges(
    calls: Calls, log: Log, record: Record, exchanges: Any, read: Callable[[Any], Exchange]
) -> None:
    """Account for every exchange of a document: a request for each model call, the others skipped.

    `read` makes an Exchange of one recorded exchange. A request's line is the exchange's number.
    """
    if not isinstance(exchanges, list):
        raise NotThisFormatError("unexpected shape", "it holds no list of exchanges")
    if not exchanges:
        log.skip(record.file, record.line, NOT_A_CALL, "no exchange was recorded")
        return
    log.records += len(exchanges) - 1
    for number, recorded in enumerate(exchanges, 1):
        place = record._replace(line=number)
        try:
            call = call_of_exchange(read(recorded))
            calls.add(place, call, dialect_of_call(call))
        except NotThisFormatError as error:
            log.skip(place.file, number, error.reason, error.detail)
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
            log.skip(place.file, number, "unexpected shape", str(error))


def call_of_exchange(exchange: Exchange) -> Call:
    """The model call in an exchange. Raises NotThisFormatError if it is none."""
    if exchange.method.upper() != "POST":
        raise NotThisFormatError(NOT_A_CALL, f"{exchange.method} {exchange.url}")
    try:
        dialect_of_url(exchange.url)
    except KeyError:
        raise NotThisFormatError(NOT_A_CALL, f"{exchange.method} {exchange.url}") from None
    raw = unpacked(exchange.request_body)
    if not raw:
        raise NotThisFormatError("no prompt", "the request body was not recorded")
    call = Call(
        _BODY.decode(raw),
        url=exchange.url,
        time=exchange.started or exchange.response_headers.get("date"),
        ended=exchange.ended,
        answer=_answer(exchange),
    )
    if exchange.request_headers:
        call.headers = msgspec.json.encode(exchange.request_headers)
    return call


def unpacked(body: bytes) -> bytes:
    """A body without its gzip encoding, if it has one. A cut one gives what could be read."""
    if body[:2] != b"\x1f\x8b":
        return body
    try:
        return zlib.decompressobj(wbits=31).decompress(body, _MAX_BODY)
    except zlib.error:
        return b""


def _answer(exchange: Exchange) -> Answer:
    if exchange.status is not None and exchange.status >= 400:
        return Answer(failed=f"HTTP {exchange.status}")
    raw = unpacked(exchange.response_body)
    if not raw.strip():
        return Answer()
    if "amazon.eventstream" in exchange.response_headers.get("content-type", ""):
        response = response_of_events(list(bedrock_events(raw)))
        return read_answer(msgspec.json.encode(response)) if response else Answer()
    start = raw.lstrip()
    if start[:1] == b"{":
        return read_answer(start)
    if start[:1] == b"[":  # Gemini streams an array of responses
        events = msgspec.json.decode(start)
        response = response_of_events([event for event in events if isinstance(event, dict)])
        return read_answer(msgspec.json.encode(response)) if response else Answer()
    return read_answer(msgspec.json.encode(raw.decode("utf-8", "replace")))
