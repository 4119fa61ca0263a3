"""Rows of logged calls as requests: the reader that all dialects of request bodies share."""

from functools import lru_cache
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET

from analyzers.logs.answers import Answer, read_answer, usage_of
from analyzers.logs.assembly import Assembler
from analyzers.logs.body import Body, Row, sent
from analyzers.logs.call import IDENTITY_IN_BODY, Call, call_of_row, value_of
from analyzers.logs.dialects import dialect_of_body, dialect_of_url, model_in_url, provider_of
from analyzers.logs.identity import IDENTITY_NAMES, fields_in_headers, headers_of, identity_of
from analyzers.logs.reader import FAILED_CALL, NOT_A_CALL, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import read_time
from analyzers.request import NOBODY, Dialect, Identity, Log, Parameters, Part, Request

BAD_ANSWER = "Some responses could not be read; their requests have neither usage nor output."
STORED_HISTORY = "Some requests continue a stored conversation (previous_response_id): the earlier turns are not in the log."
_ROW = msgspec.json.Decoder(Row)
_OUTLINE_DEPTH = 5
_OUTLINE_TEXT = 256
_TIMES = ("timestamp", "time", "ts", "start_time", "start_time_camel", "created_at", "created")


def dialect_of_call(call: Call, prefer: Dialect | None = None) -> Dialect:
    """The dialect of a call. Raises NotThisFormatError for what is no model call or has no prompt."""
    if call.url is not None:
        try:
            dialect = dialect_of_url(call.url)
        except KeyError:
            raise NotThisFormatError(NOT_A_CALL, call.url) from None
        if dialect is not None:
            return dialect
    found = dialect_of_body(call.body, call.provider, prefer)
    if found is None:
        raise NotThisFormatError("no prompt", "it has no messages, input, contents or prompt")
    return found


