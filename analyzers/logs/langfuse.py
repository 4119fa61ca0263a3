"""Langfuse exports: observations (UI, API and blob storage), traces with their observations, ingestion events.

Only observations of type GENERATION are calls. The same fields come in camelCase (API, UI) and snake_case (blob
storage). `usageDetails` counts cached tokens beside `input`. Field names: Langfuse API reference and exports,
read November 2026.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.prompt_values import Prompt, PromptValues
from analyzers.logs.reader import NOT_A_CALL, Carries, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import read_time
from analyzers.request import Dialect, Identity, Log, Request
from analyzers.usage import Usage

NO_INPUT = "Some generations hold no input; of those only the usage is read."
_OBSERVATION_TYPES = (
    "GENERATION",
    "SPAN",
    "EVENT",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
)
_INGESTED = (
    "generation-create",
    "generation-update",
    "span-create",
    "span-update",
    "event-create",
    "trace-create",
)
# Langfuse's own names of counters that it takes out of `input`, in the words of the providers.
_COUNTER_NAMES: dict[object, str] = {
    "input_cached_tokens": "cache_read_input_tokens",
    "input_cache_read": "cache_read_input_tokens",
    "input_cache_creation": "cache_creation_input_tokens",
    "input_cache_write": "cache_creation_input_tokens",
}
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
Fields = Mapping[str, msgspec.Raw]


class Langfuse(Reader):
    name = "langfuse"
    title = "Langfuse export"
    carries = Carries(text="yes", tools="if traced", usage="yes", times="yes")
    keys = ("id", "traceId", "type", "name", "startTime", "input", "output", "model", "usageDetails")
    reach = "record"

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        super().__init__(log, mapping)
        self._values = PromptValues(log.parts)

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        if isinstance(record.get("body"), dict) and record.get("type") in _INGESTED:
            return 1
        if record.get("type") in _OBSERVATION_TYPES and ("traceId" in record or "trace_id" in record):
            return 1
        observations = record.get("observations")
        return float(
            isinstance(observations, list)
            and ("htmlPath" in record or "projectId" in record or "id" in record)
        )

    def read(self, record: Record) -> None:
        fields = _FIELDS.decode(record.raw)
        if "observations" in fields:
            observations = [_FIELDS.decode(each) for each in _LIST.decode(fields["observations"])]
            self.log.records += max(len(observations) - 1, 0)
            if not observations:
                raise NotThisFormatError("no observations")
            trace = {name: fields[name] for name in ("sessionId", "userId") if name in fields}
            for observation in observations:
                self._read_or_skip(record, trace | observation)
            return
        if "body" in fields:
            kind = _text(fields, "type")
            body = _FIELDS.decode(fields["body"])
            if kind != "generation-create":
                self.log.skip(record.file, record.line, NOT_A_CALL)
                return
            fields = body | {"type": msgspec.Raw(b'"GENERATION"')}
        self._read(record, fields)

    def _read_or_skip(self, record: Record, fields: Fields) -> None:
        try:
            self._read(record, fields)
        except NotThisFormatError as error:
            self.log.skip(record.file, record.line, error.reason, error.detail)
        except msgspec.DecodeError as error:
            self.log.skip(record.file, record.line, "unexpected shape", str(error))

    def _read(self, record: Record, fields: Fields) -> None:
        if _text(fields, "type") != "GENERATION":
            self.log.skip(record.file, record.line, NOT_A_CALL)
            return
        prompt_raw, usage = _raw(fields, "input"), _usage(fields)
        if prompt_raw is not None:
            prompt = self._values.prompt(prompt_raw)
        elif usage is not None:
            prompt = Prompt(Dialect.TEXT, ())
            self.log.note(NO_INPUT)
        else:
            raise NotThisFormatError("no prompt", "the generation has neither input nor usage")
        output = _raw(fields, "output")
        self.log.requests.append(
            Request(
                request_id=_text(fields, "id") or f"{record.file}:{record.line}",
                file=record.file,
                line=record.line,
                dialect=prompt.dialect,
                parts=prompt.parts,
                time_ns=read_time(_text(fields, "startTime", "start_time"), self.log),
                first_token_ns=read_time(
                    _text(fields, "completionStartTime", "completion_start_time"), self.log
                ),
                end_ns=read_time(_text(fields, "endTime", "end_time"), self.log),
                model=_text(fields, "model", "provided_model_name", "providedModelName"),
                identity=Identity(
                    session=_text(fields, "sessionId", "session_id", "traceId", "trace_id"),
                    user=_text(fields, "userId", "user_id"),
                    route=_text(fields, "name"),
                ),
                parameters=prompt.parameters,
                output=None if output is None else self._values.answer(prompt.dialect, output),
                usage=usage,
            )
        )


def _usage(fields: Fields) -> Usage | None:
    for name in ("usageDetails", "usage_details", "usage"):
        raw = _raw(fields, name)
        if raw is None:
            continue
        counters = msgspec.json.decode(raw)
        if isinstance(counters, str):
            counters = msgspec.json.decode(counters)
        if isinstance(counters, dict) and counters:
            return usage_of({_COUNTER_NAMES.get(key, str(key)): count for key, count in counters.items()})
    return None


def _raw(fields: Fields, *names: str) -> bytes | None:
    for name in names:
        raw = fields.get(name)
        if raw is not None and bytes(raw) not in (b"null", b'""'):
            return bytes(raw)
    return None


def _text(fields: Fields, *names: str) -> str | None:
    raw = _raw(fields, *names)
    value = None if raw is None else msgspec.json.decode(raw)
    return None if value is None else str(value)
