"""Trace spans, whichever way they were exported: OTLP JSON, or one flat object a span (console and file exporters)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from analyzers.logs.reader import NotThisFormatError

_PREFIX = "attributes."


@dataclass(slots=True)
class SpanEvent:
    name: str
    attributes: dict[str, Any]


@dataclass(slots=True)
class Span:
    """`attributes` are flat: nested objects become dotted names."""

    name: str
    span_id: str | None
    trace_id: str | None
    start: Any
    end: Any
    attributes: dict[str, Any]
    events: list[SpanEvent] = field(default_factory=list)
    service: str | None = None


def spans_of(raw: bytes) -> list[Span]:
    """The spans of a record. Raises NotThisFormatError if it holds none or they are no spans."""
    record = msgspec.json.decode(raw)
    try:
        return _spans(record)
    except (AttributeError, TypeError, ValueError) as error:
        raise NotThisFormatError("unexpected shape", str(error)) from error


def _spans(record: Any) -> list[Span]:
    if not isinstance(record, dict):
        raise NotThisFormatError("no span")
    groups = record.get("resourceSpans") or record.get("resource_spans")
    if isinstance(groups, list):
        return list(_otlp(groups))
    if not any(name in record for name in ("attributes", "span_kind", "spanId", "span_id", "context")):
        raise NotThisFormatError("no span")
    return [_span(record)]


def flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names of all values below an object; lists stay whole."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The objects of a list, kept whole or as attributes `prefix.0.x`, `prefix.1.x` ...; nested names are dotted."""
    whole = attributes.get(prefix)
    if isinstance(whole, list):
        return [dict(flat(each)) for each in whole if isinstance(each, dict)]
    found: dict[int, dict[str, Any]] = {}
    start = len(prefix) + 1
    for name, value in attributes.items():
        if name.startswith(prefix) and name[start - 1 : start] == ".":
            index, _, rest = name[start:].partition(".")
            if index.isdigit() and rest:
                found.setdefault(int(index), {})[rest] = value
    return [found[index] for index in sorted(found)]


def _otlp(groups: list[Any]) -> Iterator[Span]:
    for group in groups:
        service = dict(_attributes(group.get("resource", {}).get("attributes"))).get("service.name")
        for scope in group.get("scopeSpans") or group.get("scope_spans") or []:
            for record in scope.get("spans") or []:
                span = _span(record)
                span.service = service
                yield span


def _span(record: dict[str, Any]) -> Span:
    context = record.get("context") or record.get("spanContext") or {}
    if not isinstance(context, dict):
        context = {}

    def first(*names: str) -> Any:
        return next((record[name] for name in names if record.get(name) is not None), None)

    attributes = dict(_attributes(record.get("attributes")))
    for name, value in record.items():
        if name.startswith(_PREFIX):
            attributes.update(flat(value, name.removeprefix(_PREFIX)))
    resource = record.get("resource")
    resource_attributes = dict(_attributes(resource.get("attributes"))) if isinstance(resource, dict) else {}
    return Span(
        name=str(record.get("name") or ""),
        span_id=_id(first("spanId", "span_id") or context.get("span_id") or context.get("spanId")),
        trace_id=_id(first("traceId", "trace_id") or context.get("trace_id") or context.get("traceId")),
        start=first("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"),
        end=first("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"),
        attributes=attributes,
        events=[
            SpanEvent(str(event.get("name") or ""), dict(_attributes(event.get("attributes"))))
            for event in record.get("events") or []
            if isinstance(event, dict)
        ],
        service=resource_attributes.get("service.name"),
    )


def _attributes(attributes: Any) -> Iterator[tuple[str, Any]]:
    """Attributes in either form: an object, or OTLP's list of `{key, value: {stringValue: ...}}`."""
    if isinstance(attributes, str):
        attributes = msgspec.json.decode(attributes)
    if isinstance(attributes, dict):
        yield from flat(attributes)
    elif isinstance(attributes, list):
        for pair in attributes:
            if isinstance(pair, dict) and isinstance(pair.get("key"), str):
                yield from flat(_any_value(pair.get("value")), pair["key"])


def _any_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    for kind, inner in value.items():
        match kind:
            case "intValue":
                return int(inner)
            case "arrayValue":
                return [_any_value(each) for each in (inner or {}).get("values") or []]
            case "kvlistValue":
                pairs = (inner or {}).get("values") or []
                return {pair.get("key"): _any_value(pair.get("value")) for pair in pairs}
            case _:
                return inner
    return None


def _id(value: Any) -> str | None:
    return None if value is None else str(value)
