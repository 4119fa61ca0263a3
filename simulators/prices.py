"""What a token costs: per provider, model, moment, prompt length, tier, speed and region.

Prices come in layers, later ones stronger: the genai-prices data, a small dated overlay for what that data
lacks, the user's own price file. Every layer is a list of `PriceRule`; this module picks and combines them.
Money is Decimal from the file to the report. A price nobody states is unknown: `UnknownPriceError`, never 0.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final

from analyzers.usage import UNSTATED_TTL

MILLION: Final = Decimal(1_000_000)
STANDARD: Final = "standard"


class UnknownPriceError(LookupError):
    """No layer states the price asked for. The message says which one, without naming a request."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """What one call is billed for, in tokens. `written`: lifetime in seconds -> tokens."""

    uncached: int
    read: int = 0
    written: Mapping[int, int] = field(default_factory=dict)
    output: int = 0

    @property
    def prompt(self) -> int:
        return self.uncached + self.read + sum(self.written.values())


@dataclass(frozen=True, slots=True)
class Money:
    """A call's cost by the kind of token; all in one currency."""

    uncached: Decimal
    read: Decimal
    written: Decimal
    output: Decimal
    currency: str = "USD"

    @property
    def total(self) -> Decimal:
        return self.uncached + self.read + self.written + self.output


@dataclass(frozen=True, slots=True)
class Rates:
    """Money per million tokens; `storage_hour` per million tokens kept for an hour. None = not stated.

    `written` by lifetime in seconds. A list without any write price charges written tokens as input; tokens
    whose lifetime is not stated are billed at the shortest one.
    """

    input: Decimal | None = None
    output: Decimal | None = None
    read: Decimal | None = None
    written: Mapping[int, Decimal] = field(default_factory=dict)
    storage_hour: Decimal | None = None
    currency: str = "USD"

    def write_rate(self, ttl: int) -> Decimal:
        """The price of a million tokens written with this lifetime. Raises UnknownPriceError."""
        if ttl in self.written:
            return self.written[ttl]
        if not self.written and self.input is not None:
            return self.input
        if ttl == UNSTATED_TTL and self.written:
            return self.written[min(self.written)]
        raise UnknownPriceError(f"no price for writes that live {ttl} s")

    def cost(self, tokens: Tokens) -> Money:
        """The bill of one call: (U·p + R·r + Σ W_t·w_t + O·q) / 1e6. Raises UnknownPriceError."""
        if self.input is None:
            raise UnknownPriceError("no input price")
        if tokens.read and self.read is None:
            raise UnknownPriceError("no price for cached reads")
        if tokens.output and self.output is None:
            raise UnknownPriceError("no output price")
        written = sum(
            (count * self.write_rate(ttl) for ttl, count in tokens.written.items() if count), Decimal(0)
        )
        return Money(
            tokens.uncached * self.input / MILLION,
            tokens.read * (self.read or Decimal(0)) / MILLION,
            written / MILLION,
            tokens.output * (self.output or Decimal(0)) / MILLION,
            self.currency,
        )

    def patched(self, other: "Rates") -> "Rates":
        """These rates with whatever `other` states instead."""
        return Rates(
            self.input if other.input is None else other.input,
            self.output if other.output is None else other.output,
            self.read if other.read is None else other.read,
            {**self.written, **other.written},
            self.storage_hour if other.storage_hour is None else other.storage_hour,
            self.currency,
        )

    def times(self, factors: "Rates") -> "Rates":
        """These rates multiplied by the factors stated for them; a lifetime without its own uses UNSTATED_TTL's."""
        one = Decimal(1)

        def scaled(rate: Decimal | None, factor: Decimal | None) -> Decimal | None:
            return rate if rate is None or factor is None else rate * factor

        written = {
            ttl: rate * factors.written.get(ttl, factors.written.get(UNSTATED_TTL, one))
            for ttl, rate in self.written.items()
        }
        return replace(
            self,
            input=scaled(self.input, factors.input),
            output=scaled(self.output, factors.output),
            read=scaled(self.read, factors.read),
            written=written,
        )


