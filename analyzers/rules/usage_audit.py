"""What the accounting rules look at: the usage rows of a log, and what they should have cost.

A row that states its cost is recomputed. Where the two differ, each rule tries the mistake it knows: the
mistake that gives the stated cost to the last digit (of a ten-thousandth of it) is the explanation.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from analyzers.findings import Confidence, Evidence, Finding, Fix, Location
from analyzers.request import Request
from analyzers.rules.registry import Rule
from analyzers.usage import Usage

MILLION = Decimal(1_000_000)
_CLOSE = Decimal("0.0001")


class RateList(Protocol):
    """Prices per million tokens."""

    @property
    def input(self) -> Decimal | None: ...
    @property
    def read(self) -> Decimal | None: ...
    @property
    def output(self) -> Decimal | None: ...
    def write_rate(self, ttl: int) -> Decimal: ...


@dataclass(frozen=True)
class UsageAudit:
    """The requests of a log in time order, how many rows were folded into others, and their prices.

    `rates` gives the price list of a request, `plain_rates` the one it would have as a short standard call
    without tier, region or speed; None where the price is not known.
    """

    requests: Sequence[Request]
    merged: int
    rates: Callable[[Request], RateList | None]
    plain_rates: Callable[[Request], RateList | None]

    def with_usage(self) -> Iterator[tuple[Request, Usage]]:
        for request in self.requests:
            if request.usage is not None:
                yield request, request.usage

    def misstated(self) -> Iterator["Misstated"]:
        """The rows whose stated cost is not what their figures cost."""
        for request, usage in self.with_usage():
            if usage.reported_cost is None:
                continue
            rates = self.rates(request)
            right = None if rates is None else cost(usage, rates)
            if rates is not None and right is not None and not close(right, usage.reported_cost):
                yield Misstated(request, usage, rates, right, usage.reported_cost)


@dataclass(frozen=True)
class Misstated:
    """A row whose stated cost differs from the right one."""

    request: Request
    usage: Usage
    rates: RateList
    right: Decimal
    stated: Decimal

    def is_explained_by(self, wrong: Decimal | None) -> bool:
        return wrong is not None and close(wrong, self.stated) and not close(wrong, self.right)


def cost(
    usage: Usage, rates: RateList, *, uncached: int | None = None, write_ttl: int | None = None
) -> Decimal | None:
    """What the row costs; `uncached` and `write_ttl` put other tokens or another lifetime in. None = not known."""
    plain = usage.uncached_tokens if uncached is None else uncached
    if plain is None or rates.input is None or usage.output_tokens is None or usage.read_tokens is None:
        return None
    if (usage.read_tokens and rates.read is None) or (usage.output_tokens and rates.output is None):
        return None
    total = (
        plain * rates.input
        + usage.read_tokens * (rates.read or 0)
        + usage.output_tokens * (rates.output or 0)
    )
    for ttl, tokens in (usage.written or {}).items():
        if tokens:
            try:
                total += tokens * rates.write_rate(ttl if write_ttl is None else write_ttl)
            except LookupError:
                return None
    return Decimal(total) / MILLION


def close(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) <= _CLOSE * max(abs(one), abs(other))


def found(
    rule: Rule, requests: Sequence[Request], message: str, advice: str, money: Decimal | None = None
) -> Finding:
    """A finding about these rows; `money` is what the mistake misstates over the log (positive: too much)."""
    first = requests[0]
    return rule.finding(
        message,
        Location(path=first.file, line=first.line),
        subject="usage",
        confidence=Confidence.CONFIRMED,
        evidence=Evidence(
            request_id=first.request_id,
            affected_requests=tuple(request.request_id for request in requests),
            requests_seen=len(requests),
        ),
        money_lost=money,
        money_per=None if money is None else "log",
        fix=Fix(advice),
    )


def shown(amount: Decimal) -> str:
    """Dollars with six digits at least, as a bill for one call needs."""
    return f"${amount.normalize():f}" if amount == amount.quantize(Decimal("0.000001")) else f"${amount:.6f}"
