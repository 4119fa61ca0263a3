"""Templates joined with a log: which variable really changes, how often, and within which group it stays.

A template is recognised in a logged prompt by its fixed texts, which stand there in order; what stands between
two of them are the values. A value that never differs is settled as constant, whatever its name suggests; one
that differs is confirmed, with the widest group (day, tenant, user, session) within which it stays the same.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analyzers.findings import Confidence, Evidence, Finding
from analyzers.request import Log, PartKind, Request
from analyzers.templates.parts import Part, Prompt, Scope, Source, Span, Text, Value

_SHORTEST_ANCHOR = 6
_TELLING_ANCHOR = 20
_DAY_NS = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class Variation:
    """How a value varied over the requests in which its template was recognised."""

    requests: int
    distinct: int
    scope: Scope


@dataclass
class LogEvidence:
    """Variations by place, and the scopes of the variables of each file that the log settles."""

    variations: dict[Span, Variation] = field(default_factory=dict)
    scopes: dict[str, dict[str, Scope]] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    """Requests in which the prompts of a file were recognised, by path."""


_Unit = str | tuple[Part, ...]
"""Fixed text too short to be looked for, or the parts of one value, loop or condition."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """What stands between two anchors: `units` in order, and the expression that tells their values apart."""

    units: tuple[_Unit, ...]
    values: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A prompt as fixed texts with gaps around them: gaps[i] stands before anchors[i], the last behind all."""

    anchors: tuple[str, ...]
    gaps: tuple[_Gap, ...]


def gather(sources: Iterable[Source], log: Log) -> LogEvidence:
    """What the log says about the prompts of the sources."""
    texts = _texts_of(log)
    evidence = LogEvidence()
    for source in sources:
        for prompt in source.prompts:
            pattern = _pattern(prompt)
            if prompt.kind != "request" and pattern is not None:
                _observe(evidence, source.path, pattern, log.requests, texts)
    return evidence


def confirmed(findings: Iterable[Finding], evidence: LogEvidence) -> list[Finding]:
    """The findings, those that the log shows marked as confirmed with its figures."""
    places = {(span.path, span.line, span.column): seen for span, seen in evidence.variations.items()}
    result = []
    for finding in findings:
        where = finding.location
        seen = places.get((where.path or "", where.line or 0, where.column or 0))
        if seen is not None:
            found: Evidence = replace(
                finding.evidence,
                requests_seen=seen.requests,
                distinct_values=seen.distinct,
                scope=str(seen.scope),
            )
            finding = replace(finding, confidence=Confidence.CONFIRMED, evidence=found)
        result.append(finding)
    return result


def _pattern(prompt: Prompt) -> _Pattern | None:
    anchors: list[str] = []
    gaps: list[_Gap] = []
    units: list[_Unit] = []
    for part in prompt.parts:
        if isinstance(part, Text) and not part.guards:
            if len(part.text.strip()) >= _SHORTEST_ANCHOR:
                gaps.append(_gap(units))
                anchors.append(part.text.strip())
                units = []
            else:
                units.append(part.text)
        elif isinstance(part, Text | Value):
            last = units[-1] if units else ""
            if part.guards and isinstance(last, tuple) and _holder(last[0]) == _holder(part):
                units[-1] = (*last, part)
            else:
                units.append((part,))
    gaps.append(_gap(units))
    if not any(len(anchor) >= _TELLING_ANCHOR for anchor in anchors):
        return None
    return _Pattern(tuple(anchors), tuple(gaps))


def _gap(units: list[_Unit]) -> _Gap:
    pieces = [re.escape(unit.strip() or unit) if isinstance(unit, str) else "(.*?)" for unit in units]
    return _Gap(tuple(units), re.compile(r"\s*" + r"\s*?".join(pieces) + r"\s*", re.S))


def _holder(part: Part) -> Span:
    """The outermost loop or condition around the part, else the part itself."""
    return part.guards[0].span if part.guards else part.span


def _texts_of(log: Log) -> dict[int, tuple[str, ...]]:
    """The texts of each distinct part, by its number."""
    kinds = (PartKind.SYSTEM, PartKind.MESSAGE, PartKind.TEXT)
    texts: dict[int, tuple[str, ...]] = {}
    for request in log.requests:
        for part in request.parts:
            if part.kind in kinds and part.number not in texts:
                try:
                    texts[part.number] = tuple(_strings(part.value()))
                except ValueError:
                    texts[part.number] = ()
    return texts


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= _TELLING_ANCHOR:
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _observe(
    evidence: LogEvidence,
    path: str,
    pattern: _Pattern,
    requests: Sequence[Request],
    texts: dict[int, tuple[str, ...]],
) -> None:
    by_text: dict[str, tuple[str, ...] | None] = {}
    seen: list[tuple[Request, tuple[str, ...]]] = []
    for request in requests:
        found = None
        for part in request.parts:
            for text in texts.get(part.number, ()):
                if text not in by_text:
                    by_text[text] = _match(pattern, text)
                found = found or by_text[text]
        if found is not None:
            seen.append((request, found))
    if len(seen) < 2:
        return
    evidence.matched[path] = max(evidence.matched.get(path, 0), len(seen))
    for number, gap in enumerate(pattern.gaps):
        if any(isinstance(unit, tuple) for unit in gap.units):
            _record(evidence, path, gap, [(request, found[number]) for request, found in seen])


def _match(pattern: _Pattern, text: str) -> tuple[str, ...] | None:
    """What stands in each gap of the pattern, None where the text is not made by it."""
    at = 0
    found = []
    for anchor in pattern.anchors:
        start = text.find(anchor, at)
        if start < 0:
            return None
        found.append(text[at:start])
        at = start + len(anchor)
    found.append(text[at:])
    return tuple(found)


def _record(evidence: LogEvidence, path: str, gap: _Gap, stretches: list[tuple[Request, str]]) -> None:
    valued = [unit for unit in gap.units if isinstance(unit, tuple)]
    matches = {text: gap.values.fullmatch(text) for text in {text for _, text in stretches}}
    scopes = evidence.scopes.setdefault(path, {})
    for number, parts in enumerate(valued, 1):
        values = [(request, match[number]) for request, text in stretches if (match := matches[text])]
        if len(values) < 2:
            continue
        distinct = len({value for _, value in values})
        variation = Variation(len(values), distinct, _scope(values, distinct))
        for part in parts:
            evidence.variations[part.span] = variation
            if isinstance(part, Value) and not part.guards:
                scopes[part.expression] = variation.scope
            for guard in part.guards:
                evidence.variations[guard.span] = variation
                scopes.update(dict.fromkeys(guard.names, variation.scope))


_GROUPS: tuple[tuple[Scope, Callable[[Request], Hashable]], ...] = (
    (Scope.DAY, lambda request: None if request.time_ns is None else request.time_ns // _DAY_NS),
    (Scope.TENANT, lambda request: request.identity.tenant),
    (Scope.USER, lambda request: request.identity.user),
    (Scope.SESSION, lambda request: request.identity.session),
)


def _scope(values: list[tuple[Request, str]], distinct: int) -> Scope:
    """The widest group within which the value never differs; groups of one request prove nothing."""
    if distinct == 1:
        return Scope.GLOBAL
    for scope, key in _GROUPS:
        groups: dict[Hashable, set[str]] = {}
        for request, value in values:
            groups.setdefault(key(request), set()).add(value)
        known = None not in groups and 1 < len(groups) < len(values)
        if known and all(len(group) == 1 for group in groups.values()):
            return scope
    return Scope.REQUEST if distinct == len(values) else Scope.TURN
