"""The invocation log that a Bedrock account writes: Converse and InvokeModel calls alike."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct

from analyzers.logs.answers import Answer, usage_of
from analyzers.logs.body import Body, Field, sent
from analyzers.logs.call import Call
from analyzers.logs.calls import Calls, dialect_of_call
from analyzers.logs.event_streams import response_of_events
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record
from analyzers.request import Dialect, Log

_PROVIDER = "bedrock"
_BODY = msgspec.json.Decoder(Body)


class _Side(Struct, rename="camel"):
    input_body_json: Field = UNSET
    output_body_json: Field = UNSET
    input_token_count: int | None = None
    output_token_count: int | None = None
    cache_read_input_token_count: int | None = None
    cache_write_input_token_count: int | None = None


class _Who(Struct):
    arn: str | None = None


class _Invocation(Struct, rename="camel"):
    schema_type: str
    model_id: str
    operation: str = ""
    timestamp: str | None = None
    request_id: str | None = None
    account_id: str | None = None
    region: str | None = None
    identity: _Who | None = None
    input: _Side = msgspec.field(default_factory=_Side)
    output: _Side = msgspec.field(default_factory=_Side)
    error_code: str | None = None


_INVOCATION = msgspec.json.Decoder(_Invocation)


class BedrockInvocationLog(Reader):
    """Model invocation logging to S3 or CloudWatch: one record a call, with either API's body in it.

    Records (schema 1.0, AWS documentation, 2026) count cached tokens beside the input.
    """

    name = "bedrock-log"
    title = "Bedrock model invocation log (Converse, InvokeModel)"
    carries = Carries(text="yes, below 100 kB", tools="yes", usage="yes", times="start")
    keys = ("schemaType", "timestamp", "accountId", "region", "requestId", "operation", "modelId", "input")
    reach = "record"

    def __init__(self, log: Log, mapping: Any) -> None:
        super().__init__(log, mapping)
        self._calls = Calls(log)

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return 1.0 if isinstance(record, dict) and record.get("schemaType") == "ModelInvocationLog" else 0.0

    def read(self, record: Record) -> None:
        """Read one invocation."""
        row = _INVOCATION.decode(record.raw)
        prompt = sent(row.input.input_body_json)
        if prompt is None:
            raise NotThisFormatError("no prompt", "the body was stored apart from the log or not at all")
        body = _BODY.decode(prompt)
        body.model = row.model_id
        answer = Answer(failed=row.error_code)
        output = sent(row.output.output_body_json)
        if output is not None:
            answer = self._calls.answer(_joined(output))
        counters = {
            "inputTokens": row.input.input_token_count,
            "cacheReadInputTokens": row.input.cache_read_input_token_count,
            "cacheWriteInputTokens": row.input.cache_write_input_token_count,
            "outputTokens": row.output.output_token_count,
        }
        answer.usage = answer.usage or usage_of({k: v for k, v in counters.items() if v is not None})
        call = Call(
            body,
            request_id=row.request_id,
            provider=_PROVIDER,
            time=row.timestamp,
            identity={"account_id": row.account_id, "user": row.identity.arn if row.identity else None},
            labels={"region": row.region},
            answer=answer,
        )
        prefer = Dialect.BEDROCK if row.operation.startswith("Converse") else None
        self._calls.add(record, call, dialect_of_call(call, prefer))


def _joined(output: bytes) -> bytes:
    """A streamed output is logged as the array of its events."""
    if output[:1] != b"[":
        return output
    events = msgspec.json.decode(output)
    response = response_of_events([event for event in events if isinstance(event, dict)])
    return msgspec.json.encode(response or {})