@dataclass(frozen=True, slots=True)
class PriceRule:
    """One stated price: for whom, when, and what. Later rules are stronger.

    `list` (prices; with an input price and no tier, speed or region it starts a new price list, else it
    changes what it states), `factors` (multiply what is there) and `of_input` (fill what the list lacks, as
    a multiple of its input price) are alternatives. `above`: prices for prompts longer than so many tokens,
    on the whole request. `hours` are UTC, end exclusive; `weekdays` 0 = Monday.
    """

    models: tuple[str, ...]
    provider: str | None = None
    list: Rates = field(default_factory=Rates)
    above: tuple[tuple[int, Rates], ...] = ()
    factors: Rates | None = None
    of_input: Rates | None = None
    start: date | None = None
    end: date | None = None
    hours: tuple[tuple[time, time], ...] = ()
    weekdays: frozenset[int] = frozenset()
    except_dates: frozenset[date] = frozenset()
    tier: str | None = None
    speed: str | None = None
    region: str | None = None
    source: str = ""
    confidence: str = ""
    layer: str = ""

    @property
    def starts_list(self) -> bool:
        return self.list.input is not None and not (self.tier or self.speed or self.region)

    @property
    def by_hour(self) -> bool:
        return bool(self.hours or self.weekdays)

    def at(self, prompt_tokens: int) -> Rates:
        """The rates for a prompt of this length: a cliff on the whole request."""
        place = bisect_left([start for start, _ in self.above], prompt_tokens)
        return self.list if place == 0 else self.above[place - 1][1]

    def covers(self, moment: datetime) -> bool:
        """Whether the rule holds at this moment (aware, UTC)."""
        day, clock = moment.date(), moment.time()
        if (self.start and day < self.start) or (self.end and day >= self.end):
            return False
        if self.weekdays and (moment.weekday() not in self.weekdays or day in self.except_dates):
            return False
        return not self.hours or any(
            start <= clock < end if start < end else clock >= start or clock < end
            for start, end in self.hours
        )


