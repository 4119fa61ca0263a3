"""Text of one request that looks as if it differed in every request.

A pattern in a single request is a suspicion: a constant date looks like today's. So a pattern needs a sign that
the value is live (a label such as "current time", a place of its own), examples and quotations are left out, and
a value that stands in other requests too is known to be constant and silenced (`CheckContext.seen_elsewhere`).
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from analyzers.findings import Evidence, Finding, Fix, Level, Location
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import OFTEN
from analyzers.templates.parts import Marker, Prompt, Text, Value


@dataclass(frozen=True, slots=True)
class Sighting:
    """A pattern found in a text part: `kind` names it, [start, end) is the value inside the part's text."""

    kind: str
    start: int
    end: int
    value: str


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DATE = (
    r"(?:\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}"
    rf"|(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH},?\s+\d{{4}})|(?:{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}))"
)
_DAY_NAME = r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?\s+)?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s*[AaPp]\.?[Mm]\.?)?"
_LIVE_TIME = (
    r"(?:current(?:ly)?|now|right now|local|server|system|today|timestamp|generated|rendered|date and time)"
)

PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("time stamp", re.compile(rf"(?P<v>{_DAY_NAME}{_DATE}(?:T|,?\s+(?:at\s+)?)\d{{1,2}}:\d{{2}}:\d{{2}}(?:\.\d+)?(?:Z|[+-]\d{{2}}:?\d{{2}})?)", re.I)),
    ("time of day", re.compile(rf"\b{_LIVE_TIME}\b[^\n.]{{0,40}}?(?<![\d-])(?P<v>{_CLOCK})(?!\s*(?:-|–|to)\s*\d)", re.I)),
    ("time of day", re.compile(rf"\b(?:the time is|it is(?: now)?)\s(?P<v>{_CLOCK})(?!\s*(?:-|–|to)\s*\d)", re.I)),
    ("epoch time", re.compile(r"\b(?:time|timestamp|epoch|ts|now|generated)\b\W{0,6}(?P<v>1[5-9]\d{8}(?:\d{3})?)\b", re.I)),
    ("current date", re.compile(rf"\b(?:today(?:'s date)?(?:\s+is)?|current date(?:\s+is)?|date today|the date is|it is(?: now)?)\W{{0,4}}(?P<v>{_DAY_NAME}{_DATE})", re.I)),
    ("current date", re.compile(rf"(?:^|[\s(])(?P<v>(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+){_DATE})(?=[\s).,;]|$)", re.M)),
    ("current date", re.compile(rf"^[ \t]*(?P<v>{_DATE})[ \t]*$", re.I | re.M)),
    ("labelled id", re.compile(r"\b(?:session|request|trace|span|conversation|correlation|run|message|thread|transaction|nonce|cch|invocation)[ _-]?(?:id)?\s*[:=#]\s*[\"'\[]?(?P<v>(?=[\w-]*\d)[A-Za-z0-9][\w-]{7,})", re.I)),
    ("labelled id", re.compile(r"\b(?:sig|signature|nonce|cch|salt)\s*[:=]\s*[\"']?(?P<v>(?=[\w-]*\d)[\w-]{4,})", re.I)),
    ("labelled id", re.compile(r"\b(?:session|request|trace|span|conversation|correlation|invocation)(?:[ _-]id)?(?: is)? (?P<v>(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,32})\b", re.I)),
    ("UUID", re.compile(r"\b(?P<v>[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\b", re.I)),
    ("ULID", re.compile(r"\b(?P<v>[0-7](?=[0-9A-HJKMNP-TV-Z]*\d)(?=[0-9A-HJKMNP-TV-Z]*[A-Z])[0-9A-HJKMNP-TV-Z]{25})\b")),
    ("long hexadecimal id", re.compile(r"(?:^|[\[(<])(?P<v>(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,32})(?=[\])>]|\s*$)", re.M)),
    ("random-looking id", re.compile(r"(?:^|[\s\[(<:=#])(?P<v>(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[A-Za-z0-9_-]{20,36})(?=[\s\])>.,;]|$)", re.M)),
    ("counter", re.compile(r"\b(?:turn|message|iteration|attempt|round|request)\s*(?:no\.?|number|#)?\s*(?P<v>\d+\s*(?:of|/)\s*\d+)", re.I)),
    ("counter", re.compile(r"\b(?:tokens?|turns?|steps?|budget|time)\s+(?:left|remaining)\s*[:=]\s*(?P<v>[\d,]+)", re.I)),
    ("e-mail address", re.compile(r"\b(?:user|customer|account|signed in as|logged in as|on behalf of)\b[^\n@]{0,40}?(?P<v>[\w.+-]+@[\w-]+\.[\w.]+)", re.I)),
    ("user name", re.compile(r"\b(?:[Uu]ser(?:'s)?(?: name)?|[Cc]ustomer(?: name)?|[Ss]igned in as|[Ll]ogged in as|[Yy]ou are (?:helping|talking to|assisting))\s*(?:is\s|[:=])?\s*(?P<v>[A-Z][a-z]+ [A-Z][a-z]+)")),
)  # fmt: skip
_ANY = re.compile(r"\d|@|[Uu]ser|[Cc]ustomer|as [A-Z]|are ")
_NOT_LIVE = re.compile(
    r"(?:example|e\.g\.|for instance|sample|such as|effective|since|version|released?|published|expires?|until|"
    r"sha-?256|digest|commit|checksum|format|if the|https?://\S*)[^\n]{0,60}$",
    re.I,
)


