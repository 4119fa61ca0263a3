"""`pcache cost` for people: what was paid, what to do about it, then the tables. No arithmetic here."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.cost_sentences import sentence, verdict
from pcache_cli.reports.money import lifetime, money, share, signed
from pcache_cli.reports.numbers import count, duration, percent, short_name
from pcache_cli.reports.tables import FittedTable
from simulators.cost import Bill, CostReport
from simulators.cost_overview import CostOverview
from simulators.explicit_caches import ExplicitCache
from simulators.lifetimes import Forecast, LifetimeChoice
from simulators.prewarm import Prewarming

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.findings import Finding
    from analyzers.trace import Trace
    from pcache_cli.breaker_costs import BreakerCost

_ROWS_OF_A_GROUP = 12
_PRICE_LISTS = 3
_STEPS = 3


def print_cost(
    console: "Console",
    overview: CostOverview,
    trace: "Trace",
    findings: Sequence["Finding"] = (),
    breakers: Sequence["BreakerCost"] | None = None,
) -> None:
    """The whole report on a terminal. `findings`: what the accounting rules found; `breakers`: None if not asked."""
    console.print(verdict(overview), style="bold")
    for number, advice in enumerate(overview.advice[:_STEPS], 1):
        console.print(f"  {number}. {sentence(advice)}.")
    _print_left_out(console, overview.report)
    for note in overview.report.notes:
        console.print(f"Note: {plain(note)}.", style="dim")
    for finding in findings:
        where = plain(f"{finding.location.path}:{finding.location.line}")
        console.print(
            f"{finding.rule} {where} {plain(finding.message)}. {plain(finding.fix.advice) if finding.fix else ''}",
            style="yellow",
        )
    for bill in overview.report.bills.values():
        console.print()
        console.print(_bill(bill))
    for label, groups in overview.report.groups.items():
        if len(groups) > 1:
            console.print()
            console.print(_groups(label, groups))
    if breakers is not None:
        console.print()
        console.print(_breakers(breakers))
    for forecast in overview.forecasts:
        console.print()
        console.print(_forecast(forecast))
    charged = [choice for choice in overview.lifetimes if choice.charged_writes]
    for choice in charged[:_PRICE_LISTS]:
        console.print()
        console.print(_lifetimes(choice))
        if len(choice.options) > 1:
            console.print()
            console.print(_prefixes(choice, trace))
    if len(charged) > _PRICE_LISTS:
        console.print(
            f"… and {count(len(charged) - _PRICE_LISTS)} more price lists with less at stake.", style="dim"
        )
    if overview.prewarming is not None:
        _print_prewarming(console, overview.prewarming, trace)
    if overview.explicit_caches:
        console.print()
        console.print(_explicit(overview.explicit_caches))


def _print_left_out(console: "Console", report: CostReport) -> None:
    left_out = sum(report.unknown.values())
    if left_out:
        reasons = "; ".join(f"{count(n)}: {plain(reason)}" for reason, n in report.unknown.items())
        console.print(
            f"Not in the bill: {count(left_out)} of {count(report.requests)} requests ({reasons}).",
            style="yellow",
        )


def _bill(bill: Bill) -> FittedTable:
    table = FittedTable(f"The bill ({bill.currency})", "", "tokens", "money", "")
    written = sum(bill.written_tokens.values())
    table.add_row("prompt tokens", count(bill.prompt_tokens), "", "")
    table.add_row("  uncached", count(bill.uncached_tokens), "", "")
    table.add_row(
        "  read from cache",
        count(bill.read_tokens),
        signed(-bill.read_saving, bill.currency),
        "saved by reads",
    )
    table.add_row(
        "  written to cache",
        count(written),
        signed(bill.write_premium, bill.currency),
        "premium of writes",
    )
    for ttl, tokens in bill.written_tokens.items():
        if tokens:
            table.add_row(f"    {lifetime(ttl)}", count(tokens), "", "")
    table.add_row("output tokens", count(bill.output_tokens), money(bill.paid_output, bill.currency), "")
    table.add_row("paid", "", money(bill.paid, bill.currency), "")
    table.add_row("without a cache", "", money(bill.without_cache, bill.currency), "")
    if bill.possible is not None:
        table.add_row(
            "possible",
            count(bill.possible_read_tokens),
            money(bill.possible, bill.currency),
            "tokens that could be read",
        )
    rates = bill.hit_rates
    table.add_row("hit rate by requests", "", percent(rates.requests), "")
    table.add_row("  by tokens", "", percent(rates.tokens), "")
    table.add_row("  by money", "", percent(rates.money), "")
    return table


def _groups(label: str, groups: Mapping[str, Mapping[str, Bill]]) -> FittedTable:
    table = FittedTable(
        f"By {plain(label)}",
        label,
        "requests",
        "paid",
        "without cache",
        "saved",
        "possible",
        "hits by tokens",
        "by money",
    )
    rows = sorted(
        ((name, bill) for name, bills in groups.items() for bill in bills.values()),
        key=lambda row: (row[1].currency, -row[1].paid, row[0]),
    )
    for name, bill in rows[:_ROWS_OF_A_GROUP]:
        table.add_row(
            plain(name),
            count(bill.requests),
            money(bill.paid, bill.currency),
            money(bill.without_cache, bill.currency),
            share(bill.saving, bill.without_cache),
            money(bill.possible, bill.currency),
            percent(bill.hit_rates.tokens),
            percent(bill.hit_rates.money),
        )
    if len(rows) > _ROWS_OF_A_GROUP:
        table.add_row(f"… {len(rows) - _ROWS_OF_A_GROUP} more", *[""] * 7)
    return table


def _breakers(breakers: Sequence["BreakerCost"]) -> FittedTable:
    table = FittedTable("By breaker", "rule", "what", "requests", "tokens lost", "costs", text=(0, 1), head=2)
    for breaker in breakers[:_ROWS_OF_A_GROUP]:
        costs = ", ".join(money(amount, currency) for currency, amount in breaker.money.items()) or "unknown"
        table.add_row(
            breaker.rule, plain(breaker.message), count(breaker.requests), count(breaker.tokens_lost), costs
        )
    if not breakers:
        table.add_row("none", "", "", "", "")
    return table


def _forecast(forecast: Forecast) -> FittedTable:
    table = FittedTable(f"Forecast for the prompts ({forecast.currency})", "", "money", "")
    table.add_row("no cache at all", money(forecast.prompt_without, forecast.currency), "")
    for name, cost in (
        ("every prompt cached to its end", forecast.prompt_careful),
        ("only what comes back, best lifetimes", forecast.prompt_best),
    ):
        saved = forecast.prompt_without - cost
        table.add_row(name, money(cost, forecast.currency), f"{share(saved, forecast.prompt_without)} saved")
    table.add_row("output, which no cache changes", money(forecast.output, forecast.currency), "")
    return table


def _lifetimes(choice: LifetimeChoice) -> FittedTable:
    table = FittedTable(
        f"Lifetimes for {count(choice.prefixes)} shared prefix{'' if choice.prefixes == 1 else 'es'} of {plain(choice.model)} ({choice.currency})",
        "lifetime",
        "writes",
        "reads",
        "tokens written",
        "cost",
        "saved",
    )
    table.add_row("none", "", "", "", money(choice.without, choice.currency), "")
    for option in choice.options:
        mark = " (best)" if option.ttl_s == choice.best_ttl_s and len(choice.options) > 1 else ""
        table.add_row(
            f"{lifetime(option.ttl_s)}{mark}",
            count(option.writes),
            count(option.reads),
            count(option.written_tokens),
            money(option.cost, choice.currency),
            share(choice.without - option.cost, choice.without),
        )
    if len(choice.options) > 1:
        saved = share(choice.without - choice.best_each, choice.without)
        table.add_row("the best for each", "", "", "", money(choice.best_each, choice.currency), saved)
    return table


def _prefixes(choice: LifetimeChoice, trace: "Trace") -> FittedTable:
    names = [lifetime(option.ttl_s) for option in choice.options]
    table = FittedTable(
        "The prefixes that matter most",
        "first seen in",
        "tokens",
        "requests",
        "median gap",
        "uncached",
        *names,
        "best",
    )
    for prefix in choice.top:
        best = prefix.best_ttl_s
        table.add_row(
            plain(short_name(trace.requests.request_id[prefix.first_row])),
            f"{count(prefix.start)}–{count(prefix.end)}",
            count(prefix.requests),
            duration(prefix.median_gap_s),
            money(prefix.without, prefix.currency),
            *[money(option.cost, prefix.currency) for option in prefix.options],
            "none" if best is None else lifetime(best),
        )
    return table


def _print_prewarming(console: "Console", warm: Prewarming, trace: "Trace") -> None:
    names = trace.requests.request_id
    if warm.bursts:
        table = FittedTable(
            "Started together before any of them could be read",
            "first",
            "requests",
            "tokens",
            "needless writes",
            "costs",
        )
        for burst in warm.bursts:
            table.add_row(
                plain(short_name(names[burst.first_row])),
                count(len(burst.rows)),
                count(burst.tokens),
                count(burst.needless),
                money(burst.saving, burst.currency),
            )
        console.print()
        console.print(table)
    if warm.keep:
        table = FittedTable(
            "Prefixes worth keeping warm",
            "first seen in",
            "tokens",
            "lifetime",
            "rewrites",
            "reads instead",
            "saves",
            "pays for gaps up to",
            "mostly at (UTC)",
        )
        for keep in warm.keep:
            table.add_row(
                plain(short_name(names[keep.first_row])),
                count(keep.tokens),
                lifetime(keep.ttl_s),
                count(keep.rewrites),
                count(keep.pings),
                money(keep.saving, keep.currency),
                "all" if keep.worth_up_to_s is None else duration(keep.worth_up_to_s),
                ", ".join(f"{hour:02d}h" for hour in keep.hours_utc),
            )
        console.print()
        console.print(table)


def _explicit(caches: Sequence[ExplicitCache]) -> FittedTable:
    table = FittedTable(
        "Cache objects paid by the hour", "model", "tokens", "hits/h", "break-even hits/h", "net per hour"
    )
    for cache in caches:
        table.add_row(
            plain(cache.model),
            count(cache.tokens),
            f"{cache.hits_per_hour:,.1f}",
            f"{cache.break_even_hits_per_hour:,.2f}",
            money(cache.net_per_hour, cache.currency),
        )
    return table
