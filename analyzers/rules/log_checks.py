"""What the rules about a whole log share: findings about requests, about misses, and prices in units of input."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Confidence, Evidence, Fix, Level, Location
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss, MissCause

READ_PRICE = 0.1
"""Price of a token read from cache, in prices of an input token (Anthropic price list, November 2026)."""
WRITE_PRICE = {300: 1.25, 3600: 2.0}
"""Price of a token written, by lifetime in seconds (the same list)."""
MARKED_PROVIDERS = ("anthropic", "bedrock", "google-claude")
"""Who caches nothing without a marker (documentation, August to November 2026)."""


def log_breaker(
    rule: Rule,
    log: "LogEvidence",
    rows: Sequence[int],
    message: str,
    advice: str,
    *,
    losses: Sequence[int] = (),
    estimated: bool = False,
    against: int | None = None,
    json_path: str | None = None,
    token_offset: int | None = None,
    subject: str = "",
    level: Level | None = None,
    confidence: Confidence = Confidence.CONFIRMED,
    distinct: int | None = None,
    scope: str | None = None,
) -> Breaker:
    """A breaker about requests of a log, shown at the first of them. `losses` are tokens, one a row, or empty."""
    request = log.traced.log.requests[rows[0]]
    return Breaker(
        rule.finding(
            message,
            Location(request.file, request.line, json_path=json_path, token_offset=token_offset),
            level=level,
            subject=subject,
            confidence=confidence,
            evidence=Evidence(
                request_id=log.request_id(rows[0]),
                against_id=None if against is None else log.request_id(against),
                affected_requests=tuple(log.request_id(row) for row in rows),
                requests_seen=len(log.traced.trace),
                distinct_values=distinct,
                scope=scope,
            ),
            tokens_lost=sum(losses) if losses else None,
            tokens_estimated=estimated,
            fix=Fix(advice),
        ),
        None,
        tuple(rows),
        tuple(losses),
    )


def miss_breakers(
    rule: Rule,
    log: "LogEvidence",
    cause: "MissCause",
    words: "Callable[[Sequence[Miss]], str]",
    advice: str,
    *,
    of: "Callable[[Miss], bool]" = lambda miss: True,
    group: "Callable[[Miss], Hashable]" = lambda miss: miss.name,
    level: Level | None = None,
    confidence: Confidence = Confidence.CONFIRMED,
) -> Iterator[Breaker]:
    """A breaker for each group of misses with this cause."""
    groups: dict[Hashable, list[Miss]] = {}
    for miss in log.misses:
        if miss.cause is cause and of(miss):
            groups.setdefault(group(miss), []).append(miss)
    for misses in groups.values():
        yield log_breaker(
            rule,
            log,
            [miss.request for miss in misses],
            words(misses),
            advice,
            losses=[miss.lost for miss in misses],
            estimated=any(miss.estimated for miss in misses),
            against=misses[0].against,
            json_path=misses[0].name or None,
            subject=misses[0].name or str(cause),
            level=level,
            confidence=confidence,
        )


def requests_words(count: int) -> str:
    """`1 request`, `2 requests`."""
    return f"{count:,} {'request' if count == 1 else 'requests'}"


def seconds_words(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def path_at(log: "LogEvidence", row: int, depth: int) -> str:
    """The JSON path of the deepest block of a request that ends at or before a token depth; "" for none."""
    trace = log.traced.trace
    ends = trace.boundaries.of(row)
    inside = [index for index, end in enumerate(ends.tolist()) if end <= depth]
    return trace.paths[int(trace.boundary_paths.of(row)[inside[-1]])] if inside else ""


def setting_breakers(
    rule: Rule, log: "LogEvidence", names: Callable[[str], bool], advice: str
) -> Iterator[Breaker]:
    """Breakers for a parameter that differs between requests with an equal prefix: confirmed by logged misses,
    else suspected where the log has no usage."""
    from analyzers.misses import MissCause

    def words(misses: "Sequence[Miss]") -> str:
        first = misses[0]
        return (
            f"{first.name} changed ({_shown(first.was)} -> {_shown(first.now)}) while the text is equal: "
            f"{requests_words(len(misses))} read {sum(m.lost for m in misses):,} tokens less than were cached"
        )

    yield from miss_breakers(rule, log, MissCause.PARAMETER, words, advice, of=lambda miss: names(miss.name))
    for name, rows, losses in log.unconfirmed_settings():
        if names(name):
            yield log_breaker(
                rule,
                log,
                rows,
                f"{name} differs from the requests with the same prefix in {requests_words(len(rows))}; where it is "
                f"part of the key, {sum(losses):,} tokens are lost (the log states no usage to check it by)",
                advice,
                losses=losses,
                estimated=True,
                json_path=name,
                subject=name,
                level=Level.INFO,
                confidence=Confidence.SUSPECTED,
            )


def _shown(raw: str) -> str:
    return raw if len(raw) <= 40 else raw[:37] + "..."
