"""OpenAI Batch files."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct

from analyzers.logs.answers import Answer
from analyzers.logs.batch_reader import BatchReader
from analyzers.logs.body import Body, Field, sent
from analyzers.logs.call import Call
from analyzers.logs.calls import dialect_of_call
from analyzers.logs.reader import Carries, Record


class _OpenAIRow(Struct):
    custom_id: str
    url: str | None = None
    body: Body | None = None
    response: Field = UNSET
    error: Any = None


_OPENAI_ROW = msgspec.json.Decoder(_OpenAIRow)


class OpenAIBatch(BatchReader):
    """Input rows `{custom_id, method, url, body}` and output rows `{id, custom_id, response, error}`."""

    name = "openai-batch"
    title = "OpenAI Batch (input and output)"
    carries = Carries(text="yes", tools="yes", usage="in the output", times="of the answer")
    keys = ("custom_id", "method", "url", "body", "id", "response", "error")

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        if not isinstance(record, dict) or "custom_id" not in record:
            return 0.0
        return 1.0 if "body" in record or ("response" in record and "error" in record) else 0.0

    def read(self, record: Record) -> None:
        """Read one row of either file."""
        row = _OPENAI_ROW.decode(record.raw)
        if row.body is not None:
            call = Call(row.body, url=row.url, request_id=row.custom_id, provider="openai")
            self.ask(record, row.custom_id, call, dialect_of_call(call))
            return
        response = sent(row.response)
        if response is None or row.error:
            self.answer(record, row.custom_id, Answer(failed="error in the batch output"))
            return
        self.answer(record, row.custom_id, self._calls.answer(response))
