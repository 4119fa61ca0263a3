"""HAR archives, as browsers and proxies write them (HTTP Archive 1.2)."""

import base64
import binascii
from typing import Any

import msgspec

from analyzers.logs.calls import Calls
from analyzers.logs.exchanges import Exchange, take_exchanges
from analyzers.logs.identity import headers_of
from analyzers.logs.reader import Carries, Reader, Record
from analyzers.logs.timestamps import parse_time
from analyzers.request import Log


class HAR(Reader):
    """Of an archive's entries the model calls."""

    name = "har"
    title = "HAR archives"
    carries = Carries(text="yes", tools="yes", usage="yes", times="start, end")
    keys = ("log",)
    reach = "record"

    def __init__(self, log: Log, mapping: Any) -> None:
        super().__init__(log, mapping)
        self._calls = Calls(log)

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return 1.0 if isinstance(_entries(record), list) else 0.0

    def read(self, record: Record) -> None:
        """Read one archive."""
        entries = _entries(msgspec.json.decode(record.raw))
        take_exchanges(self._calls, self.log, record, entries, _exchange)


def _entries(record: Any) -> Any:
    inner = record.get("log") if isinstance(record, dict) else None
    return inner.get("entries") if isinstance(inner, dict) else None


def _exchange(entry: Any) -> Exchange:
    request, response = entry["request"], entry["response"]
    content = response.get("content") or {}
    text = content.get("text") or ""
    status = response.get("status")
    return Exchange(
        method=str(request.get("method") or "GET"),
        url=str(request.get("url") or ""),
        request_body=((request.get("postData") or {}).get("text") or "").encode("utf-8", "surrogatepass"),
        response_body=_content(text, content.get("encoding")),
        status=status if isinstance(status, int) else None,
        request_headers=headers_of(msgspec.json.encode(request.get("headers") or [])),
        response_headers=headers_of(msgspec.json.encode(response.get("headers") or [])),
        started=entry.get("startedDateTime"),
        ended=_ended(entry),
    )


def _content(text: str, encoding: Any) -> bytes:
    if encoding == "base64":
        try:
            return base64.b64decode(text)
        except binascii.Error:
            return b""
    return text.encode("utf-8", "surrogatepass")


def _ended(entry: Any) -> int | None:
    """Start plus `time` (milliseconds), in nanoseconds since 1970."""
    started, took = parse_time(entry.get("startedDateTime")), entry.get("time")
    if started is None or not isinstance(took, int | float) or took < 0:
        return None
    return started + round(took * 1_000_000)
