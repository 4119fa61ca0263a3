"""What a lint finding costs: the tokens it keeps out of the cache, at a model's prices, for a day's requests."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial

from analyzers.errors import CannotEvaluateError
from analyzers.findings import Finding
from analyzers.rules.checking import ModelLimits
from analyzers.templates.parts import Scope

_MILLION = Decimal(1_000_000)


def saving_per_token(model: str) -> Decimal:
    """What one token costs more when it is read anew instead of from cache, in US dollars.

    Raises CannotEvaluateError where the price is not known or is in another currency.
    """
    from simulators.price_files import load_price_book
    from simulators.prices import Call, UnknownPriceError

    try:
        rates = load_price_book().rates(Call(model))
    except UnknownPriceError as problem:
        raise CannotEvaluateError(
            f"the price of '{model}' is not known ({problem}); leave --model out"
        ) from None
    if rates.input is None or rates.read is None or rates.currency != "USD":
        raise CannotEvaluateError(
            f"no price in US dollars for cached input of '{model}' is known; leave --model out"
        )
    return (rates.input - rates.read) / _MILLION


def priced(findings: Iterable[Finding], saving: Decimal, requests_per_day: int) -> list[Finding]:
    """The findings with the money they lose in a day, where the value changes at least every turn, so that each
    request pays. How often the others cost is not known without a log."""
    often = {str(Scope.TURN), str(Scope.REQUEST)}
    return [
        replace(finding, money_lost=saving * finding.tokens_lost * requests_per_day, money_per="day")
        if finding.tokens_lost and finding.evidence.scope in often
        else finding
        for finding in findings
    ]


@cache
def limits_of(provider: str | None, model: str | None) -> ModelLimits:
    """What the provider rules say of the model: its minimum, its markers. Unknown where no rules cover it."""
    if model is None and provider is None:
        return ModelLimits()
    from simulators.providers.rules import load_rule_book

    window = partial(_context_window, model)
    rules = load_rule_book().rules(provider, model)
    if rules is None:
        return ModelLimits(context_window=window)
    named = {300: "5m", 1800: "30m", 3600: "1h", 43200: "12h"}
    lifetimes = tuple(named[seconds] for seconds in rules.lifetimes if seconds in named)
    return ModelLimits(rules.minimum_tokens if model else None, window, rules.marker_limit, lifetimes)


@cache
def _context_window(model: str | None) -> int | None:
    """The longest prompt in tokens by the genai-prices data, None where it does not say."""
    if model is None:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, found = get_snapshot().find_provider_model(model, None, None, None)
    except LookupError:
        return None
    window: int | None = found.context_window
    return window
