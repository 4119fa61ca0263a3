"""`pcache simulate --provider`: the simulated figures beside the logged ones, for people and for files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcache_cli.console import plain
from pcache_cli.reports.money import lifetime, money, share
from pcache_cli.reports.numbers import count, percent, short_name
from pcache_cli.reports.tables import FittedTable
from simulators.cost import Bill
from simulators.providers.replay import MEANINGS, Agreement, Verdict
from simulators.providers.summary import ReplayedRequest, ReplaySummary

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.trace import Trace
    from pcache_cli.reports.figures import Figures
    from simulators.providers.replay import Replay

_ROWS = 40


def verdict(summary: ReplaySummary, baseline: ReplaySummary | None = None) -> str:
    """The answer in one sentence."""
    if baseline is not None:
        return (
            f"With the change {percent(summary.read_share)} of the prompt tokens are read from cache "
            f"instead of {percent(baseline.read_share)}.{_cost_of_change(summary.bills, baseline.bills)}"
        )
    rules = ", ".join(dict.fromkeys(used.provider for used in summary.rules))
    sentence = (
        f"Under the rules of {rules} {percent(summary.read_share)} of the prompt tokens are read from cache"
    )
    if summary.logged_read_share is not None:
        sentence += f"; the log shows {percent(summary.logged_read_share)}"
    return f"{sentence}. {agreement_sentence(summary.agreement)}"


def _cost_of_change(bills: Mapping[str, Bill], others: Mapping[str, Bill]) -> str:
    """What the requests cost then and now; more reads can cost more, as writes do."""
    told = []
    for currency, other in others.items():
        bill = bills.get(currency)
        told.append(
            f"{money(bill.paid if bill else None, currency)} instead of {money(other.paid, currency)}"
        )
    return f" The cost is {', '.join(told)}." if told else ""


def agreement_sentence(agreement: Agreement) -> str:
    """How far the replay and the log agree, request by request."""
    parts = []
    if agreement.determined:
        parts.append(
            f"{agreement.determined_agree} of {agreement.determined} reads that the log determines agree to the token"
        )
    if agreement.estimated:
        parts.append(
            f"{agreement.estimated_agree} of {agreement.estimated} estimated ones within 2 % of the prompt"
        )
    if not parts:
        return "The log determines no read to compare with."
    left_out = f" ({agreement.warm} more read what was cached before the log began)" if agreement.warm else ""
    return f"{' and '.join(parts)}{left_out}."


def print_replay(
    console: "Console",
    summary: ReplaySummary,
    requests: Sequence[ReplayedRequest],
    baseline: ReplaySummary | None = None,
) -> None:
    """The whole report. `baseline`: the replay without the what-if, to compare with."""
    console.print(verdict(summary, baseline), style="bold")
    for note in summary.notes:
        console.print(f"Note: {plain(note)}.", style="dim")
    console.print()
    console.print(_totals(summary, baseline))
    console.print()
    console.print(_reasons(summary))
    differing = [r for r in requests if r.verdict in (Verdict.PROVIDER_SIDE, Verdict.WARM)]
    shown = requests if len(requests) <= _ROWS else differing[:_ROWS]
    if shown and baseline is None:
        console.print()
        console.print(_requests(shown, len(requests)))
        for verdict_ in dict.fromkeys(request.verdict for request in shown):
            console.print(f"{verdict_.value}: {MEANINGS[verdict_]}.", style="dim")
    console.print()
    console.print(_sources(summary))


def _totals(summary: ReplaySummary, baseline: ReplaySummary | None) -> FittedTable:
    if baseline is not None:
        return _change(summary, baseline)
    table = FittedTable("Tokens and money", "", "simulated", "logged")
    table.add_row("requests", count(summary.covered), count(summary.requests))
    table.add_row("prompt tokens", count(summary.prompt_tokens), count(summary.logged_prompt_tokens))
    table.add_row("  read", count(summary.read_tokens), count(summary.logged_read_tokens))
    for place, (ttl, tokens) in enumerate(summary.written_tokens.items()):
        logged = count(summary.logged_written_tokens) if place == 0 else ""
        table.add_row(f"  written for {lifetime(ttl)}", count(tokens), logged)
    table.add_row("  uncached", count(summary.uncached_tokens), "")
    table.add_row("read share", percent(summary.read_share), percent(summary.logged_read_share))
    _add_bills(table, summary.bills, summary.logged_bills)
    if summary.unpriced:
        table.add_row("without a known price", count(summary.unpriced), "")
    return table


def _change(summary: ReplaySummary, baseline: ReplaySummary) -> FittedTable:
    table = FittedTable("Tokens and money", "", "with the change", "as it is")
    table.add_row("requests", count(summary.covered), count(baseline.covered))
    table.add_row("prompt tokens", count(summary.prompt_tokens), count(baseline.prompt_tokens))
    table.add_row("  read", count(summary.read_tokens), count(baseline.read_tokens))
    for ttl in sorted({*summary.written_tokens, *baseline.written_tokens}):
        written, before = summary.written_tokens.get(ttl, 0), baseline.written_tokens.get(ttl, 0)
        table.add_row(f"  written for {lifetime(ttl)}", count(written), count(before))
    table.add_row("  uncached", count(summary.uncached_tokens), count(baseline.uncached_tokens))
    table.add_row("read share", percent(summary.read_share), percent(baseline.read_share))
    _add_bills(table, summary.bills, baseline.bills)
    return table


def _add_bills(table: Any, bills: Mapping[str, Bill], others: Mapping[str, Bill]) -> None:
    for currency, bill in bills.items():
        other = others.get(currency)
        table.add_row("cost", money(bill.paid, currency), money(other.paid, currency) if other else "")
        saved = share(other.saving, other.without_cache) if other else ""
        table.add_row("  saved by the cache", share(bill.saving, bill.without_cache), saved)


def _reasons(summary: ReplaySummary) -> FittedTable:
    table = FittedTable("Why requests read no more", "reason", "requests")
    for why, requests in summary.why.items():
        table.add_row(why, count(requests))
    return table


def _requests(requests: Sequence[ReplayedRequest], total: int) -> FittedTable:
    title = "Request by request" if len(requests) == total else "Requests that differ from the log"
    table = FittedTable(
        title,
        "request",
        "prompt",
        "read",
        "logged read",
        "written",
        "logged written",
        "why no more",
        "beside the log",
    )
    for request in requests:
        mark = "" if request.exact or request.read is None else "~"
        written = None if request.read is None else sum(request.written.values())
        table.add_row(
            plain(short_name(request.request_id)),
            count(request.prompt_tokens),
            f"{mark}{count(request.read)}",
            count(request.logged_read),
            count(written),
            count(request.logged_written),
            request.why or "",
            request.verdict.value,
        )
    return table


def _sources(summary: ReplaySummary) -> FittedTable:
    table = FittedTable(
        "Where the rules come from", "provider", "model", "as of", "source", text=(0, 1, 2, 3), head=2
    )
    for used in summary.rules:
        sources = dict.fromkeys(f"{s.title} ({s.date}, {s.confidence})" for s in used.cited.values())
        table.add_row(used.provider, plain(used.model), used.as_of, "; ".join(map(plain, sources)))
    return table


def figures_of_provider(summary: ReplaySummary) -> "Figures":
    """What two replays are compared by."""
    return {
        "requests": summary.covered,
        "prompt_tokens": summary.prompt_tokens,
        "read_ratio": summary.read_share,
        "read_tokens": summary.read_tokens,
        "written_tokens": sum(summary.written_tokens.values()),
    }


def write_provider_requests(path: Path, trace: "Trace", result: "Replay") -> None:
    """One row a request: request_id, prompt_tokens, hit_tokens, written_tokens, why, verdict."""
    import pyarrow as pa

    from pcache_cli.reports.request_table import write_table

    unknown = result.read < 0
    columns = {
        "request_id": pa.array(trace.requests.request_id),
        "prompt_tokens": pa.array(result.prompt, mask=unknown),
        "hit_tokens": pa.array(result.read, mask=unknown),
        "written_tokens": pa.array(result.written_total, mask=unknown),
        "why": pa.array([None if w is None else str(w) for w in result.why], pa.string()),
        "verdict": pa.array([str(v) for v in result.verdicts], pa.string()),
    }
    write_table(path, pa.table(columns))
