"""AIBrix workload files: `{timestamp, requests: [{"Prompt Length", "Output Length", prompt}]}`, several calls a line.

Timestamps are milliseconds from the start of the workload. As read from the public generator, 2025.
"""

from typing import Any

import msgspec

from analyzers.errors import CannotEvaluateError
from analyzers.logs.answers import usage_of
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import read_time
from analyzers.request import Dialect, Identity, PartKind, Request

NO_CONTENT = "lengths without content"
LENGTHS_ALONE = (
    "The log gives the lengths of its prompts but neither text, token ids nor block ids, so nothing can be said "
    "about what they share; log the prompts, or block hashes as in a Mooncake trace."
)


class _Call(msgspec.Struct):
    prompt: str | None = None
    prompt_length: int | None = msgspec.field(name="Prompt Length", default=None)
    output_length: int | None = msgspec.field(name="Output Length", default=None)
    model: str | None = None
    session_id: str | int | None = None


class _Line(msgspec.Struct):
    requests: list[_Call]
    timestamp: Any = None


_LINE = msgspec.json.Decoder(_Line)


class Aibrix(Reader):
    name = "aibrix"
    title = "AIBrix workload"
    carries = Carries(text="yes", tools="no", usage="lengths", times="yes")
    keys = ("timestamp", "requests")
    reach = "record"

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict) or not isinstance(record.get("requests"), list):
            return 0
        return float(
            bool(record["requests"])
            and all(
                isinstance(call, dict) and ("Prompt Length" in call or "prompt" in call)
                for call in record["requests"]
            )
        )

    def read(self, record: Record) -> None:
        line = _LINE.decode(record.raw)
        if not line.requests:
            raise NotThisFormatError("no requests")
        self.log.records += len(line.requests) - 1
        time_ns = read_time(line.timestamp, self.log, "ms")
        intern = self.log.parts.interner(Dialect.TEXT, PartKind.TEXT)
        for number, call in enumerate(line.requests, 1):
            if call.prompt is None:
                self.log.skip(record.file, record.line, NO_CONTENT)
                continue
            lengths = {"prompt_tokens": call.prompt_length, "completion_tokens": call.output_length}
            known = {name: length for name, length in lengths.items() if length is not None}
            self.log.requests.append(
                Request(
                    request_id=f"{record.file}:{record.line}/{number}",
                    file=record.file,
                    line=record.line,
                    dialect=Dialect.TEXT,
                    parts=(intern(call.prompt.encode()),),
                    time_ns=time_ns,
                    model=call.model,
                    identity=Identity(session=None if call.session_id is None else str(call.session_id)),
                    usage=usage_of(known) if known else None,
                )
            )

    def end_of_input(self) -> None:
        if not self.log.requests and NO_CONTENT in self.log.skipped:
            raise CannotEvaluateError(LENGTHS_ALONE)