@dataclass(frozen=True, slots=True)
class Call:
    """What a price depends on. None: not known, or the standard one."""

    model: str
    provider: str | None = None
    moment: datetime | None = None
    prompt_tokens: int = 0
    tier: str | None = None
    speed: str | None = None
    region: str | None = None


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model as a price source knows it: ids to match rules against, and the rules it comes with."""

    provider: str
    model: str
    rules: tuple[PriceRule, ...]


Catalogue = Callable[[str | None, str], KnownModel | None]
"""Finds a model by provider (None: any) and name; None when it knows no such model."""

_STANDARD_WORDS = {
    "tier": {"", "standard", "default", "auto", "on_demand", "standard_only"},
    "speed": {"", "standard"},
    "region": {"", "global", "not_available"},
}
_SLOT_S = 900


class PriceBook:
    """Answers what a call costs per token, from a catalogue and the rules laid over it.

    `as_of` is the day whose prices hold for calls without a time.
    """

    def __init__(self, catalogue: Catalogue, rules: Iterable[PriceRule], as_of: date) -> None:
        self._catalogue = catalogue
        self._rules = tuple(rules)
        self._as_of = datetime.combine(as_of, time(12), UTC)
        self._schedules: dict[tuple[str | None, str], tuple[PriceRule, ...]] = {}
        self._answers: dict[tuple[object, ...], Rates | str] = {}
        self._lists: dict[tuple[object, ...], Rates] = {}

    def rates(self, call: Call) -> Rates:
        """The rates of one call; equal rates are one object. Raises UnknownPriceError, which says what is not known."""
        schedule = self._schedule(call.provider, call.model)
        dated = any(rule.by_hour or rule.start or rule.end for rule in schedule)
        slot = int(call.moment.timestamp()) // _SLOT_S if dated and call.moment else None
        bracket = sum(call.prompt_tokens > start for rule in schedule for start, _ in rule.above)
        key = (call.provider, call.model, slot, bracket, call.tier, call.speed, call.region)
        if key not in self._answers:
            try:
                self._answers[key] = self._interned(self._combine(schedule, call))
            except UnknownPriceError as problem:
                self._answers[key] = str(problem)
        answer = self._answers[key]
        if isinstance(answer, str):
            raise UnknownPriceError(answer)
        return answer

    def rules_for(self, provider: str | None, model: str) -> tuple[PriceRule, ...]:
        """Every rule that can decide this model's price, weakest first: what a report cites."""
        return self._schedule(provider, model)

    def own_names(self) -> set[str]:
        """The models whose prices the overlay and the user's files list, in lower case."""
        return {pattern.rstrip("*") for rule in self._rules if rule.starts_list for pattern in rule.models}

    def _interned(self, rates: Rates) -> Rates:
        written = tuple(sorted(rates.written.items()))
        key = (rates.input, rates.output, rates.read, written, rates.storage_hour, rates.currency)
        return self._lists.setdefault(key, rates)

    def _schedule(self, provider: str | None, model: str) -> tuple[PriceRule, ...]:
        key = (provider, model)
        if key not in self._schedules:
            known = self._catalogue(provider, model)
            names = {model.lower(), model.lower().rpartition("/")[2]}
            providers = {provider}
            if known:
                names.add(known.model.lower())
                providers = {known.provider}
            self._schedules[key] = (known.rules if known else ()) + tuple(
                rule
                for rule in self._rules
                if (rule.provider is None or rule.provider in providers)
                and any(fnmatchcase(name, pattern) for name in names for pattern in rule.models)
            )
        return self._schedules[key]

    def _combine(self, schedule: tuple[PriceRule, ...], call: Call) -> Rates:
        if call.moment is None and any(rule.by_hour for rule in schedule):
            raise UnknownPriceError(f"{call.model} is priced by the hour and the call has no time")
        moment = (call.moment or self._as_of).astimezone(UTC)
        current = [rule for rule in schedule if rule.covers(moment)]
        starts = [place for place, rule in enumerate(current) if rule.starts_list]
        if not starts:
            raise UnknownPriceError(
                f"no price for {call.model}" + (f" on {call.provider}" if call.provider else "")
            )
        first = current[starts[-1]]
        # A stronger layer's list replaces the amounts of the weaker ones; multiples still hold on it.
        weaker = [rule for rule in current[: starts[-1]] if rule.factors or rule.of_input]
        current = weaker + current[starts[-1] + 1 :]
        rates = first.at(call.prompt_tokens)
        for rule in current:
            if not (rule.tier or rule.speed or rule.region or rule.factors or rule.of_input):
                rates = rates.patched(rule.at(call.prompt_tokens))
        for aspect in ("speed", "region", "tier"):
            value = getattr(call, aspect)
            if (value or "").lower() not in _STANDARD_WORDS[aspect]:
                rates = self._adjusted(
                    rates, [rule for rule in current if getattr(rule, aspect)], aspect, call
                )
        for rule in current:
            if rule.of_input and rates.input is not None:
                rates = _filled(rates, rule.of_input, rates.input)
        return rates

    def _adjusted(self, rates: Rates, rules: list[PriceRule], aspect: str, call: Call) -> Rates:
        value = getattr(call, aspect)
        fitting = [rule for rule in rules if fnmatchcase(value.lower(), getattr(rule, aspect))]
        stated = [rule for rule in fitting if rule.factors is None]
        for rule in stated:
            rates = rates.patched(rule.at(call.prompt_tokens))
        if not stated:
            factors = [rule.factors for rule in fitting if rule.factors is not None]
            if not factors:
                raise UnknownPriceError(f"no {aspect} price '{value}' for {call.model}")
            rates = rates.times(factors[-1])
        return rates


def _filled(rates: Rates, multiples: Rates, price: Decimal) -> Rates:
    """The rates with what they lack filled in as multiples of the input price."""
    written = {ttl: multiple * price for ttl, multiple in multiples.written.items()}
    return replace(
        rates,
        read=multiples.read * price if rates.read is None and multiples.read is not None else rates.read,
        written={**written, **rates.written},
    )
