"""What each breaker of a log costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from simulators.cost import PricedRow
from simulators.cost_advice import Advice, Step
from simulators.cost_losses import price_losses

if TYPE_CHECKING:
    from analyzers.pipeline import TracedLog


@dataclass(frozen=True, slots=True)
class BreakerCost:
    """One breaker: the requests it hits, the prompt tokens they lost, and the money that is by currency."""

    rule: str
    subject: str
    message: str
    requests: int
    tokens_lost: int
    money: Mapping[str, Decimal]
    unpriced: int


def breaker_advice(breakers: Sequence[BreakerCost]) -> list[Advice]:
    """Taking out the dearest breaker of each currency, as steps."""
    dearest: dict[str, Advice] = {}
    for breaker in breakers:
        for currency, money in breaker.money.items():
            if currency not in dearest or money > dearest[currency].saving:
                dearest[currency] = Advice(
                    Step.REMOVE_BREAKER,
                    money,
                    money,
                    currency,
                    tokens=breaker.tokens_lost,
                    requests=breaker.requests,
                    rule=breaker.rule,
                )
    return [advice for advice in dearest.values() if advice.saving]


def breaker_costs(traced: "TracedLog", rows: Sequence[PricedRow]) -> list[BreakerCost]:
    """The breakers that lose tokens, the dearest first. `rows` are the log's requests in the trace's order."""
    from analyzers.breakers import find_breakers
    from pcache_cli.lint_prices import limits_of

    found = []
    for breaker in find_breakers(traced, limits_of):
        if breaker.requests and sum(breaker.lost):
            losses = price_losses(rows, breaker.requests, breaker.lost)
            finding = breaker.finding
            found.append(
                BreakerCost(
                    rule=finding.rule,
                    subject=finding.subject,
                    message=finding.message,
                    requests=len(breaker.requests),
                    tokens_lost=sum(breaker.lost),
                    money=losses.money,
                    unpriced=losses.unpriced,
                )
            )
    return sorted(found, key=lambda b: (-sum(b.money.values(), Decimal(0)), -b.tokens_lost, b.rule))
