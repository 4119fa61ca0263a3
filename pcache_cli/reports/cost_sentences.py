"""The verdict and the advice of `pcache cost` as sentences. No arithmetic here."""

from pcache_cli.console import plain
from pcache_cli.reports.money import lifetime, money, share
from pcache_cli.reports.numbers import count
from simulators.cost import Bill
from simulators.cost_advice import Advice, Step
from simulators.cost_overview import CostOverview
from simulators.lifetimes import Forecast


def verdict(overview: CostOverview) -> str:
    """The answer in one sentence."""
    bills = list(overview.report.bills.values())
    if not bills:
        return "The log states no usage that can be billed. " + " ".join(map(_outlook, overview.forecasts))
    return " ".join(map(_paid, bills))


def _paid(bill: Bill) -> str:
    they = "it" if bill.requests == 1 else "they"
    sentence = f"{_plural(bill.requests, 'request')} cost {money(bill.paid, bill.currency)}; "
    without = money(bill.without_cache, bill.currency)
    if bill.saving > 0:
        sentence += f"without a cache {they} would have cost {without} ({share(bill.saving, bill.without_cache)} saved)"
    elif bill.saving < 0:
        sentence += f"without a cache {they} would have cost less, {without}: the writes do not pay"
    else:
        sentence += "the cache changed nothing"
    if bill.possible is not None:
        best = money(bill.possible, bill.currency)
        if bill.possible < bill.paid:
            sentence += f"; a cache that forgets nothing would have made it {best}"
        else:
            sentence += f"; starting cold, no cache could have made it less than {best}"
    return sentence + "."


def _outlook(forecast: Forecast) -> str:
    low, high = sorted((forecast.prompt_best, forecast.prompt_careful))
    return (
        f"The prompts of {_plural(forecast.requests, 'request')} cost {money(forecast.prompt_without, forecast.currency)} "
        f"without a cache and between {money(low, forecast.currency)} and {money(high, forecast.currency)} with one."
    )


def sentence(advice: Advice) -> str:
    """One step as an imperative sentence, without its full stop."""
    saving = money(advice.saving, advice.currency)
    if advice.step is Step.READ_WHAT_REPEATS:
        return (
            f"up to {saving} lies in beginnings of prompts that repeat and were not read: "
            "`pcache simulate --provider auto` says why"
        )
    if advice.step is Step.REMOVE_BREAKER:
        return (
            f"take out what breaks the prefix ({advice.rule}): {_plural(advice.requests, 'request')} computed "
            f"{count(advice.tokens)} tokens anew, for {saving}"
        )
    if advice.step is Step.SET_MARKERS:
        return (
            f"mark what repeats for {plain(advice.model or '')} with the {lifetime(advice.ttl_s or 0)} lifetime: "
            f"it saves {saving} of {money(advice.of, advice.currency)}"
        )
    if advice.step is Step.CHANGE_LIFETIME:
        return (
            f"use the {lifetime(advice.ttl_s or 0)} lifetime instead of {lifetime(advice.instead_of_ttl_s or 0)} for "
            f"{plain(advice.model or '')}: on these gaps it saves {saving} of {money(advice.of, advice.currency)}"
        )
    if advice.step is Step.SEND_ONE_FIRST:
        return (
            f"send one request first and the others once it answers: {advice.requests} that started together wrote "
            f"{count(advice.tokens)} tokens {_plural(advice.rewrites, 'time')} too often ({saving})"
        )
    return (
        f"keep the {count(advice.tokens)}-token prefix warm: {_plural(advice.reads, 'read')} instead of "
        f"{_plural(advice.rewrites, 'rewrite')} saves {saving}"
    )


def _plural(number: int, word: str) -> str:
    return f"{count(number)} {word}" if number == 1 else f"{count(number)} {word}s"
