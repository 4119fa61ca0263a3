"""One row of a log as a call: its body, and what stands around it."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from analyzers.logs.answers import Answer
from analyzers.logs.body import Body, Exchange, Field, FieldSet, Row, sent
from analyzers.logs.identity import IDENTITY_NAMES

_BODY = msgspec.json.Decoder(Body)
_EXCHANGE = msgspec.json.Decoder(Exchange)
_NAMES_IN_BODY = ("prompt_cache_key", "prompt_cache_isolation_key", "cache_salt", "safety_identifier", "user")
IDENTITY_IN_BODY = FieldSet(_NAMES_IN_BODY)
_IDENTITY_IN_ROW = FieldSet(
    [n for n in Row.__struct_fields__ if n in IDENTITY_NAMES and n not in _NAMES_IN_BODY]
)
_LABELS = FieldSet(
    ("upstream", "region", "deployment", "replica", "host", "client_version", "version", "environment")
)
_STARTS = FieldSet(("timestamp", "time", "ts", "start_time", "start_time_camel", "created_at", "created"))
_FIRST_TOKENS = FieldSet(("first_token_at", "first_token_time"))
_ENDS = FieldSet(("end_time", "end_time_camel"))


@dataclass(slots=True)
class Call:
    """A body and what stands around it in the log."""

    body: Body
    url: str | None = None
    headers: bytes | None = None
    request_id: str | None = None
    provider: str | None = None
    time: Any = None
    first_token: Any = None
    ended: Any = None
    identity: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    answer: Answer | None = None


def call_of_row(row: Row) -> Call:
    """The call of a row, without its answer. Raises msgspec.DecodeError if a body in a string is no JSON."""
    exchange: Exchange = row
    request = row.request if row.request is not UNSET else row.request_body
    if request:
        exchange = _EXCHANGE.decode(request) if isinstance(request, str) else request
    body: Body = exchange
    if exchange.body:
        body = _BODY.decode(exchange.body) if isinstance(exchange.body, str) else exchange.body
    call = Call(
        body,
        headers=sent(exchange.headers),
        request_id=text_of(row.id) or text_of(row.request_id),
        provider=text_of(row.provider),
        time=_first(_STARTS, row),
        first_token=_first(_FIRST_TOKENS, row),
        ended=_first(_ENDS, row),
        labels=dict(_LABELS.sent(row)),
    )
    if call.time is None:
        call.time = value_of(exchange.timestamp)
    url = exchange.url or exchange.uri or row.url
    if url and (body is not row or row.method):
        call.url = url
    if body is not row:
        call.identity.update(IDENTITY_IN_BODY.sent(row))
    call.identity.update(_IDENTITY_IN_ROW.sent(row))
    return call


def _first(fields: FieldSet, row: Row) -> Any:
    for _, raw in fields.sent(row):
        value = msgspec.json.decode(raw)
        if value is not None:
            return value
    return None


def value_of(value: Any) -> Any:
    """The decoded value of raw JSON; None for a field that is missing; other values as they are."""
    if value is UNSET:
        return None
    return msgspec.json.decode(value) if isinstance(value, bytes | Raw) else value


def text_of(value: Field) -> str | None:
    """A text or number as text, None for anything else."""
    decoded = value_of(value)
    if isinstance(decoded, str):
        return decoded or None
    return str(decoded) if isinstance(decoded, int) and not isinstance(decoded, bool) else None
