"""One model call, normalised. Its parts stay exactly as they were sent, byte for byte.

A log re-sends the same messages many times, so a part is interned: the same bytes of the same kind are one
`Part` object, and everything derived from it (its rendering, its tokens, its chunks) is computed once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from analyzers.usage import Usage


class Dialect(StrEnum):
    """The shape of a request body, which says where its parts lie and how they are rendered."""

    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    BEDROCK = "bedrock-converse"
    TEXT = "text"
    TOKENS = "tokens"


class PartKind(StrEnum):
    """What a part of a request is."""

    SCHEMA = "schema"
    """The response schema: one JSON value."""
    TOOLS = "tools"
    """The whole list of tool definitions: one JSON array."""
    SYSTEM = "system"
    """A system prompt that is a field of its own (string or list of blocks)."""
    MESSAGE = "message"
    """One message (OpenAI, Anthropic, Bedrock), input item (Responses) or content (Gemini)."""
    TEXT = "text"
    """A whole prompt as plain UTF-8 text."""
    TOKENS = "tokens"
    """A run of token or block ids, little-endian uint32."""
    RESPONSE = "response"
    """What the model answered: one JSON value in the dialect of the request, or UTF-8 text."""


# Where the parts of each dialect lie in its body. A message's path gets its index appended.
_PATHS: dict[Dialect, dict[PartKind, str]] = {
    Dialect.OPENAI_CHAT: {
        PartKind.SCHEMA: "response_format",
        PartKind.TOOLS: "tools",
        PartKind.MESSAGE: "messages",
    },
    Dialect.OPENAI_RESPONSES: {
        PartKind.SCHEMA: "text.format",
        PartKind.TOOLS: "tools",
        PartKind.SYSTEM: "instructions",
        PartKind.MESSAGE: "input",
    },
    Dialect.ANTHROPIC: {
        PartKind.SCHEMA: "output_format",
        PartKind.TOOLS: "tools",
        PartKind.SYSTEM: "system",
        PartKind.MESSAGE: "messages",
    },
    Dialect.GEMINI: {
        PartKind.SCHEMA: "generationConfig.responseSchema",
        PartKind.TOOLS: "tools",
        PartKind.SYSTEM: "systemInstruction",
        PartKind.MESSAGE: "contents",
    },
    Dialect.BEDROCK: {
        PartKind.TOOLS: "toolConfig.tools",
        PartKind.SYSTEM: "system",
        PartKind.MESSAGE: "messages",
    },
    Dialect.TEXT: {PartKind.TEXT: "prompt"},
    Dialect.TOKENS: {PartKind.TOKENS: "prompt"},
}


@dataclass(slots=True, frozen=True, eq=False)
class Part:
    """A piece of a request body as sent. Interned by a PartStore, so identity is equality.

    `number` counts distinct parts from 0 in the order in which they first appeared. `raw` is the JSON
    value's own bytes (UTF-8 text for TEXT, little-endian uint32 for TOKENS).
    """

    number: int
    dialect: Dialect
    kind: PartKind
    raw: bytes

    def value(self) -> Any:
        """The part decoded: a JSON value with keys in the order sent, or text. Raises msgspec.DecodeError."""
        if self.kind is PartKind.TEXT:
            return self.raw.decode("utf-8", "surrogatepass")
        return msgspec.json.decode(self.raw)


class PartStore:
    """Interns parts: the same bytes of the same dialect and kind give the same Part object."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._by_raw: dict[tuple[Dialect, PartKind], dict[bytes, Part]] = {}

    def interner(self, dialect: Dialect, kind: PartKind) -> Callable[[bytes], Part]:
        """A function from raw bytes to their Part; fetch it once outside a loop."""
        known = self._by_raw.setdefault((dialect, kind), {})
        parts = self.parts

        def intern(raw: bytes) -> Part:
            part = known.get(raw)
            if part is None:
                part = known[raw] = Part(len(parts), dialect, kind, raw)
                parts.append(part)
            return part

        return intern

    def intern(self, dialect: Dialect, kind: PartKind, raw: bytes) -> Part:
        """The Part of these bytes."""
        return self.interner(dialect, kind)(raw)


