"""The things most worth doing about a bill, each with what it brings, largest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from simulators.cost import CostReport
from simulators.lifetimes import LifetimeChoice
from simulators.prewarm import Prewarming


class Step(StrEnum):
    """What to do."""

    READ_WHAT_REPEATS = "read what repeats"
    REMOVE_BREAKER = "remove what breaks the prefix"
    SET_MARKERS = "mark what repeats"
    CHANGE_LIFETIME = "use another lifetime"
    SEND_ONE_FIRST = "send one request first"
    KEEP_WARM = "keep a prefix warm"


@dataclass(frozen=True, slots=True)
class Advice:
    """One step. `saving` of `of` (the cost now of what it touches); the other fields say what it is about, None or
    0 where they do not apply. Savings of several steps overlap and do not add up."""

    step: Step
    saving: Decimal
    of: Decimal
    currency: str
    model: str | None = None
    ttl_s: int | None = None
    instead_of_ttl_s: int | None = None
    tokens: int = 0
    requests: int = 0
    reads: int = 0
    rewrites: int = 0
    rule: str | None = None


def advise(report: CostReport, choices: Sequence[LifetimeChoice], warm: Prewarming | None) -> list[Advice]:
    """Every step that brings anything, the most money first."""
    found = [*_possible(report), *_lifetimes(report, choices), *(_warming(warm) if warm is not None else ())]
    return sorted(found, key=lambda advice: (-advice.saving, advice.step))


def _possible(report: CostReport) -> Iterator[Advice]:
    for bill in report.bills.values():
        if bill.possible is not None and bill.paid > bill.possible:
            yield Advice(Step.READ_WHAT_REPEATS, bill.paid - bill.possible, bill.paid, bill.currency)


def _lifetimes(report: CostReport, choices: Sequence[LifetimeChoice]) -> Iterator[Advice]:
    for choice in choices:
        bill = report.bills.get(choice.currency)
        used = {ttl for ttl, tokens in bill.written_tokens.items() if tokens} if bill is not None else set()
        best = next((o for o in choice.options if o.ttl_s == choice.best_ttl_s), None)
        if not choice.charged_writes or best is None:
            continue
        if not used:
            saved = choice.without - best.cost
            yield Advice(
                Step.SET_MARKERS,
                saved,
                choice.without,
                choice.currency,
                choice.model,
                best.ttl_s,
                tokens=best.read_tokens,
            )
        theirs = [option for option in choice.options if option.ttl_s in used]
        now = min(theirs, key=lambda option: option.cost, default=None)
        if now is not None and now.cost > best.cost:
            yield Advice(
                Step.CHANGE_LIFETIME,
                now.cost - best.cost,
                now.cost,
                choice.currency,
                choice.model,
                best.ttl_s,
                now.ttl_s,
            )


def _warming(warm: Prewarming) -> Iterator[Advice]:
    for burst in (warm.bursts or ())[:1]:
        yield Advice(
            Step.SEND_ONE_FIRST,
            burst.saving,
            burst.saving,
            burst.currency,
            tokens=burst.tokens,
            requests=len(burst.rows),
            rewrites=burst.needless,
        )
    for keep in warm.keep[:1]:
        yield Advice(
            Step.KEEP_WARM,
            keep.saving,
            keep.rewrite_cost,
            keep.currency,
            ttl_s=keep.ttl_s,
            tokens=keep.tokens,
            reads=keep.pings,
            rewrites=keep.rewrites,
        )
