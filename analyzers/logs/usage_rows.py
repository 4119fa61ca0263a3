"""Rows that tell what calls used and not what was sent: usage exports, bare responses, cost reports."""

from dataclasses import replace
from typing import Any, Final

import msgspec

from analyzers.logs.answers import Answer, usage_of
from analyzers.logs.body import Body
from analyzers.logs.call import Call
from analyzers.logs.calls import Calls
from analyzers.logs.identity import IDENTITY_NAMES
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record
from analyzers.request import Dialect, Log
from analyzers.usage import normalise_usage

NO_PROMPTS: Final = (
    "The rows hold usage but no prompts: what could have been reused cannot be computed from them."
)
_USAGE_NAMES: Final = ("usage", "usageMetadata", "usage_metadata", "token_usage", "usage_details")
_TIMES: Final = ("timestamp", "time", "ts", "start_time", "startTime", "created_at", "created")
_FIRST_TOKEN: Final = ("first_token_at", "first_token_time", "completion_start_time", "completionStartTime")
_ENDS: Final = ("end_time", "endTime", "completed_at", "ended_at")
_COSTS: Final = ("reported_cost_usd", "cost_usd", "response_cost", "total_cost", "spend", "cost")
_IDS: Final = ("id", "request_id", "requestId")
_NOT_LABELS: Final = (
    frozenset(
        (*_USAGE_NAMES, *_TIMES, *_FIRST_TOKEN, *_ENDS, *_COSTS, *_IDS, "model", "modelVersion", "provider")
    )
    | frozenset(("response", "choices", "content", "output", "candidates", "object", "type", "role"))
    | IDENTITY_NAMES
)


class UsageRows(Reader):
    """Requests without a prompt. Whatever else a row says becomes a label of the request."""

    name = "usage"
    title = "Usage rows and bare responses (JSON, CSV, Parquet)"
    carries = Carries(text="no", tools="no", usage="yes", times="where the row has them")
    keys = ("id", "timestamp", "provider", "model", "usage", "session")
    reach = "record"

    def __init__(self, log: Log, mapping: Any) -> None:
        super().__init__(log, mapping)
        self._calls = Calls(log)

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        if not isinstance(record, dict):
            return 0.0
        if any(isinstance(record.get(name), dict) for name in _USAGE_NAMES):
            return 0.5
        response = record.get("response")
        if isinstance(response, dict) and any(isinstance(response.get(name), dict) for name in _USAGE_NAMES):
            return 0.3
        return 0.3 if normalise_usage(_numbers(record)).prompt_tokens is not None else 0.0

    def read(self, record: Record) -> None:
        """Read one row."""
        row = msgspec.json.decode(record.raw)
        if not isinstance(row, dict):
            raise NotThisFormatError("no usage", "it is no object")
        response = row.get("response")
        answer = self._calls.answer(record.raw)
        if answer.usage is None and isinstance(response, dict):
            answer = self._calls.answer(msgspec.json.encode(response))
        answer.usage = answer.usage or _usage(row)
        if answer.usage is None and not (row.get("model") or row.get("provider")):
            raise NotThisFormatError("no usage", "it states neither token counts nor a model")
        self._add_cost(row, answer)
        self.log.note(NO_PROMPTS)
        call = Call(
            Body(model=_first_text(row, ("model", "modelVersion"))),
            request_id=_first_text(row, _IDS),
            provider=_first_text(row, ("provider",)),
            time=_first(row, _TIMES),
            first_token=_first(row, _FIRST_TOKEN),
            ended=_first(row, _ENDS),
            identity={k: msgspec.json.encode(row[k]) for k in row if k in IDENTITY_NAMES},
            labels={k: msgspec.json.encode(row[k]) for k in row if k not in _NOT_LABELS},
            answer=answer,
        )
        self.log.requests.append(self._calls.bare_request(record, call, Dialect.TEXT))

    def _add_cost(self, row: dict[str, Any], answer: Answer) -> None:
        cost = _number(_first(row, _COSTS))
        if cost is not None and answer.usage is not None and answer.usage.reported_cost is None:
            reported = normalise_usage({"cost": cost}).reported_cost
            answer.usage = replace(answer.usage, reported_cost=reported)


def _usage(row: dict[str, Any]) -> Any:
    for name in _USAGE_NAMES:
        counters = row.get(name)
        if isinstance(counters, str) and counters[:1] == "{":
            counters = msgspec.json.decode(counters)
        if isinstance(counters, dict):
            return usage_of(counters)
    return usage_of(_numbers(row))


def _numbers(row: dict[str, Any]) -> dict[str, int]:
    """The columns that hold token counts, as numbers (CSV cells are text)."""
    return {k: n for k, v in row.items() if "token" in k.lower() and isinstance(n := _number(v), int)}


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int | float) and value == value else None


def _first(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _first_text(row: dict[str, Any], names: tuple[str, ...]) -> str | None:
    value = _first(row, names)
    return str(value) if isinstance(value, str | int) else None