def sightings(text: str) -> list[Sighting]:
    """The live-looking values of a text, in order; overlapping ones once, the first pattern winning."""
    if not _ANY.search(text):
        return []
    found: list[Sighting] = []
    quoted = _quoted(text)
    for kind, pattern in PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span("v")
            if any(s.start < end and start < s.end for s in found):
                continue
            if kind == "random-looking id" and _changes_of_kind(match["v"]) < _RANDOM_CHANGES * len(
                match["v"]
            ):
                continue
            before = text[max(0, start - 80) : start]
            if _NOT_LIVE.search(before) or any(a <= start < b for a, b in quoted):
                continue
            found.append(Sighting(kind, start, end, match["v"]))
    return sorted(found, key=lambda sighting: sighting.start)


_RANDOM_CHANGES = 0.45
"""Random tokens change between digits, small and capital letters at every other character; names in code seldom."""


def _changes_of_kind(token: str) -> int:
    kinds = ["0" if c.isdigit() else "a" if c.islower() else "A" if c.isupper() else "-" for c in token]
    return sum(a != b for a, b in itertools.pairwise(kinds))


_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`|\"[^\"\n]{0,200}\"|<example>.*?</example>", re.S)


def _quoted(text: str) -> list[tuple[int, int]]:
    """Stretches that quote: code, quotations, JSON strings."""
    return [match.span() for match in _QUOTED.finditer(text)]


def sighted_findings(
    rule: Rule, prompt: Prompt, context: CheckContext, kinds: set[str], advice: str
) -> Iterator[Finding]:
    """A finding for each value of these kinds in the tools or the system prompt, with what stands behind it.

    Behind the last marker nothing is cached, so nothing is said of what stands there.
    """
    marked = [i for i, part in enumerate(prompt.parts) if isinstance(part, Marker) and part.on != "automatic"]
    for index, part in enumerate(prompt.parts[: marked[-1]] if marked else prompt.parts):
        if not isinstance(part, Text) or part.place.section == "messages":
            continue
        for sighting in context.sightings_of(part):
            if sighting.kind not in kinds or sighting.value in context.seen_elsewhere:
                continue
            behind = part.text[sighting.end :] + "".join(
                later.text
                for later in prompt.parts[index + 1 :]
                if isinstance(later, Text) and later.place.section != "messages"
            )
            messages = any(
                isinstance(later, Text | Value) and later.place.section == "messages"
                for later in prompt.parts[index + 1 :]
            )
            lost = context.count_tokens(behind) if behind.strip() else 0
            level = min(rule.level, Level.WARNING, key=lambda level: -level.rank)
            if lost < OFTEN and not messages:
                level = Level.INFO
            where = part.place.path or "the prompt"
            yield rule.finding(
                f"{sighting.kind} in {where} at character {sighting.start}; if it differs from request to "
                f"request, {lost:,} tokens behind it{' and the messages' if messages else ''} are never read "
                "from cache",
                Location(
                    part.span.path,
                    part.span.line,
                    part.span.column,
                    json_path=part.place.path,
                    char_offset=sighting.start,
                ),
                level=level,
                subject=f"{where}:{sighting.kind}",
                tokens_lost=lost,
                evidence=Evidence(request_id=prompt.name or None, excerpt=sighting.value),
                fix=Fix(advice),
            )