@dataclass(slots=True, frozen=True)
class Identity:
    """Who sent a request and what it may share a cache with. None where the log does not say.

    `labels` holds whatever else a log says about a request that can explain a miss or group a report
    (upstream, region, client_version, prefix hashes ...), as (name, value) pairs sorted by name.
    """

    tenant: str | None = None
    workspace: str | None = None
    user: str | None = None
    session: str | None = None
    adapter: str | None = None
    cache_salt: str | None = None
    prompt_cache_key: str | None = None
    route: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


NOBODY = Identity()

Parameters = tuple[tuple[str, bytes], ...]
"""Parameters of the body that can change the rendered prompt or the cache key, as (dotted path, raw JSON) pairs
in the order sent: tool_choice, thinking, reasoning_effort, cache_control, prompt_cache_options, beta headers ...
"""


@dataclass(slots=True)
class Request:
    """One model call.

    Times are nanoseconds since 1970 (UTC), None where the log has none. `parts` stand in the order in
    which the provider renders them. `usage` is None where the log gives no figures at all.
    `output` holds the ids that were generated (kind TOKENS) or the answer as logged (kind RESPONSE).
    """

    request_id: str
    file: str
    line: int
    dialect: Dialect
    parts: tuple[Part, ...]
    time_ns: int | None = None
    first_token_ns: int | None = None
    end_ns: int | None = None
    model: str | None = None
    provider: str | None = None
    identity: Identity = NOBODY
    parameters: Parameters = ()
    output: Part | None = None
    usage: Usage | None = None

    def part_paths(self) -> Iterator[str]:
        """The JSON path of each part in the body, in the order of `parts`: `tools`, `messages[3]`, ..."""
        names = _PATHS[self.dialect]
        messages = 0
        for part in self.parts:
            name = names.get(part.kind, str(part.kind))
            if part.kind is PartKind.MESSAGE:
                yield f"{name}[{messages}]"
                messages += 1
            else:
                yield name

    def parameter(self, path: str) -> Any:
        """The decoded value of a parameter by its dotted path, None where it was not sent."""
        for name, raw in self.parameters:
            if name == path:
                return msgspec.json.decode(raw)
        return None


@dataclass(slots=True)
class SkippedRecord:
    """A record that gave no request, and why."""

    file: str
    line: int
    reason: str
    """A short kind that is counted, for example "not JSON" or "no prompt"."""
    detail: str = ""


@dataclass
class Log:
    """Everything read from the inputs: the requests in time order, and an account of every record.

    `records` = `len(requests)` + skipped + merged; `skipped` counts by reason, `examples` holds the first few.
    `merged` counts records that were folded into another one (a repeated row, an answer joined to its request).
    `unit` is the number of prompt tokens one id of a TOKENS part stands for: 1, or the block length of a
    hash-only trace, whose requests give their prompt length in tokens as `usage.prompt_tokens`.
    """

    requests: list[Request] = field(default_factory=list)
    parts: PartStore = field(default_factory=PartStore)
    records: int = 0
    merged: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    examples: list[SkippedRecord] = field(default_factory=list)
    formats: dict[str, str] = field(default_factory=dict)
    """Format name by file, in the order read."""
    notes: list[str] = field(default_factory=list)
    """What a reader of the figures must know: times missing, what a session file does not hold, ..."""
    unit: int = 1
    prompts_incomplete: bool = False
    """Whether prompts lack parts that were sent (a session file without the system prompt): figures in the log
    then count more than the content shows, and the two must not be compared."""

    def skip(self, file: str, line: int, reason: str, detail: str = "") -> None:
        """Count a record that gives no request; the first few of each reason are kept to be shown."""
        seen = self.skipped.get(reason, 0)
        self.skipped[reason] = seen + 1
        if seen < 3:
            self.examples.append(SkippedRecord(file, line, reason, detail))

    def note_incomplete(self, text: str) -> None:
        """Add a note that says what the prompts lack of what was sent."""
        self.prompts_incomplete = True
        self.note(text)

    def note(self, text: str) -> None:
        """Add a note once."""
        if text not in self.notes:
            self.notes.append(text)
