"""Everything `pcache cost` answers about a log that providers bill, in one call."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyzers.errors import CannotEvaluateError
from analyzers.request import Request
from analyzers.trace import Names, Trace
from simulators.cost import NO_MODEL, CostReport, PricedRow, cost_report, priced_rows
from simulators.cost_advice import Advice, advise
from simulators.explicit_caches import ExplicitCache, explicit_caches
from simulators.lifetimes import Forecast, LifetimeChoice, forecast, has_times, lifetime_choices
from simulators.logged_usage import share_of_partial_prompts
from simulators.prewarm import Prewarming, prewarming
from simulators.prices import PriceBook
from simulators.providers.rules import RuleBook
from simulators.touches import touches_of

MOST_PARTIAL = 0.1
"""Largest share of tokens in partly logged prompts with which the prompts still tell what was possible."""


@dataclass(frozen=True)
class CostOverview:
    """The bill, and what could be done about it. Lists are empty and `prewarming` None where the log holds no
    prompts or no times."""

    report: CostReport
    advice: list[Advice]
    forecasts: list[Forecast]
    lifetimes: list[LifetimeChoice]
    prewarming: Prewarming | None
    explicit_caches: list[ExplicitCache]

    def with_advice(self, more: Sequence[Advice]) -> "CostOverview":
        """The overview with further steps in their place."""
        return replace(self, advice=sorted([*self.advice, *more], key=lambda a: (-a.saving, a.step)))


def cost_overview(
    trace: Trace,
    requests: Sequence[Request] | None,
    book: PriceBook,
    rules: RuleBook,
    by: Sequence[str] = ("model",),
    top: int = 10,
) -> CostOverview:
    """Price the log and everything it could have been. Raises CannotEvaluateError when no price is known."""
    rows = priced_rows(trace, requests, book)
    if all(row.rates is None for row in rows):
        reasons = ", ".join(dict.fromkeys(row.unknown or "" for row in rows[:1000]))
        nameless = all(row.unknown == NO_MODEL for row in rows)
        remedy = "say which one with --assume-model" if nameless else "give one with --prices FILE"
        raise CannotEvaluateError(f"no request has a known price ({reasons}); {remedy}")
    unreadable = _why_prompts_tell_nothing(trace)
    if unreadable is not None:
        report = cost_report(trace, rows, None, by)
        report.notes.append(unreadable)
        return CostOverview(report, advise(report, [], None), [], [], None, [])
    touches = touches_of(trace)
    report = cost_report(trace, rows, touches, by)
    counted = int((trace.requests.usage_prompt < 0).sum())
    if counted:
        info = trace.info
        report.notes.append(
            f"the prompts of {counted} requests without usage are counted with {info.tokenizer} ({info.tokenizer_note}): "
            "what follows from them is an estimate"
        )
    if not has_times(trace):
        report.notes.append("the log has no times, so lifetimes and pre-warming cannot be judged")
        return CostOverview(report, advise(report, [], None), [], [], None, [])
    choices = lifetime_choices(trace, touches, rows, _default_lifetimes(trace, rows, rules), top)
    warm = prewarming(trace, touches, rows, top=top)
    return CostOverview(
        report=report,
        advice=advise(report, choices, warm),
        forecasts=forecast(trace, touches, rows, choices),
        lifetimes=choices,
        prewarming=warm,
        explicit_caches=explicit_caches(trace, touches, rows, top=top),
    )


def with_assumed_model(trace: Trace, model: str) -> Trace:
    """The trace with this model on every request that names none."""
    column = trace.requests.model
    values = [*column.values, model]
    codes = np.where(column.codes < 0, len(column.values), column.codes).astype(np.int32)
    return replace(trace, requests=replace(trace.requests, model=Names(codes, values)))


def _why_prompts_tell_nothing(trace: Trace) -> str | None:
    if not bool((trace.requests.leaf >= 0).any()):
        return "the log holds no prompts, so what was possible is not known"
    partial = share_of_partial_prompts(trace)
    if partial > MOST_PARTIAL:
        return (
            f"{100 * partial:.0f} % of the tokens stand in requests whose prompt is only partly in the log, "
            "so what was possible is not known"
        )
    return None


def _default_lifetimes(trace: Trace, rows: Sequence[PricedRow], rules: RuleBook) -> dict[int, int]:
    """The lifetime that each request's provider gives unasked, where its rules are known."""
    known: dict[tuple[str | None, str | None], int | None] = {}
    found = {}
    for row in rows:
        key = trace.requests.provider.of(row.row), trace.requests.model.of(row.row)
        if key not in known:
            theirs = rules.rules(*key)
            known[key] = None if theirs is None else theirs.default_lifetime
        lifetime = known[key]
        if lifetime is not None:
            found[row.row] = lifetime
    return found
