"""What tokens cost that were computed although an earlier request had left them in a cache."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from simulators.cost import PricedRow
from simulators.prices import MILLION


@dataclass(frozen=True, slots=True)
class Losses:
    """Money by currency: lost tokens x (input price - read price). `unpriced`: requests whose price is not known."""

    money: Mapping[str, Decimal]
    unpriced: int


def price_losses(rows: Sequence[PricedRow], requests: Sequence[int], lost: Sequence[int]) -> Losses:
    """The price of the tokens that each of these requests (indices of `rows`) lost."""
    money: dict[str, Decimal] = defaultdict(Decimal)
    unpriced = 0
    for request, tokens in zip(requests, lost, strict=True):
        rates = rows[request].rates
        if rates is None or rates.input is None or rates.read is None:
            unpriced += 1
            continue
        money[rates.currency] += tokens * (rates.input - rates.read)
    return Losses({currency: amount / MILLION for currency, amount in sorted(money.items())}, unpriced)
