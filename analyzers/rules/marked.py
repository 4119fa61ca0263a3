"""What the marker rules ask of a prompt: its markers in order, and what stands before and between them."""

from collections.abc import Iterator

from analyzers.findings import Location
from analyzers.templates.parts import Marker, Part, Prompt, Text, Value

SECONDS = {"5m": 300, "1h": 3600, "30m": 1800, "12h": 43200}
"""The lifetimes that providers offer, in seconds (Anthropic and Bedrock: 5m, 1h; OpenAI from GPT-5.6: 30m, 12h;
documentation of August to November 2026)."""
MARKER_LIMIT = 4
"""Markers a request may carry at Anthropic, Bedrock and Alibaba; OpenAI writes as many (2026-08 to 2026-11)."""
LIFETIMES = {"anthropic": ("5m", "1h"), "bedrock": ("5m", "1h"), "openai": ("30m", "12h")}


def markers(prompt: Prompt) -> list[tuple[int, Marker]]:
    """The markers with their index among the parts, in rendered order."""
    return [(index, part) for index, part in enumerate(prompt.parts) if isinstance(part, Marker)]


def lifetime(marker: Marker, provider: str | None) -> str:
    """The marker's lifetime, the provider's default where it names none."""
    return marker.ttl or LIFETIMES.get(provider or "anthropic", LIFETIMES["anthropic"])[0]


def seconds(ttl: str) -> int | None:
    """A lifetime in seconds, None when it is none that a provider offers."""
    return SECONDS.get(ttl)


def shown_place(marker: Marker) -> str:
    """Where the marker stands, in words."""
    return marker.place.path or f"line {marker.span.line}"


def at(marker: Marker) -> Location:
    """The marker's location."""
    span = marker.span
    return Location(
        span.path, span.line, span.column, span.end_line, span.end_column, json_path=marker.place.path
    )


def texts(parts: tuple[Part, ...]) -> str:
    """The fixed text of the parts, joined."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def content(parts: tuple[Part, ...]) -> Iterator[Text | Value]:
    """The parts that print something."""
    for part in parts:
        if isinstance(part, Value) or (isinstance(part, Text) and part.text.strip()):
            yield part