class Calls:
    """Makes requests of calls; what repeats from call to call is worked out once."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.assembler = Assembler(log.parts)
        self._identities: dict[tuple[Any, ...], Identity] = {}
        self._header_parameters: dict[bytes, tuple[dict[str, str], Parameters]] = {}

    def add(self, record: Record, call: Call, dialect: Dialect) -> Request | None:
        """Append the request of a call to the log, or skip it if the call failed (then None)."""
        answer = call.answer or Answer()
        if answer.failed:
            self.log.skip(record.file, record.line, FAILED_CALL, answer.failed)
            return None
        request = self.request(record, call, dialect)
        self.log.requests.append(request)
        return request

    def request(self, record: Record, call: Call, dialect: Dialect) -> Request:
        """The request of a call. Raises NotThisFormatError if it has no prompt."""
        parts, parameters = self.assembler.assemble(dialect, call.body)
        return self._request(record, call, dialect, parts, parameters)

    def bare_request(self, record: Record, call: Call, dialect: Dialect) -> Request:
        """The request of a call whose prompt is not in the log."""
        return self._request(record, call, dialect, (), ())

    def _request(
        self, record: Record, call: Call, dialect: Dialect, parts: tuple[Part, ...], parameters: Parameters
    ) -> Request:
        body = call.body
        fields: dict[str, str] = {}
        if call.headers is not None:
            fields, header_parameters = self._headers(call.headers)
            parameters += header_parameters
        if body.previous_response_id is not UNSET and sent(body.previous_response_id):
            self.log.note_incomplete(STORED_HISTORY)
        model = body.model or body.model_id or (model_in_url(call.url) if call.url else None)
        request = Request(
            request_id=call.request_id or f"{record.file}:{record.line}",
            file=record.file,
            line=record.line,
            dialect=dialect,
            parts=parts,
            time_ns=read_time(call.time, self.log),
            model=model,
            provider=call.provider or provider_of(call.url, dialect, model, body),
            identity=self._identity(
                body, {**call.identity, **fields} if fields else call.identity, call.labels
            ),
            parameters=parameters,
        )
        if call.first_token is not None:
            request.first_token_ns = read_time(call.first_token, self.log)
        if call.ended is not None:
            request.end_ns = read_time(call.ended, self.log)
        if call.answer is not None:
            self.complete(request, call.answer)
        return request

    def complete(self, request: Request, answer: Answer) -> None:
        """Fill in what an answer tells about its request."""
        if answer.output is not None:
            request.output = self.assembler.output(request.dialect, answer.output)
        request.usage = answer.usage
        request.model = request.model or answer.model
        if request.time_ns is None and answer.created is not None:
            request.time_ns = read_time(answer.created, self.log)
        if answer.first_token is not None:
            request.first_token_ns = read_time(answer.first_token, self.log)
        if answer.ended is not None and request.end_ns is None:
            request.end_ns = read_time(answer.ended, self.log)

    def answer(self, raw: bytes) -> Answer:
        """The answer in a logged response; an empty one, noted, where it cannot be read."""
        try:
            return read_answer(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.log.note(BAD_ANSWER)
            return Answer()

    def _identity(self, body: Body, fields: dict[str, Any], labels: dict[str, Any]) -> Identity:
        own = tuple(IDENTITY_IN_BODY.sent(body))
        metadata = sent(body.metadata)
        if not own and metadata is None and not fields and not labels:
            return NOBODY
        key = (own, metadata, tuple(fields.items()), tuple(labels.items()))
        identity = self._identities.get(key)
        if identity is None:
            named = {name: value_of(raw) for name, raw in own}
            inside = value_of(metadata) if metadata else None
            if isinstance(inside, dict):
                named |= {name: inside[name] for name in IDENTITY_NAMES.intersection(inside)}
            named |= {name: value_of(v) for name, v in fields.items()}
            identity = identity_of(named, {name: value_of(v) for name, v in labels.items()})
            self._identities[key] = identity
        return identity

    def _headers(self, raw: bytes) -> tuple[dict[str, str], Parameters]:
        known = self._header_parameters.get(raw)
        if known is None:
            headers = headers_of(raw)
            beta = headers.get("anthropic-beta")
            parameters = (("anthropic-beta", msgspec.json.encode(beta)),) if beta else ()
            known = self._header_parameters[raw] = (fields_in_headers(headers), parameters)
        return known


class CallReader(Reader):
    """Reads rows whose request is a body of one dialect: bare, beside its response, or in an HTTP exchange."""

    reach = "record"
    dialect: ClassVar[Dialect]

    def __init__(self, log: Log, mapping: Any) -> None:
        super().__init__(log, mapping)
        self._calls = Calls(log)

    def read(self, record: Record) -> None:
        """Read one row."""
        row = _ROW.decode(record.raw)
        call = call_of_row(row)
        dialect = dialect_of_call(call, prefer=self.dialect)
        if dialect is not self.dialect:
            raise NotThisFormatError("unknown format", f"this record looks like {dialect}")
        raw = sent(row.response) or sent(row.response_body)
        if raw is not None:
            call.answer = self._calls.answer(raw)
        usage = sent(row.usage)
        if usage is not None and (call.answer is None or call.answer.usage is None):
            call.answer = call.answer or Answer()
            counters = value_of(usage)
            call.answer.usage = usage_of(counters if isinstance(counters, dict) else None)
        self._calls.add(record, call, dialect)


def score_of(record: Any, dialect: Dialect) -> float:
    """How surely a decoded record is a row with a call of this dialect."""
    found = _dialect_and_score(msgspec.json.encode(_outline(record))) if isinstance(record, dict) else None
    return found[1] if found and found[0] is dialect else 0.0


def _outline(value: Any, depth: int = 0) -> Any:
    """A record with the first element of its lists and the beginning of its texts, as far as dialects differ."""
    if isinstance(value, dict):
        return {k: _outline(v, depth + 1) for k, v in value.items()} if depth < _OUTLINE_DEPTH else {}
    if isinstance(value, list):
        return [_outline(item, depth + 1) for item in value[:1]] if depth < _OUTLINE_DEPTH else []
    if isinstance(value, str) and value[:1] != "{":  # a body may stand in a text
        return value[:_OUTLINE_TEXT]
    return value


@lru_cache(maxsize=16)
def _dialect_and_score(raw: bytes) -> tuple[Dialect, float] | None:
    try:
        row = _ROW.decode(raw)
        call = call_of_row(row)
        dialect = dialect_of_call(call)
    except (msgspec.DecodeError, NotThisFormatError):
        return None
    body = call.body
    if dialect is Dialect.OPENAI_RESPONSES and (sent(body.input) or b"")[:1] not in (b"[", b'"'):
        return None
    if call.url is not None or body.model or body.model_id or body is not row:
        return dialect, 0.9
    if dialect in (Dialect.ANTHROPIC, Dialect.BEDROCK, Dialect.GEMINI) or body.tools is not UNSET:
        return dialect, 0.8
    return dialect, 0.1 if dialect is Dialect.OPENAI_RESPONSES else 0.4
