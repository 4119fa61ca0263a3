"""Everything the HTML report shows, asked of the analyzers and simulators once."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.errors import CannotEvaluateError
from pcache_cli import console
from pcache_cli.log_source import log_behind

if TYPE_CHECKING:
    from analyzers.pipeline import TracedLog
    from analyzers.prefix_map import PrefixMap
    from analyzers.reuse import Reuse
    from analyzers.study import Study
    from analyzers.trace import Trace
    from pcache_cli.log_source import LogSource
    from pcache_cli.reports.analyze import InputAccount
    from simulators.cost_overview import CostOverview
    from simulators.miss_timeline import MissTimeline
    from simulators.prices import PriceBook
    from simulators.providers.rules import RuleBook
    from simulators.runs import Run, Sweep

DEFAULT_BLOCK = 16
DEFAULT_LIFETIME_S = 300.0
"""Shown for the classes of misses: the shortest lifetime that providers promise (Anthropic, Bedrock: 5 minutes)."""


@dataclass(frozen=True)
class ReportWords:
    """What a person may choose about a report. `lifetime_s` shapes the classes of misses, None for no expiry."""

    lifetime_s: float | None = DEFAULT_LIFETIME_S
    block_size: int | None = None
    prices: Sequence[Path] = ()
    rules: Sequence[Path] = ()
    assume_model: str | None = None


@dataclass(frozen=True)
class GroupRow:
    """One value of a field: reuse and, where the log can be priced in one currency, money."""

    label: str
    requests: int
    prompt_tokens: int
    reusable_tokens: int
    ratio: float | None
    logged_read_ratio: float | None
    paid: Decimal | None
    possible: Decimal | None
    to_save: Decimal | None


@dataclass(frozen=True)
class LogReport:
    """The parts of a report; None for what this input cannot tell, with the reason in `missing` where that needs
    saying (keys: money, breakers, simulation)."""

    trace: "Trace"
    account: "InputAccount | None"
    reuse: "Reuse"
    study: "Study | None"
    costs: "CostOverview | None"
    tree: "PrefixMap | None"
    sweep: "Sweep | None"
    run: "Run | None"
    timeline: "MissTimeline | None"
    to_save: dict[str, Decimal]
    """By currency: paid less what a cache that forgets nothing would have made of it."""
    groups: dict[str, tuple[GroupRow, ...]]
    currency: str | None
    """Of the money in `groups`; None where there is none, or more than one currency."""
    missing: dict[str, str]
    definitions: dict[str, dict[str, str]]


def gather_report(source: "LogSource", words: ReportWords) -> LogReport:
    """Read the input and answer everything the report shows. Raises as the commands that it stands for."""
    from analyzers import reuse as reuse_figures
    from analyzers.study import study_breakers
    from pcache_cli.lint_prices import limits_of
    from pcache_cli.reports.analyze import account_of
    from simulators import cost as cost_figures
    from simulators import runs as run_figures
    from simulators.miss_timeline import miss_timeline
    from simulators.price_files import load_price_book
    from simulators.prices_base import seller_names
    from simulators.providers.known_models import check_model
    from simulators.providers.rules import load_rule_book

    prices, rules = load_price_book(words.prices), load_rule_book(words.rules)
    if words.assume_model is not None:
        check_model("--assume-model ", words.assume_model, seller_names(), prices, rules)
    missing: dict[str, str] = {}
    traced: TracedLog | None = None
    account = study = None
    if source.is_trace():
        trace = source.trace()
        missing["breakers"] = (
            f"a trace holds no prompts; give {log_behind(trace.info.sources)} to see what breaks them"
        )
    else:
        traced = source.traced_log()
        trace, account = traced.trace, account_of(traced.log)
    has_prompts = bool((trace.requests.leaf >= 0).any())
    if traced is not None and has_prompts:
        with console.progress("looking for what breaks the prefix"):
            study = study_breakers(traced, limits_of)
        if not study.breakers and not trace.info.holds_text:
            missing["breakers"] = trace.info.tokenizer_note
    with console.progress("counting, pricing and simulating"):
        reuse = reuse_figures.analyze_reuse(trace)
        costs = _costs(trace, traced, words.assume_model, prices, rules, missing)
        sweep = run = timeline = None
        if has_prompts:
            sweep, run = _simulate(trace, traced, words)
            timeline = miss_timeline(trace, run.by_request)
        else:
            missing["simulation"] = "the log holds no prompts, so no cache can be simulated"
    bills = {} if costs is None else costs.report.bills
    currency = next(iter(bills)) if len(bills) == 1 else None
    return LogReport(
        trace=trace,
        account=account,
        reuse=reuse,
        study=study,
        costs=costs,
        tree=_tree(trace) if has_prompts else None,
        sweep=sweep,
        run=run,
        timeline=timeline,
        to_save={c: b.paid - b.possible for c, b in bills.items() if b.possible is not None},
        groups=_groups(reuse, costs, currency),
        currency=currency,
        missing=missing,
        definitions={
            "Reuse": reuse_figures.DEFINITIONS,
            "Money": cost_figures.DEFINITIONS,
            "Simulation": run_figures.DEFINITIONS,
        },
    )


def _tree(trace: "Trace") -> "PrefixMap":
    from analyzers.prefix_map import prefix_map

    return prefix_map(trace)


def _costs(
    trace: "Trace",
    traced: "TracedLog | None",
    model: str | None,
    prices: "PriceBook",
    rules: "RuleBook",
    missing: dict[str, str],
) -> "CostOverview | None":
    from simulators.cost_overview import cost_overview, with_assumed_model

    priced = trace if model is None else with_assumed_model(trace, model)
    requests = None if traced is None else traced.log.requests
    try:
        return cost_overview(priced, requests, prices, rules, ("model", "route", "tenant"))
    except CannotEvaluateError as problem:
        missing["money"] = str(problem)
        return None


def _simulate(trace: "Trace", traced: "TracedLog | None", words: ReportWords) -> "tuple[Sweep, Run]":
    from analyzers.trace import NO_TIME
    from pcache_cli.content import content_of
    from simulators.runs import run_lru, run_sweep

    unit = trace.info.unit
    sizes = (unit,) if unit > 1 else (1, DEFAULT_BLOCK, 128)
    timed = bool((trace.requests.time_ns != NO_TIME).all())
    size = words.block_size or (unit if unit > 1 else DEFAULT_BLOCK)
    sweep = run_sweep(trace, sizes, None, None, None)
    content, _ = content_of(trace, traced, ignore_outputs=False)
    return sweep, run_lru(trace, size, None, words.lifetime_s if timed else None, content)


def _groups(
    reuse: "Reuse", costs: "CostOverview | None", currency: str | None
) -> dict[str, tuple[GroupRow, ...]]:
    """The reuse of each value of each field beside its money."""
    groups = {}
    for name, rows in reuse.groups.items():
        bills = costs.report.groups.get(name, {}) if costs is not None and currency is not None else {}
        found = []
        for row in rows:
            label = "(none)" if row.label == "(unknown)" else row.label
            bill = bills.get(label, {}).get(currency or "")
            possible = None if bill is None else bill.possible
            found.append(
                GroupRow(
                    label=row.label,
                    requests=row.requests,
                    prompt_tokens=row.prompt_tokens,
                    reusable_tokens=row.reusable_tokens,
                    ratio=row.ratio,
                    logged_read_ratio=row.logged_read_ratio,
                    paid=None if bill is None else bill.paid,
                    possible=possible,
                    to_save=None if bill is None or possible is None else bill.paid - possible,
                )
            )
        groups[name] = tuple(found)
    return groups
