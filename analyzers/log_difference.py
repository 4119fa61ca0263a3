"""Two logs compared, before and after a change: how much could be reused, what breaks it now, and what is gone."""

from dataclasses import dataclass

from analyzers.breakers import Breaker, breakers_of
from analyzers.log_evidence import LogEvidence
from analyzers.reuse import Reuse, analyze_reuse, reuse_by_request


@dataclass(frozen=True)
class Side:
    """One log in figures. Ratios are None where the log holds no prompts or no usage."""

    requests: int
    prompt_tokens: int
    reusable_tokens: int | None
    reusable_token_ratio: float | None
    logged_read_ratio: float | None
    lost_tokens: int


@dataclass(frozen=True)
class BreakerChange:
    """A rule at a place in both logs: tokens lost as a share of the prompt tokens, None where it was not found."""

    rule: str
    place: str
    before_tokens: int | None
    after_tokens: int | None
    state: str
    """new, gone, worse, better, or same."""


@dataclass(frozen=True)
class LogDifference:
    """`regression` is how far the compared ratio fell, in parts of one (0.01 is one point); negative for a gain,
    None where it cannot be computed. It is the reusable-token ratio, so that it does not depend on a cache."""

    before: Side
    after: Side
    regression: float | None
    breakers: tuple[BreakerChange, ...]


def compare_logs(before: LogEvidence, after: LogEvidence) -> LogDifference:
    """What changed from one log to the other."""
    reuse = [
        analyze_reuse(log.traced.trace, reuse_by_request(log.traced.trace), []) for log in (before, after)
    ]
    found = [_by_place(breakers_of(log)) for log in (before, after)]
    sides = [_side(r, b) for r, b in zip(reuse, found, strict=True)]
    ratios = [side.reusable_token_ratio for side in sides]
    regression = None if ratios[0] is None or ratios[1] is None else ratios[0] - ratios[1]
    return LogDifference(sides[0], sides[1], regression, _changes(found[0], found[1], sides[0], sides[1]))


def _by_place(breakers: list[Breaker]) -> dict[tuple[str, str], int]:
    """Tokens lost by (rule, place); a place is the path pattern, which does not depend on ids of requests."""
    lost: dict[tuple[str, str], int] = {}
    for breaker in breakers:
        finding = breaker.finding
        place = breaker.slot.path if breaker.slot is not None else finding.subject
        if breaker.slot is None or breaker.slot.first_in:
            key = (finding.rule, place)
            lost[key] = lost.get(key, 0) + (finding.tokens_lost or 0)
    return lost


def _side(reuse: Reuse, lost: dict[tuple[str, str], int]) -> Side:
    return Side(
        requests=reuse.requests,
        prompt_tokens=reuse.prompt_tokens,
        reusable_tokens=reuse.reusable_tokens,
        reusable_token_ratio=reuse.reusable_token_ratio,
        logged_read_ratio=reuse.logged.read_ratio,
        lost_tokens=sum(lost.values()),
    )


def _changes(
    before: dict[tuple[str, str], int], after: dict[tuple[str, str], int], old: Side, new: Side
) -> tuple[BreakerChange, ...]:
    changes = []
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key), after.get(key)
        if was is None:
            state = "new"
        elif now is None:
            state = "gone"
        else:
            shares = was / max(1, old.prompt_tokens), now / max(1, new.prompt_tokens)
            state = (
                "same"
                if abs(shares[0] - shares[1]) < 0.001
                else "worse"
                if shares[1] > shares[0]
                else "better"
            )
        changes.append(BreakerChange(*key, was, now, state))
    order = ("new", "worse", "same", "better", "gone")
    return tuple(
        sorted(changes, key=lambda c: (order.index(c.state), -(c.after_tokens or 0), c.rule, c.place))
    )
