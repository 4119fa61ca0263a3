"""Cache objects that are paid by the hour: from how many hits an hour on they pay.

An object of n tokens costs n·s an hour to keep and saves n·(p − r) a hit, so the size cancels out:
break-even = s / (p − r) hits an hour, with s the storage price of a million tokens and hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from analyzers.trace import NO_TIME, Trace
from simulators.cost import PricedRow
from simulators.logged_usage import scales
from simulators.prices import MILLION, Rates
from simulators.touches import Touches


@dataclass(frozen=True, slots=True)
class ExplicitCache:
    """A shared prefix that could be kept as a cache object while the log lasted.

    `net_per_hour` is what hits save less storage and the one write at the input price, spread over the hours
    between its first and its last use.
    """

    model: str
    tokens: int
    requests: int
    hours: float
    hits_per_hour: float
    break_even_hits_per_hour: Decimal
    net_per_hour: Decimal
    currency: str


def break_even_hits_per_hour(rates: Rates) -> Decimal | None:
    """Hits an hour from which a kept object pays; None where storage has no price or reads save nothing."""
    if rates.storage_hour is None or rates.input is None or rates.read is None or rates.read >= rates.input:
        return None
    return rates.storage_hour / (rates.input - rates.read)


def explicit_caches(
    trace: Trace, touches: Touches, rows: Sequence[PricedRow], minimum_tokens: int = 1024, top: int = 5
) -> list[ExplicitCache]:
    """The shared prefixes of models with a storage price, most worth keeping first."""
    found = []
    scale = scales(trace)
    times = trace.requests.time_ns
    starts = np.flatnonzero(touches.first)
    for begin in starts[touches.count[touches.node[starts]] > 1].tolist():
        node, first = int(touches.node[begin]), int(touches.row[begin])
        rates = rows[first].rates
        break_even = break_even_hits_per_hour(rates) if rates is not None else None
        # An object holds a whole prefix, so it is its full depth that is stored and read.
        tokens = round(int(trace.tree.depth_end[node]) * float(scale[first]))
        seen = times[touches.row[begin : begin + int(touches.count[node])]]
        if rates is None or break_even is None or tokens < minimum_tokens or (seen == NO_TIME).any():
            continue
        hours = float(seen.max() - seen.min()) / 3.6e12
        if hours <= 0:
            continue
        hits = int(touches.count[node])
        save = hits * tokens * ((rates.input or Decimal(0)) - (rates.read or Decimal(0)))
        keep = tokens * (rates.input or Decimal(0)) + tokens * (rates.storage_hour or Decimal(0)) * Decimal(
            repr(hours)
        )
        found.append(
            ExplicitCache(
                model=trace.requests.model.of(first) or "unknown",
                tokens=tokens,
                requests=hits,
                hours=hours,
                hits_per_hour=hits / hours,
                break_even_hits_per_hour=break_even,
                net_per_hour=(save - keep) / MILLION / Decimal(repr(hours)),
                currency=rates.currency,
            )
        )
    found.sort(key=lambda cache: (-cache.net_per_hour, -cache.tokens))
    return found[:top]
