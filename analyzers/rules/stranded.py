"""The finding that most template rules make: something varies, and fixed text stands behind it."""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level, Location, Safety
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.templates.exposure import Exposure
from analyzers.templates.parts import Cause, Scope, Span, Value

WORTH_A_NOTE = 4
"""Fewer tokens behind a value than this are an ending (`Answer:`), not a layout mistake."""
OFTEN = 16
"""From this many stranded tokens a value that changes at least every turn is a warning or an error."""
SELDOM = 64
"""From this many stranded tokens a value that changes with the user, session or day is a warning."""
UNKNOWN_LENGTH = 64
"""What a stable variable of unknown length counts for."""

_HOW_OFTEN = {
    None: "may change",
    Scope.DAY: "changes every day",
    Scope.TENANT: "changes with the tenant",
    Scope.USER: "changes with the user",
    Scope.SESSION: "changes with the session",
    Scope.TURN: "changes every turn",
    Scope.REQUEST: "changes in every request",
}


_HOW_IT_DIFFERS = {
    Cause.UNSORTED_JSON: "may come with its keys in another order",
    Cause.UNORDERED: "has no fixed order",
    Cause.SALTED_HASH: "differs in every process",
}


def stranded_findings(
    rule: Rule, context: CheckContext, causes: set[Cause], advice: str
) -> Iterator[Finding]:
    """A finding for each varying value with one of the causes that has something reusable behind it.

    A value that stands in several places is reported at the first, which loses most.
    """
    seen: set[str] = set()
    for exposure in context.exposures:
        if exposure.condition is None and exposure.verdict.cause in causes and exposure.strands:
            if exposure.subject in seen:
                continue
            lost = context.count_tokens(exposure.fixed_text) if exposure.fixed_text.strip() else 0
            is_date = exposure.verdict.cause is Cause.DATE
            least = SELDOM if exposure.verdict.scope is None else WORTH_A_NOTE
            if lost >= least or exposure.stable_names or exposure.loses_conversation or is_date:
                seen.add(exposure.subject)
                yield stranded(rule, exposure, lost, advice)


def stranded(rule: Rule, exposure: Exposure, lost: int, advice: str) -> Finding:
    """The finding for one varying part that strands `lost` tokens of fixed text."""
    scope = exposure.verdict.scope
    return rule.finding(
        f"{shown(exposure.subject)} {_how_it_differs(exposure)}; {_behind(exposure, lost)}",
        place(exposure.span),
        level=level_of(exposure, lost),
        subject=exposure.subject,
        tokens_lost=lost,
        evidence=Evidence(scope=None if scope is None else str(scope)),
        fix=repaired(advice, exposure.value),
    )


def repaired(advice: str, value: Value | None) -> Fix:
    """The fix of a value: with the edit that its front end proposes, which is safe, or advice alone."""
    if value is None or value.repair is None:
        return Fix(advice)
    return Fix(advice, (value.repair,), Safety.SAFE)


def _how_it_differs(exposure: Exposure) -> str:
    return _HOW_IT_DIFFERS.get(exposure.verdict.cause) or _HOW_OFTEN[exposure.verdict.scope]


def level_of(exposure: Exposure, lost: int) -> Level:
    """How bad: by how often the part changes, how sure that is, and how much stands behind it."""
    verdict = exposure.verdict
    weight = lost + UNKNOWN_LENGTH * len(exposure.stable_names)
    if verdict.scope is None:
        return Level.INFO
    if verdict.scope.rank >= Scope.TURN.rank:
        if weight < OFTEN and not exposure.loses_conversation:
            return Level.INFO
        return Level.ERROR if verdict.sure else Level.WARNING
    return Level.WARNING if weight >= SELDOM else Level.INFO


def place(span: Span) -> Location:
    """The location of a span."""
    return Location(span.path, span.line, span.column, span.end_line, span.end_column, char_offset=span.start)


def shown(expression: str) -> str:
    """An expression as a message shows it: on one line, not longer than a message bears."""
    flat = " ".join(expression.split())
    return f"`{flat}`" if len(flat) <= 60 else f"`{flat[:57]}...`"


def _behind(exposure: Exposure, lost: int) -> str:
    """What cannot be reached, in words."""
    things = []
    if lost:
        things.append(f"{lost:,} {'token' if lost == 1 else 'tokens'} of fixed text")
    if exposure.stable_names:
        names = ", ".join(shown(name) for name in exposure.stable_names[:3])
        more = len(exposure.stable_names) - 3
        things.append(names + (f" and {more} more" if more > 0 else ""))
    if exposure.loses_conversation:
        things.append("the conversation")
    if not things:
        return "what stands behind it is read anew each time it changes"
    return f"{' and '.join(things)} behind it cannot be read from cache when it does"
