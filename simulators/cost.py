"""What a log cost, what it would have cost without a cache, and the least a cache could have made of it.

Sums run over whole tokens and are priced once for each price list, so they are exact: money is Decimal
throughout, and figures of unlike currencies are never added.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

import numpy as np

from analyzers.request import Request
from analyzers.trace import NO_TIME, Trace
from simulators.logged_usage import logged_reads, scales
from simulators.prices import MILLION, Call, PriceBook, Rates, Tokens, UnknownPriceError
from simulators.touches import Touches

DEFINITIONS = {
    "paid": "the logged usage at the price of its model, day, hour, prompt length, tier, speed and region; rows whose "
    "usage or price is not known are left out and counted",
    "without_cache": "the same rows with every prompt token at the input price",
    "read_saving": "read tokens x (input price - read price)",
    "write_premium": "written tokens x (write price - input price)",
    "possible": "the same rows with every reusable token read, each token that is used again written once at the "
    "shortest lifetime's price, all else at the input price: a cache that forgets nothing and needs no luck",
    "request_hit_rate": "requests with at least one read token / requests whose log states read tokens",
    "token_hit_rate": "read tokens / prompt tokens of those requests",
    "money_hit_rate": "read tokens / prompt tokens of those requests, each weighted by its input price",
}

NO_MODEL: Final = "the log does not name the model"


@dataclass(frozen=True, slots=True)
class PricedRow:
    """One request ready to be billed: `rates` and `tokens`, or the reason that one of them is not known."""

    row: int
    tokens: Tokens | None
    rates: Rates | None
    unknown: str | None
    price_unknown: bool = False
    """No price list holds for the request."""


@dataclass(frozen=True, slots=True)
class HitRates:
    """The same hits weighted three ways; None where no row states read tokens."""

    requests: float | None
    tokens: float | None
    money: float | None


@dataclass(frozen=True, slots=True)
class Bill:
    """Money of one group of requests in one currency. `possible` is None where the log holds no prompts."""

    currency: str
    requests: int
    prompt_tokens: int
    uncached_tokens: int
    read_tokens: int
    written_tokens: Mapping[int, int]
    output_tokens: int
    paid: Decimal
    paid_output: Decimal
    without_cache: Decimal
    saving: Decimal
    read_saving: Decimal
    write_premium: Decimal
    possible: Decimal | None
    possible_read_tokens: int | None
    hit_rates: HitRates


@dataclass(frozen=True)
class CostReport:
    """Bills by currency, and by currency for each value of each grouping (model, route, tenant, session).

    `unknown` counts the requests left out by reason; `unpriced` those of them that no price list covers.
    """

    requests: int
    bills: Mapping[str, Bill]
    groups: Mapping[str, Mapping[str, Mapping[str, Bill]]]
    unknown: Mapping[str, int]
    unpriced: int
    notes: list[str] = field(default_factory=list)


def priced_rows(trace: Trace, requests: Sequence[Request] | None, book: PriceBook) -> list[PricedRow]:
    """Every request with its tokens and rates. `requests` (in the trace's order) say tier, speed and region."""
    table = trace.requests
    times = table.time_ns.tolist()
    prompts, reads, outputs = (
        table.usage_prompt.tolist(),
        logged_reads(trace).tolist(),
        table.usage_output.tolist(),
    )
    counted = table.prompt_tokens.tolist()
    known_writes = (table.usage_written >= 0).tolist()
    offsets = trace.written.offsets.tolist()
    writes, lifetimes = trace.written.values.tolist(), trace.written_ttl_s.values.tolist()
    rows = []
    for row in range(len(trace)):
        usage = requests[row].usage if requests is not None else None
        model, provider = table.model.of(row), table.provider.of(row)
        prompt, read, output = prompts[row], reads[row], outputs[row]
        if model is None:
            rows.append(PricedRow(row, None, None, NO_MODEL, True))
            continue
        moment = None if times[row] == NO_TIME else datetime.fromtimestamp(times[row] // 10**9, UTC)
        call = Call(
            model,
            provider,
            moment,
            prompt if prompt >= 0 else counted[row],
            usage.service_tier if usage else None,
            usage.speed if usage else None,
            usage.inference_geo if usage else None,
        )
        try:
            rates = book.rates(call)
        except UnknownPriceError as problem:
            rows.append(PricedRow(row, None, None, str(problem), True))
            continue
        if prompt < 0:
            rows.append(PricedRow(row, None, rates, "the log gives no usage"))
            continue
        if read < 0 and rates.read is None:
            read = 0
        written = dict(
            zip(
                lifetimes[offsets[row] : offsets[row + 1]],
                writes[offsets[row] : offsets[row + 1]],
                strict=True,
            )
        )
        uncached = prompt - read - sum(written.values())
        missing = _missing(read, output, known_writes[row] or not rates.written, uncached)
        if missing:
            rows.append(PricedRow(row, None, rates, missing))
            continue
        tokens = Tokens(uncached, read, written, output)
        try:
            rates.cost(tokens)
        except UnknownPriceError as problem:
            rows.append(PricedRow(row, tokens, None, f"{problem} of {model}", True))
            continue
        rows.append(PricedRow(row, tokens, rates, None))
    return rows


def _missing(read: int, output: int, writes_known: bool, uncached: int) -> str | None:
    if read < 0:
        return "the log does not state cached tokens"
    if not writes_known:
        return "the log does not state written tokens, which this model charges for"
    if output < 0:
        return "the log does not state output tokens"
    return "more tokens cached than sent" if uncached < 0 else None


@dataclass(slots=True)
class _Tally:
    """Whole tokens of the requests with one price list."""

    rates: Rates
    requests: int = 0
    hits: int = 0
    uncached: int = 0
    read: int = 0
    written: Counter[int] = field(default_factory=Counter)
    output: int = 0
    possible_read: int = 0
    possible_written: int = 0

    @property
    def prompt(self) -> int:
        return self.uncached + self.read + sum(self.written.values())


def cost_report(
    trace: Trace, rows: Sequence[PricedRow], touches: Touches | None, by: Iterable[str] = ("model",)
) -> CostReport:
    """The bills of the whole log and of each group. `touches` None: the log does not hold the prompts.

    `by`: model, provider, route, tenant, session, file.
    """
    columns = {name: getattr(trace.requests, name) for name in by}
    total: dict[int, _Tally] = {}
    groups: dict[str, dict[str, dict[int, _Tally]]] = {name: defaultdict(dict) for name in columns}
    possible = _possible(trace, touches)
    unknown: Counter[str] = Counter()
    unpriced = 0
    for priced in rows:
        if priced.unknown is not None or priced.tokens is None or priced.rates is None:
            unknown[priced.unknown or "unknown"] += 1
            unpriced += priced.price_unknown
            continue
        places = [total]
        places += [groups[name][column.of(priced.row) or "(none)"] for name, column in columns.items()]
        for place in places:
            tally = place.setdefault(id(priced.rates), _Tally(priced.rates))
            _add(tally, priced.tokens)
            if possible is not None:
                tally.possible_read += possible[0][priced.row]
                tally.possible_written += possible[1][priced.row]
    with_possible = possible is not None
    return CostReport(
        requests=len(rows),
        bills=_bills(total.values(), with_possible),
        groups={
            name: {
                value: _bills(tallies.values(), with_possible) for value, tallies in sorted(values.items())
            }
            for name, values in groups.items()
        },
        unknown=dict(unknown.most_common()),
        unpriced=unpriced,
    )


def _possible(trace: Trace, touches: Touches | None) -> tuple[list[int], list[int]] | None:
    """Per request the tokens that could be read and those worth writing, in the provider's count."""
    if touches is None:
        return None
    count = len(trace)
    prompt, scale = trace.requests.prompt_tokens, scales(trace)
    read = np.minimum(touches.reusable(count), np.maximum(prompt - 1, 0))
    written = np.minimum(touches.worth_writing(count), prompt - read)
    return np.floor(read * scale).astype(int).tolist(), np.floor(written * scale).astype(int).tolist()


def _add(tally: _Tally, tokens: Tokens) -> None:
    tally.requests += 1
    tally.hits += tokens.read > 0
    tally.uncached += tokens.uncached
    tally.read += tokens.read
    tally.output += tokens.output
    for ttl, count in tokens.written.items():
        tally.written[ttl] += count


def _bills(tallies: Iterable[_Tally], with_possible: bool) -> dict[str, Bill]:
    by_currency: dict[str, list[_Tally]] = defaultdict(list)
    for tally in tallies:
        by_currency[tally.rates.currency].append(tally)
    return {
        currency: _bill(currency, group, with_possible) for currency, group in sorted(by_currency.items())
    }


def _bill(currency: str, tallies: Sequence[_Tally], with_possible: bool) -> Bill:
    paid = output = without = read_saving = premium = possible = Decimal(0)
    input_value = read_value = Decimal(0)
    written: Counter[int] = Counter()
    for tally in tallies:
        rates = tally.rates
        price = rates.input or Decimal(0)
        money = rates.cost(Tokens(tally.uncached, tally.read, tally.written, tally.output))
        paid += money.total
        output += money.output
        without += rates.cost(Tokens(tally.prompt, output=tally.output)).total
        read_saving += tally.read * (price - (rates.read or price)) / MILLION
        premium += (
            sum(
                (count * (rates.write_rate(ttl) - price) for ttl, count in tally.written.items() if count),
                Decimal(0),
            )
            / MILLION
        )
        possible += _least(tally)
        input_value += tally.prompt * price
        read_value += tally.read * price
        written.update(tally.written)
    requests = sum(t.requests for t in tallies)
    prompt, read = sum(t.prompt for t in tallies), sum(t.read for t in tallies)
    return Bill(
        currency=currency,
        requests=requests,
        prompt_tokens=prompt,
        uncached_tokens=sum(t.uncached for t in tallies),
        read_tokens=read,
        written_tokens=dict(sorted(written.items())),
        output_tokens=sum(t.output for t in tallies),
        paid=paid,
        paid_output=output,
        without_cache=without,
        saving=without - paid,
        read_saving=read_saving,
        write_premium=premium,
        possible=possible if with_possible else None,
        possible_read_tokens=sum(t.possible_read for t in tallies) if with_possible else None,
        hit_rates=HitRates(
            sum(t.hits for t in tallies) / requests if requests else None,
            read / prompt if prompt else None,
            float(read_value / input_value) if input_value else None,
        ),
    )


def _least(tally: _Tally) -> Decimal:
    """The bill of a cache that forgets nothing; never above the bill without one."""
    rates = tally.rates
    without = rates.cost(Tokens(tally.prompt, output=tally.output)).total
    if rates.read is None:
        return without
    shortest = min(rates.written, default=0)
    read, written = tally.possible_read, tally.possible_written
    best = rates.cost(Tokens(tally.prompt - read - written, read, {shortest: written}, tally.output)).total
    return min(best, without)
