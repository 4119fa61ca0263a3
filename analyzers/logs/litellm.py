"""LiteLLM's spend logs and its StandardLoggingPayload, which write the same call with different keys.

Fields as in LiteLLM's own logging tests and database schema, read November 2026. LiteLLM rewrites every
provider's bodies to Chat Completions before it logs them; its `cache_hit` speaks of its own response cache.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from analyzers.logs.answers import Answer, usage_of
from analyzers.logs.body import Body, Field, sent
from analyzers.logs.call import Call
from analyzers.logs.calls import Calls, dialect_of_call
from analyzers.logs.identity import IDENTITY_NAMES
from analyzers.logs.reader import (
    FAILED_CALL,
    GATEWAY_CACHE,
    NOT_A_CALL,
    Carries,
    NotThisFormatError,
    Reader,
    Record,
)
from analyzers.request import Dialect, Log

PROMPTS_NOT_STORED = "Some LiteLLM rows hold no messages (store_prompts_in_spend_logs is off); they count with their usage alone."
_CALLS = (
    "completion",
    "acompletion",
    "text_completion",
    "atext_completion",
    "responses",
    "aresponses",
    "anthropic_messages",
)
_CACHED = (True, "True", "true")


class _Row(Struct):
    id: str | None = None
    request_id: str | None = None
    call_type: str | None = None
    start_time: Any = msgspec.field(name="startTime", default=None)
    first_token_time: Any = msgspec.field(name="completionStartTime", default=None)
    end_time: Any = msgspec.field(name="endTime", default=None)
    model: str | None = None
    custom_llm_provider: str | None = None
    messages: Field = UNSET
    response: Field = UNSET
    proxy_server_request: Field = UNSET
    model_parameters: Field = UNSET
    metadata: Field = UNSET
    hidden_params: Field = UNSET
    cache_hit: Any = None
    status: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    spend: float | None = None
    response_cost: float | None = None
    user: str | None = None
    end_user: str | None = None
    team_id: str | None = None
    organization_id: str | None = None
    session_id: str | None = None
    trace_id: str | None = None
    api_base: str | None = None
    model_group: str | None = None
    model_id: str | None = None


_ROW = msgspec.json.Decoder(_Row)
_BODY = msgspec.json.Decoder(Body)
_MESSAGES = msgspec.json.Decoder(list[Raw])


class LiteLLM(Reader):
    """Spend log rows and StandardLoggingPayload objects."""

    name = "litellm"
    title = "LiteLLM spend logs and StandardLoggingPayload"
    carries = Carries(
        text="if prompts are stored", tools="if stored", usage="yes", times="start, first token, end"
    )
    keys = (
        "request_id",
        "call_type",
        "startTime",
        "endTime",
        "model",
        "metadata",
        "messages",
        "response",
        "spend",
    )
    reach = "record"

    def __init__(self, log: Log, mapping: Any) -> None:
        super().__init__(log, mapping)
        self._calls = Calls(log)

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return 1.0 if isinstance(record, dict) and "call_type" in record and "startTime" in record else 0.0

    def read(self, record: Record) -> None:
        """Read one row."""
        row = _ROW.decode(record.raw)
        if row.call_type and row.call_type not in _CALLS:
            raise NotThisFormatError(NOT_A_CALL, row.call_type)
        if row.cache_hit in _CACHED:
            self.log.skip(record.file, record.line, GATEWAY_CACHE)
            return
        if row.status == "failure":
            self.log.skip(record.file, record.line, FAILED_CALL)
            return
        body, stored = _body(row)
        response = _inside(row.response)
        answer = self._calls.answer(response) if response not in (b"{}", None) else Answer()
        metadata = _object(row.metadata)
        answer.usage = answer.usage or _usage(row, metadata)
        answer.created = None
        call = Call(
            body,
            request_id=row.request_id or row.id,
            provider=row.custom_llm_provider or None,
            time=row.start_time,
            first_token=row.first_token_time,
            ended=row.end_time,
            identity=_identity(row, metadata),
            labels={"model_group": row.model_group, "deployment": row.model_id, "api_base": row.api_base},
            answer=answer,
        )
        if not stored:
            self.log.note(PROMPTS_NOT_STORED)
            self.log.requests.append(self._calls.bare_request(record, call, Dialect.TEXT))
            return
        prefer = Dialect.ANTHROPIC if row.call_type == "anthropic_messages" else Dialect.OPENAI_CHAT
        found = dialect_of_call(Call(body), prefer)
        self._calls.add(record, call, prefer if body.messages else found)


def _body(row: _Row) -> tuple[Body, bool]:
    """The body, from the request as the proxy got it or from the messages, and whether it holds a prompt."""
    request = _inside(row.proxy_server_request)
    body = Body()
    if request is not None and request[:1] == b"{":
        inner = msgspec.json.decode(request, type=dict[str, Raw])
        body = _BODY.decode(inner.get("body", request))
    elif row.model_parameters is not UNSET and (parameters := _inside(row.model_parameters)):
        body = _BODY.decode(parameters)
    if not (body.messages or body.input is not UNSET or body.prompt is not UNSET):
        messages = _inside(row.messages)
        if messages is not None and messages[:1] == b"[":
            body.messages = _MESSAGES.decode(messages)
        elif messages is not None and messages[:1] == b'"':
            body.prompt = Raw(messages)
    body.model = row.model or body.model
    return body, bool(body.messages) or body.input is not UNSET or body.prompt is not UNSET


def _inside(value: Field) -> bytes | None:
    """The bytes of a JSON value that may stand as such or inside a string."""
    raw = sent(value)
    if raw is not None and raw[:1] == b'"':
        text: str = msgspec.json.decode(raw)
        return text.encode() if text[:1] in ("{", "[") else raw
    return raw


def _object(value: Field) -> dict[str, Any]:
    raw = _inside(value)
    decoded = msgspec.json.decode(raw) if raw is not None and raw[:1] == b"{" else {}
    return decoded if isinstance(decoded, dict) else {}


def _usage(row: _Row, metadata: dict[str, Any]) -> Any:
    counters = metadata.get("usage_object")
    if not isinstance(counters, dict):
        counters = {
            "prompt_tokens": row.prompt_tokens,
            "completion_tokens": row.completion_tokens,
            "total_tokens": row.total_tokens,
        }
    cost = row.spend if row.spend is not None else row.response_cost
    counters = {name: value for name, value in counters.items() if value is not None}
    return usage_of({**counters, "cost": cost} if cost is not None else counters)


def _identity(row: _Row, metadata: dict[str, Any]) -> dict[str, Any]:
    fields = {name: metadata[name] for name in IDENTITY_NAMES.intersection(metadata)}
    fields["organization_id"] = row.organization_id or metadata.get("user_api_key_org_id")
    fields["team_id"] = row.team_id or metadata.get("user_api_key_team_id")
    fields["user"] = row.end_user or row.user or metadata.get("user_api_key_user_id")
    fields["session_id"] = row.session_id or row.trace_id
    return {name: value for name, value in fields.items() if isinstance(value, str | int)}
