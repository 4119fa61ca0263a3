"""Plain tables of prompts: JSONL, CSV or Parquet with one prompt a row, its columns given by `--map` or guessed."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from analyzers.errors import UsageError
from analyzers.logs.answers import usage_of
from analyzers.logs.prompt_values import PromptValues
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record
from analyzers.logs.records import mend
from analyzers.logs.timestamps import read_time
from analyzers.request import Identity, Log, Request
from analyzers.usage import Usage

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "prompt": (
        "prompt",
        "messages",
        "input",
        "inputs",
        "text",
        "question",
        "query",
        "instruction",
        "content",
    ),
    "output": ("output", "response", "completion", "answer", "generated_text", "target"),
    "tools": ("tools", "functions"),
    "id": ("request_id", "id", "call_id"),
    "timestamp": ("timestamp", "time", "ts", "created_at", "created", "start_time", "startTime", "date"),
    "end": ("end_time", "endTime", "finished_at"),
    "model": ("model", "model_name", "model_id"),
    "provider": ("provider",),
    "session": ("session_id", "conversation_id", "thread_id", "session", "chat_id"),
    "user": ("user_id", "user"),
    "tenant": ("tenant_id", "tenant", "organization_id", "org_id", "customer_id"),
    "workspace": ("workspace_id", "workspace", "project_id"),
    "adapter": ("adapter", "lora", "lora_name"),
    "cache_salt": ("cache_salt",),
    "prompt_cache_key": ("prompt_cache_key",),
    "route": ("route", "endpoint", "agent"),
    "usage": ("usage",),
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "cached_tokens": ("cached_tokens", "cache_read_input_tokens"),
    "written_tokens": ("cache_creation_input_tokens", "cache_write_input_tokens"),
    "output_tokens": ("completion_tokens", "output_tokens"),
}
"""Our field -> the names it is looked for under, in this order, where `--map` does not name its column."""

_COUNTERS: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "prompt_tokens": lambda count: {"prompt_tokens": count},
    "cached_tokens": lambda count: {"cached_tokens": count},
    "written_tokens": lambda count: {"prompt_tokens_details": {"cache_write_tokens": count}},
    "output_tokens": lambda count: {"completion_tokens": count},
}
_MAY_BE_ANSWERS = ("text", "content")
_PATIENCE = 1000
"""Rows after which a mapped column that no row had is taken for a mistake."""
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Prompts(Reader):
    name = "prompts"
    title = "Table of prompts (JSONL, CSV, Parquet)"
    carries = Carries(text="yes", tools="if mapped", usage="if mapped", times="if mapped")
    keys = ("prompt", "input", "text", "timestamp", "model", "output")
    reach = "record"

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        super().__init__(log, mapping)
        unknown = sorted(set(mapping) - COLUMNS.keys())
        if unknown:
            raise UsageError(
                f"--map {unknown[0]}={mapping[unknown[0]]}: there is no field {unknown[0]}; "
                f"use one of {', '.join(COLUMNS)}."
            )
        self._values = PromptValues(log.parts)
        self._unseen = dict(mapping)
        self._columns: dict[str, None] = {}
        self._rows = 0

    @classmethod
    def check_mapping(cls, mapping: Mapping[str, str], records: Iterable[Record]) -> None:
        reader = cls(Log(), mapping)
        for record in records:
            try:
                reader._check_columns(_FIELDS.decode(mend(record.raw)))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if not reader._unseen:
                break
        reader.end_of_input()

    def trust_mapping(self) -> None:
        self._unseen = {}

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        if "role" in record:  # one message of a conversation
            return 0
        for name in COLUMNS["prompt"]:
            value = record.get(name)
            if isinstance(value, str | list) and value:
                # Bare messages are rather a Chat body; a row that tells its usage too is more than a usage row.
                if name == "messages" and "usage" not in record:
                    return 0.35
                return 0.2 if name in _MAY_BE_ANSWERS else 0.55
        return 0

    def read(self, record: Record) -> None:
        row = _FIELDS.decode(record.raw)
        self._check_columns(row)
        prompt_raw = self._raw(row, "prompt")
        if prompt_raw is None:
            raise NotThisFormatError("no prompt", "no column holds one; name it with --map prompt=COLUMN")
        model, provider = self._text(row, "model"), self._text(row, "provider")
        prompt = self._values.prompt(prompt_raw, self._tools(row), provider)
        output = self._raw(row, "output")
        self.log.requests.append(
            Request(
                request_id=self._text(row, "id") or f"{record.file}:{record.line}",
                file=record.file,
                line=record.line,
                dialect=prompt.dialect,
                parts=prompt.parts,
                time_ns=read_time(self._value(row, "timestamp"), self.log),
                end_ns=read_time(self._value(row, "end"), self.log),
                model=model,
                provider=provider,
                identity=Identity(
                    tenant=self._text(row, "tenant"),
                    workspace=self._text(row, "workspace"),
                    user=self._text(row, "user"),
                    session=self._text(row, "session"),
                    adapter=self._text(row, "adapter"),
                    cache_salt=self._text(row, "cache_salt"),
                    prompt_cache_key=self._text(row, "prompt_cache_key"),
                    route=self._text(row, "route"),
                ),
                parameters=prompt.parameters,
                output=None if output is None else self._values.answer(prompt.dialect, output),
                usage=self._usage(row),
            )
        )

    def end_of_input(self) -> None:
        if self._unseen and self._rows:
            ours, column = next(iter(self._unseen.items()))
            raise UsageError(
                f"--map {ours}={column}: the log has no column {column}; its columns are "
                f"{', '.join(self._columns)}."
            )

    def _check_columns(self, row: Mapping[str, msgspec.Raw]) -> None:
        self._rows += 1
        if not self._unseen:
            return
        self._columns.update(dict.fromkeys(row))
        self._unseen = {ours: column for ours, column in self._unseen.items() if _at(row, column) is None}
        if self._rows == _PATIENCE:
            self.end_of_input()

    def _tools(self, row: Mapping[str, msgspec.Raw]) -> bytes | None:
        raw = self._raw(row, "tools")
        if raw is not None and raw[:1] == b'"':
            raw = msgspec.json.decode(raw, type=str).strip().encode()
        return raw if raw is not None and raw[:1] == b"[" else None

    def _raw(self, row: Mapping[str, msgspec.Raw], ours: str) -> bytes | None:
        """The first column of the field that is there and not null."""
        for column in (self.mapping[ours],) if ours in self.mapping else COLUMNS[ours]:
            raw = _at(row, column)
            if raw is not None and raw != b"null":
                return raw
        return None

    def _value(self, row: Mapping[str, msgspec.Raw], ours: str) -> Any:
        raw = self._raw(row, ours)
        return None if raw is None else msgspec.json.decode(raw)

    def _text(self, row: Mapping[str, msgspec.Raw], ours: str) -> str | None:
        value = self._value(row, ours)
        return str(value) if isinstance(value, str | int | float) and value != "" else None

    def _usage(self, row: Mapping[str, msgspec.Raw]) -> Usage | None:
        usage = self._value(row, "usage")
        if isinstance(usage, str):
            try:
                usage = msgspec.json.decode(usage)
            except msgspec.DecodeError:
                usage = None
        if isinstance(usage, dict):
            return usage_of(usage)
        counters: dict[str, Any] = {}
        for ours, names in _COUNTERS.items():
            for column in (self.mapping[ours],) if ours in self.mapping else COLUMNS[ours]:
                value = _number(_at(row, column))
                if value is not None:
                    # A column the user named counts as inside the prompt; a found one as its name is documented.
                    counters |= names(value) if ours in self.mapping else {column: value}
                    break
        return usage_of(counters) if counters else None


def _number(raw: bytes | None) -> int | float | None:
    value = None if raw is None else msgspec.json.decode(raw)
    if isinstance(value, str) and value.strip().isdigit():
        return int(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _at(row: Mapping[str, msgspec.Raw], column: str) -> bytes | None:
    """The value of a column, or at a dotted path into the row's objects; None if there is none."""
    if column in row:
        return bytes(row[column])
    head, _, rest = column.partition(".")
    if not rest or head not in row:
        return None
    try:
        return _at(_FIELDS.decode(row[head]), rest)
    except msgspec.DecodeError:
        return None
