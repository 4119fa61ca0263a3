"""Which lifetime pays, prefix by prefix, from the log's own gaps; and what caching would bring before it is on.

A prefix is a node of the prefix tree that at least two requests share. With a sliding lifetime its tokens are
written at the first request and after every gap longer than the lifetime, and read at all others.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from analyzers.trace import NO_TIME, Int64, Trace
from analyzers.usage import UNSTATED_TTL
from simulators.cost import PricedRow
from simulators.logged_usage import scales
from simulators.prices import MILLION, Rates, Tokens
from simulators.touches import Touches


@dataclass(frozen=True, slots=True)
class LifetimeCost:
    """One lifetime for one prefix or for all: how often it is written and read, in tokens and money."""

    ttl_s: int
    writes: int
    reads: int
    written_tokens: int
    read_tokens: int
    cost: Decimal


@dataclass(frozen=True, slots=True)
class PrefixLifetimes:
    """A shared stretch of prompt, the tokens [start, end), and what each lifetime makes of it.

    `without` is its cost at the input price, `saving` what the best lifetime saves of it. `best_ttl_s` None: not
    caching it is cheapest.
    """

    start: int
    end: int
    requests: int
    first_row: int
    longest_gap_s: float
    median_gap_s: float
    without: Decimal
    options: tuple[LifetimeCost, ...]
    best_ttl_s: int | None
    saving: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class LifetimeChoice:
    """All shared prefixes of one model at one price list. `options`: one lifetime for all of them; `best_each`: the
    best one for each. A longer lifetime must stand before a shorter one, so a prefix inside a longer-lived one
    takes that lifetime too: `best_each` is a bound."""

    model: str
    currency: str
    charged_writes: bool
    prefixes: int
    without: Decimal
    options: tuple[LifetimeCost, ...]
    best_ttl_s: int | None
    best_each: Decimal
    top: tuple[PrefixLifetimes, ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the log's prompts cost without a cache, and between which bounds with one.

    `careful`: every prompt is cached to its end at the default lifetime, so text that never comes back pays the
    write premium too. `best`: only what comes back is cached, each prefix at its best lifetime. `output` is the
    part no cache changes, None where the log gives no output tokens. Prompt tokens counted by a tokenizer where
    the log states none.
    """

    currency: str
    requests: int
    prompt_tokens: int
    prompt_without: Decimal
    prompt_careful: Decimal
    prompt_best: Decimal
    output: Decimal | None


def lifetime_choices(
    trace: Trace, touches: Touches, rows: Sequence[PricedRow], rules_ttl: Mapping[int, int], top: int = 10
) -> list[LifetimeChoice]:
    """The choice of lifetime for each model and price list whose cached reads have a price, dearest first.

    `rules_ttl`: request -> the lifetime in seconds that its provider gives without asking, for models that do
    not charge for writes; rows missing there are taken to live one hour.
    """
    tree = _SharedPrefixes(trace, touches)
    found = []
    for model, rates, nodes in tree.by_price_list(rows):
        lifetimes = sorted(rates.written) or [rules_ttl.get(int(tree.first_row[nodes[0]]), 3600)]
        uses = [tree.uses(nodes, ttl) for ttl in lifetimes]
        without = rates.cost(Tokens(int((uses[0].written + uses[0].read).sum()))).total
        # Floats choose the best lifetime of each prefix; the sums they choose are priced exactly.
        prices = np.array([[float(_write_rate(rates, ttl)), float(rates.read or 0)] for ttl in lifetimes])
        costs = np.array([u.written * w + u.read * r for u, (w, r) in zip(uses, prices, strict=True)])
        uncached = (uses[0].written + uses[0].read) * float(rates.input or 0)
        best = np.where(costs.min(axis=0) < uncached, costs.argmin(axis=0), -1)
        order = np.lexsort((nodes, -(uncached - np.minimum(costs.min(axis=0), uncached))))
        options = tuple(_option(rates, ttl, u) for ttl, u in zip(lifetimes, uses, strict=True))
        found.append(
            LifetimeChoice(
                model=model,
                currency=rates.currency,
                charged_writes=bool(rates.written),
                prefixes=len(nodes),
                without=without,
                options=options,
                best_ttl_s=_best_ttl(options, without),
                best_each=_best_each(rates, lifetimes, uses, best),
                top=tuple(tree.prefix(int(nodes[i]), rates, lifetimes) for i in order[:top].tolist()),
            )
        )
    return sorted(found, key=lambda choice: (choice.currency, -choice.without, choice.model))


