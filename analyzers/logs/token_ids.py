"""Logs of token ids: `{"prompt": [ids], "output": [ids]}` and the names that engines and trainers give them."""

from array import array
from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import read_time
from analyzers.request import Dialect, Identity, Part, PartKind, Request
from analyzers.usage import Usage

PROMPT_NAMES = (
    "prompt_token_ids",
    "prompt_tokens",
    "prompt_ids",
    "input_ids",
    "token_ids",
    "tokens",
    "prompt",
)
OUTPUT_NAMES = (
    "output_token_ids",
    "completion_token_ids",
    "response_token_ids",
    "generated_tokens",
    "output_tokens",
    "output_ids",
    "output",
)
_ID_NAMES = ("request_id", "id")
_TIME_NAMES = ("timestamp", "time", "ts", "arrival_time", "start_time")
_CACHED_NAMES = ("num_cached_tokens", "cached_tokens")
_SESSION_NAMES = ("session_id", "conversation_id", "session")
_RUN = 1024
"""Ids a part: prompts of one conversation then share their parts."""

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_IDS = msgspec.json.Decoder(list[int])


def id_bytes(raw: bytes | msgspec.Raw) -> bytes:
    """A JSON array of ids as little-endian uint32. Raises NotThisFormatError for ids that are none."""
    try:
        ids = array("I", _IDS.decode(raw))
    except msgspec.ValidationError as error:
        raise NotThisFormatError("token ids that are no whole numbers", str(error)) from error
    except OverflowError as error:
        raise NotThisFormatError("token ids out of range", "ids are 0 to 4294967295") from error
    return ids.tobytes()


class TokenIds(Reader):
    name = "token-ids"
    title = "Token-id log"
    carries = Carries(text="ids only", tools="no", usage="no", times="if given")
    keys = ("prompt", "output", "tokens", "token_ids", "prompt_token_ids")
    reach = "record"

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        for name in PROMPT_NAMES:
            value = record.get(name)
            if isinstance(value, list) and all(type(item) is int for item in value[:64]):
                return 0.9 if value or name in ("prompt_token_ids", "token_ids", "tokens") else 0.5
        return 0

    def read(self, record: Record) -> None:
        fields = _FIELDS.decode(record.raw)
        prompt = self._array(fields, "prompt", PROMPT_NAMES)
        if prompt is None:
            raise NotThisFormatError("no token ids")
        ids = id_bytes(prompt)
        output = self._array(fields, "output", OUTPUT_NAMES)
        intern = self.log.parts.interner(Dialect.TOKENS, PartKind.TOKENS)
        generated: Part | None = None if output is None else intern(id_bytes(output))
        size = 4 * _RUN
        self.log.requests.append(
            Request(
                request_id=self._text(fields, "id", _ID_NAMES) or f"{record.file}:{record.line}",
                file=record.file,
                line=record.line,
                dialect=Dialect.TOKENS,
                parts=tuple(intern(ids[start : start + size]) for start in range(0, len(ids), size)),
                time_ns=read_time(self._value(fields, "timestamp", _TIME_NAMES), self.log),
                model=self._text(fields, "model", ("model",)),
                identity=Identity(session=self._text(fields, "session", _SESSION_NAMES)),
                output=generated,
                usage=self._usage(fields, len(ids) // 4),
            )
        )

    def _usage(self, fields: dict[str, msgspec.Raw], prompt_tokens: int) -> Usage | None:
        usage = self._value(fields, "usage", ("usage",))
        if isinstance(usage, dict):
            return usage_of(usage)
        cached = self._value(fields, "cached_tokens", _CACHED_NAMES)
        if cached is None:
            return None
        return usage_of({"prompt_tokens": prompt_tokens, "cached_tokens": cached})

    def _array(self, fields: dict[str, msgspec.Raw], ours: str, names: tuple[str, ...]) -> msgspec.Raw | None:
        for name in (self.mapping[ours],) if ours in self.mapping else names:
            value = fields.get(name)
            if value is not None and memoryview(value)[0] == ord("["):
                return value
        return None

    def _value(self, fields: dict[str, msgspec.Raw], ours: str, names: tuple[str, ...]) -> Any:
        for name in (self.mapping[ours],) if ours in self.mapping else names:
            if name in fields:
                return msgspec.json.decode(fields[name])
        return None

    def _text(self, fields: dict[str, msgspec.Raw], ours: str, names: tuple[str, ...]) -> str | None:
        value = self._value(fields, ours, names)
        return str(value) if isinstance(value, str | int) else None
