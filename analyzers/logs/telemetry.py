"""Trace spans with model calls: OpenTelemetry GenAI and OpenInference, as OTLP JSON or one span a record."""

from collections.abc import Mapping
from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.gen_ai import gen_ai_call, is_gen_ai
from analyzers.logs.open_inference import is_open_inference, open_inference_call
from analyzers.logs.prompt_values import Prompt, PromptValues
from analyzers.logs.reader import NOT_A_CALL, Carries, NotThisFormatError, Reader, Record
from analyzers.logs.span_calls import SpanCall, session_of, user_of
from analyzers.logs.spans import Span, flat, spans_of
from analyzers.logs.timestamps import read_time
from analyzers.request import Dialect, Identity, Log, Parameters, Part, PartKind, Request

_KEY_PARAMETERS = (
    "tool_choice",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "response_format",
    "cache_control",
)
REWRITTEN = (
    "Spans hold messages in their own words, which are written out as Chat messages: the prompts have the text "
    "that was sent, not its bytes."
)

NOT_CAPTURED = "Some spans hold no prompt, as content was not captured; of those only the usage is read."


class Telemetry(Reader):
    """Spans of OpenTelemetry's GenAI conventions; a file may mix them with OpenInference's."""

    name = "opentelemetry"
    title = "OpenTelemetry GenAI spans"
    carries = Carries(text="if content was captured", tools="if captured", usage="yes", times="yes")
    keys = ("resourceSpans", "traceId", "spanId", "name", "startTimeUnixNano", "attributes", "events")
    reach = "record"

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        super().__init__(log, mapping)
        self._values = PromptValues(log.parts)
        self._message = log.parts.interner(Dialect.OPENAI_CHAT, PartKind.MESSAGE)

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        if isinstance(record.get("resourceSpans", record.get("resource_spans")), list):
            return 0.9
        attributes = record.get("attributes")
        if not isinstance(attributes, dict | list):
            return 0
        names = _names(attributes)
        if is_gen_ai(dict.fromkeys(names)):
            return 1
        return 0.3 if {"context", "spanId", "span_id", "span_kind"} & record.keys() else 0

    def read(self, record: Record) -> None:
        spans = spans_of(record.raw)
        self.log.records += max(len(spans) - 1, 0)
        if not spans:
            self.log.skip(record.file, record.line, NOT_A_CALL)
        for span in spans:
            try:
                self._read_span(record, span)
            except NotThisFormatError as error:
                self.log.skip(record.file, record.line, error.reason, error.detail)
            except msgspec.DecodeError as error:
                self.log.skip(record.file, record.line, "unexpected shape", str(error))

    def _read_span(self, record: Record, span: Span) -> None:
        call = _call_of(span)
        if call is None:
            self.log.skip(record.file, record.line, NOT_A_CALL)
            return
        if not call.has_prompt and not call.usage:
            self.log.skip(record.file, record.line, "no prompt", "the span holds neither content nor usage")
            return
        prompt = self._prompt(call)
        self.log.requests.append(
            Request(
                request_id=span.span_id or f"{record.file}:{record.line}",
                file=record.file,
                line=record.line,
                dialect=prompt.dialect,
                parts=prompt.parts,
                time_ns=read_time(span.start, self.log),
                end_ns=read_time(span.end, self.log),
                model=call.model,
                provider=call.provider,
                identity=Identity(session=session_of(span), user=user_of(span), route=span.service),
                parameters=prompt.parameters or _parameters(call),
                output=self._answer(call, prompt.dialect),
                usage=usage_of(call.usage) if call.usage else None,
            )
        )

    def _prompt(self, call: SpanCall) -> Prompt:
        parts = self.log.parts
        if call.whole_input is not None:
            return self._values.prompt(msgspec.json.encode(call.whole_input))
        if call.prompt is not None and not call.messages:
            return Prompt(Dialect.TEXT, (parts.intern(Dialect.TEXT, PartKind.TEXT, call.prompt.encode()),))
        if not call.messages:
            self.log.note(NOT_CAPTURED)
            return Prompt(Dialect.TEXT, ())
        self.log.note(REWRITTEN)
        messages = [self._message(msgspec.json.encode(message)) for message in call.messages]
        if call.tools:
            tools = parts.intern(Dialect.OPENAI_CHAT, PartKind.TOOLS, msgspec.json.encode(call.tools))
            messages.insert(0, tools)
        return Prompt(Dialect.OPENAI_CHAT, tuple(messages))

    def _answer(self, call: SpanCall, dialect: Dialect) -> Part | None:
        if call.answer is None:
            return None
        raw = msgspec.json.encode(call.answer)
        if dialect is Dialect.TEXT:
            raw = str(call.answer.get("content") or "").encode()
        return self.log.parts.intern(dialect, PartKind.RESPONSE, raw)


class OpenInference(Telemetry):
    """Spans of OpenInference's conventions; a file may mix them with OpenTelemetry's."""

    name = "openinference"
    title = "OpenInference spans"
    keys = ("name", "context", "span_kind", "parent_id", "start_time", "end_time", "attributes")

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        names = list(_names(record.get("attributes") or {}))
        names += [name.removeprefix("attributes.") for name in record if name.startswith("attributes.")]
        if is_open_inference(dict.fromkeys(names)):
            return 1
        return 0


def _call_of(span: Span) -> SpanCall | None:
    """The call in the words of the conventions that tell its prompt; some spans follow both."""
    if not is_open_inference(span.attributes):
        return gen_ai_call(span)
    call = open_inference_call(span)
    if call is not None and not call.messages and is_gen_ai(span.attributes):
        other = gen_ai_call(span)
        if other is not None and other.has_prompt:
            return other
    return call


def _names(attributes: Any) -> list[str]:
    if isinstance(attributes, dict):
        return [name for name, _ in flat(attributes)]
    if isinstance(attributes, list):
        return [str(pair.get("key")) for pair in attributes if isinstance(pair, dict)]
    return []


def _parameters(call: SpanCall) -> Parameters:
    return tuple(
        (name, msgspec.json.encode(call.parameters[name]))
        for name in _KEY_PARAMETERS
        if call.parameters.get(name) is not None
    )
