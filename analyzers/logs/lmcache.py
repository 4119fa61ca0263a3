"""LMCache agent traces: `{timestamp, input, output, session_id}`, the whole prompt as one text.

Timestamps are microseconds since 1970. Rows mostly lie out of time order. As read from the public traces of
October 2025.
"""

from typing import Any

import msgspec

from analyzers.logs.reader import Carries, Reader, Record
from analyzers.logs.timestamps import read_time
from analyzers.request import Dialect, Identity, PartKind, Request


class _Row(msgspec.Struct):
    input: str
    output: str | None = None
    session_id: str | None = None
    timestamp: Any = None


_ROW = msgspec.json.Decoder(_Row)


class LMCache(Reader):
    name = "lmcache"
    title = "LMCache agent trace"
    carries = Carries(text="yes, as one string", tools="no", usage="no", times="yes")
    keys = ("timestamp", "input", "output", "session_id")
    reach = "record"

    @staticmethod
    def matches(record: Any) -> float:
        return float(
            isinstance(record, dict)
            and isinstance(record.get("input"), str)
            and record.keys() <= {"timestamp", "input", "output", "session_id"}
            and {"session_id", "timestamp"} <= record.keys()
        )

    def read(self, record: Record) -> None:
        row = _ROW.decode(record.raw)
        parts = self.log.parts
        output = None
        # An empty output stands for one that was not kept.
        if row.output:
            output = parts.intern(Dialect.TEXT, PartKind.RESPONSE, row.output.encode())
        self.log.requests.append(
            Request(
                request_id=f"{row.session_id or record.file}:{record.line}",
                file=record.file,
                line=record.line,
                dialect=Dialect.TEXT,
                parts=(parts.intern(Dialect.TEXT, PartKind.TEXT, row.input.encode()),),
                time_ns=read_time(row.timestamp, self.log),
                identity=Identity(session=row.session_id),
                output=output,
            )
        )
