"""What a rule found: which rule, where, on what evidence, what it loses, and what to do about it.

One shape for every source of evidence: a template's syntax tree, Python source, one request, two requests
compared, a whole log, usage figures. Reports (terminal, JSON, SARIF, JUnit …) take nothing else.

A finding holds no text of a prompt. The one exception is `Evidence.excerpt`, which reports leave out
unless the person asked for text.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum


class Level(StrEnum):
    """How bad: an error is refused by the provider or defeats the cache, a warning costs, an info may cost."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst level, so that findings sort worst first."""
        return _RANKS[self]


_RANKS = {Level.ERROR: 0, Level.WARNING: 1, Level.INFO: 2}


class Confidence(StrEnum):
    """Confirmed: a replay, a comparison or the provider's own figures show it. Suspected: one request or
    template looks like it."""

    CONFIRMED = "confirmed"
    SUSPECTED = "suspected"


class Safety(StrEnum):
    """Safe: the model sees the same content in the same order. Unsafe: content moves, a person must judge."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file, in a request, or both. None means that the place is not known to that detail.

    Lines and columns count from 1, columns in characters; `end_column` is the column after the last
    character. Offsets count from 0: characters inside the field that `json_path` names (or inside the file
    where there is no JSON path), tokens from the start of the rendered prompt.
    """

    path: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    json_path: str | None = None
    char_offset: int | None = None
    token_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the finding rests on: the requests compared and how far the cause reaches.

    `excerpt` quotes the prompt; reports show it only when asked to. `scope` is the widest group within
    which the value stays the same (global, release, day, tenant, user, session, turn, request).
    """

    request_id: str | None = None
    against_id: str | None = None
    affected_requests: tuple[str, ...] = ()
    requests_seen: int | None = None
    distinct_values: int | None = None
    scope: str | None = None
    excerpt: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters [start, end) of the file by `text`; offsets from 0 in the decoded file."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do, in one imperative sentence, and the edits that do it where a tool can."""

    advice: str
    edits: tuple[Edit, ...] = ()
    safety: Safety = Safety.UNSAFE


@dataclass(frozen=True, slots=True)
class Gain:
    """What the fix brings: tokens more that could be read from cache, proven by replay or estimated."""

    tokens: int
    proven: bool
    money: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `rule` is the id (`PC101`), `subject` what it is about (an expression, a JSON path, a
    parameter): with rule and path it identifies the finding from run to run, whatever the line.

    `tokens_lost` are prompt tokens that cannot be read from cache because of this: per request for a
    template or one request, over the whole log for a log (`Evidence.requests_seen` is set there). None when
    not known. `money_lost` is in US dollars, over the period that `money_per` names ("day", "log").
    """

    rule: str
    level: Level
    message: str
    location: Location
    subject: str = ""
    confidence: Confidence = Confidence.SUSPECTED
    evidence: Evidence = field(default_factory=Evidence)
    tokens_lost: int | None = None
    tokens_estimated: bool = False
    money_lost: Decimal | None = None
    money_per: str | None = None
    fix: Fix | None = None
    gain: Gain | None = None


def in_order(findings: list[Finding]) -> list[Finding]:
    """The findings sorted by file and position, the worse level first at one place: the order of reports."""
    return sorted(findings, key=_place)


def _place(finding: Finding) -> tuple[str, int, int, str, int, int, str, str]:
    place = finding.location
    return (
        place.path or "",
        place.line or 0,
        place.column or 0,
        place.json_path or "",
        place.char_offset or 0,
        finding.level.rank,
        finding.rule,
        finding.subject,
    )