def forecast(
    trace: Trace, touches: Touches, rows: Sequence[PricedRow], choices: Sequence[LifetimeChoice]
) -> list[Forecast]:
    """What caching would make of the prompts, by currency: rows whose price is known."""
    prompts = np.where(
        trace.requests.usage_prompt >= 0, trace.requests.usage_prompt, trace.requests.prompt_tokens
    )
    outputs = np.where(
        trace.requests.usage_output >= 0, trace.requests.usage_output, trace.requests.output_tokens
    )
    by_currency: dict[str, list[PricedRow]] = defaultdict(list)
    for priced in rows:
        if priced.rates is not None:
            by_currency[priced.rates.currency].append(priced)
    found = []
    for currency, group in sorted(by_currency.items()):
        mine = [choice for choice in choices if choice.currency == currency]
        without = _input_cost(group, prompts)
        shared_without = sum((c.without for c in mine), Decimal(0))
        careful = without - shared_without + sum((c.options[0].cost for c in mine), Decimal(0))
        careful += _premium_of_tails(trace, touches, group)
        known = all(int(outputs[p.row]) >= 0 for p in group)
        found.append(
            Forecast(
                currency=currency,
                requests=len(group),
                prompt_tokens=sum(int(prompts[p.row]) for p in group),
                prompt_without=without,
                prompt_careful=careful,
                prompt_best=without - shared_without + sum((c.best_each for c in mine), Decimal(0)),
                output=_output_cost(group, outputs) if known else None,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Uses:
    """Of each prefix: how often it is written and read under one lifetime, and the tokens that makes. int64."""

    writes: Int64
    reads: Int64
    written: Int64
    read: Int64

    def only(self, chosen: npt.NDArray[np.bool_]) -> "_Uses":
        return _Uses(self.writes[chosen], self.reads[chosen], self.written[chosen], self.read[chosen])


class _SharedPrefixes:
    """The nodes of the tree that several requests touch, and when they do."""

    def __init__(self, trace: Trace, touches: Touches) -> None:
        self._trace, self._touches = trace, touches
        starts = np.flatnonzero(touches.first)
        self.first_row = np.zeros(len(trace.tree), np.int64)
        self.first_row[touches.node[starts]] = touches.row[starts]
        self._start = np.zeros(len(trace.tree), np.int64)
        self._start[touches.node[starts]] = starts
        self._tokens = np.rint(touches.tokens * scales(trace)[self.first_row]).astype(np.int64)

    def by_price_list(self, rows: Sequence[PricedRow]) -> list[tuple[str, Rates, Int64]]:
        """(model, price list, its shared nodes) where cached reads have a price."""
        model = self._trace.requests.model
        groups: dict[tuple[str, int], tuple[Rates, list[int]]] = {}
        shared = np.flatnonzero(self._touches.count > 1)
        for node, row in zip(shared.tolist(), self.first_row[shared].tolist(), strict=True):
            rates = rows[row].rates
            if rates is not None and rates.read is not None and rates.input is not None:
                key = model.of(row) or "unknown", id(rates)
                groups.setdefault(key, (rates, []))[1].append(node)
        return [(name, rates, np.array(nodes, np.int64)) for (name, _), (rates, nodes) in groups.items()]

    def uses(self, nodes: Int64, ttl: int) -> _Uses:
        """A node is written at its first touch and after every gap longer than the lifetime, else read."""
        written = self._touches.gap_s > ttl
        count = np.bincount(self._touches.node[written], minlength=len(self._trace.tree))
        writes = count[nodes].astype(np.int64)
        reads = self._touches.count[nodes] - writes
        return _Uses(writes, reads, writes * self._tokens[nodes], reads * self._tokens[nodes])

    def prefix(self, node: int, rates: Rates, lifetimes: Sequence[int]) -> PrefixLifetimes:
        begin, count = int(self._start[node]), int(self._touches.count[node])
        gaps = self._touches.gap_s[begin + 1 : begin + count]
        one = np.array([node], np.int64)
        tree = self._trace.tree
        options = tuple(_option(rates, ttl, self.uses(one, ttl)) for ttl in lifetimes)
        without = rates.cost(Tokens(count * int(self._tokens[node]))).total
        return PrefixLifetimes(
            start=int(tree.depth_start[node]),
            end=int(tree.depth_end[node]),
            requests=count,
            first_row=int(self.first_row[node]),
            longest_gap_s=float(gaps.max()),
            median_gap_s=float(np.median(gaps)),
            without=without,
            options=options,
            best_ttl_s=_best_ttl(options, without),
            saving=max(without - min(option.cost for option in options), Decimal(0)),
            currency=rates.currency,
        )


def _write_rate(rates: Rates, ttl: int) -> Decimal:
    return rates.write_rate(ttl if rates.written else UNSTATED_TTL)


def _option(rates: Rates, ttl: int, uses: _Uses) -> LifetimeCost:
    written, read = int(uses.written.sum()), int(uses.read.sum())
    cost = (written * _write_rate(rates, ttl) + read * (rates.read or 0)) / MILLION
    return LifetimeCost(ttl, int(uses.writes.sum()), int(uses.reads.sum()), written, read, cost)


def _best_ttl(options: Sequence[LifetimeCost], without: Decimal) -> int | None:
    best = min(options, key=lambda option: option.cost)
    return best.ttl_s if best.cost < without else None


def _best_each(
    rates: Rates, lifetimes: Sequence[int], uses: Sequence[_Uses], best: npt.NDArray[np.intp]
) -> Decimal:
    """What all prefixes cost, each at the lifetime chosen for it; -1 is uncached."""
    left = uses[0].only(best < 0)
    total = rates.cost(Tokens(int(left.written.sum() + left.read.sum()))).total
    for place, ttl in enumerate(lifetimes):
        total += _option(rates, ttl, uses[place].only(best == place)).cost
    return total


def has_times(trace: Trace) -> bool:
    """Whether any two requests can be told apart in time."""
    return bool((trace.requests.time_ns != NO_TIME).sum() > 1)


def _premium_of_tails(trace: Trace, touches: Touches, rows: Sequence[PricedRow]) -> Decimal:
    """What writing the text that never comes back costs above its input price, at the default lifetime."""
    scale = scales(trace)
    alone = touches.count[touches.node] == 1
    tail = np.bincount(touches.row[alone], touches.tokens[touches.node[alone]], minlength=len(trace))
    total = Decimal(0)
    for priced in rows:
        rates = priced.rates
        if rates is not None and rates.written and rates.input is not None:
            premium = rates.write_rate(min(rates.written)) - rates.input
            total += round(float(tail[priced.row] * scale[priced.row])) * premium
    return total / MILLION


def _input_cost(rows: Sequence[PricedRow], prompts: Int64) -> Decimal:
    return sum((int(prompts[p.row]) * (p.rates.input or 0) for p in rows if p.rates), Decimal(0)) / MILLION


def _output_cost(rows: Sequence[PricedRow], outputs: Int64) -> Decimal:
    return sum((int(outputs[p.row]) * (p.rates.output or 0) for p in rows if p.rates), Decimal(0)) / MILLION
