"""Anthropic Message Batches."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct

from analyzers.logs.answers import Answer
from analyzers.logs.batch_reader import BatchReader
from analyzers.logs.body import Body, Field, sent
from analyzers.logs.call import Call
from analyzers.logs.reader import Carries, NotThisFormatError, Record
from analyzers.request import Dialect


class _Asked(Struct):
    custom_id: str
    params: Body


class _Result(Struct):
    type: str
    message: Field = UNSET


class _AnthropicRow(Struct):
    custom_id: str | None = None
    params: Body | None = None
    result: _Result | None = None
    requests: list[_Asked] | None = None


_ANTHROPIC_ROW = msgspec.json.Decoder(_AnthropicRow)


class AnthropicBatch(BatchReader):
    """The body of a batch or its `{custom_id, params}` entries, and result rows `{custom_id, result}`."""

    name = "anthropic-batch"
    title = "Anthropic Message Batches (requests and results)"
    carries = Carries(text="yes", tools="yes", usage="in the results", times="no")
    keys = ("custom_id", "params", "result", "requests")

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        if not isinstance(record, dict):
            return 0.0
        if "custom_id" in record and ("params" in record or "result" in record):
            return 1.0
        requests = record.get("requests")
        first = requests[0] if isinstance(requests, list) and requests else None
        return 1.0 if isinstance(first, dict) and "custom_id" in first and "params" in first else 0.0

    def read(self, record: Record) -> None:
        """Read one row of either file, or a whole batch."""
        row = _ANTHROPIC_ROW.decode(record.raw)
        if row.requests:
            self.log.records += len(row.requests) - 1
            for asked in row.requests:
                self._ask(record, asked.custom_id, asked.params)
        elif row.custom_id is not None and row.params is not None:
            self._ask(record, row.custom_id, row.params)
        elif row.custom_id is not None and row.result is not None:
            message = sent(row.result.message)
            if message is None:
                self.answer(record, row.custom_id, Answer(failed=row.result.type))
            else:
                self.answer(record, row.custom_id, self._calls.answer(message))
        else:
            raise NotThisFormatError("no prompt", "it has neither params nor a result")

    def _ask(self, record: Record, custom_id: str, body: Body) -> None:
        call = Call(body, request_id=custom_id, provider="anthropic")
        self.ask(record, custom_id, call, Dialect.ANTHROPIC)
