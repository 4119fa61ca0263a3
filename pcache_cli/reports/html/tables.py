"""The report's sentences, cards and tables as text, from the results. What a cell sorts by travels beside its text."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from analyzers.trace import NO_TIME
from pcache_cli.reports.money import money, share
from pcache_cli.reports.numbers import count, percent, short_count

if TYPE_CHECKING:
    from analyzers.breakers import Breaker
    from pcache_cli.log_report import LogReport

MOST_ROWS = 1000
"""Rows of a table; a field of more values than that is cut, and the page says so."""


@dataclass(frozen=True)
class Card:
    """One figure at the top: what it is, the figure, and what it means."""

    label: str
    value: str
    note: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Cell:
    """Text, and the number it sorts by; None for text, which sorts as text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """`cut` counts the rows that were left out."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    cut: int = 0


@dataclass(frozen=True)
class BreakerRow:
    """A breaker as it stands in the table, and its proof as (name, text) pairs."""

    rule: str
    level: str
    what: str
    requests: Cell
    lost: Cell
    gain: Cell
    behind: Cell
    standing: str
    advice: str
    proof: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Share:
    """A stretch of the bar of all prompt tokens, in percent of its width."""

    label: str
    colour: str
    at: float
    width: float
    text: str


@dataclass(frozen=True)
class ClassBar:
    """Every prompt token in its class, and where the logged reads end (percent, None where the log has none)."""

    shares: tuple[Share, ...]
    logged: float | None
    logged_text: str


def verdicts(report: "LogReport") -> list[str]:
    """The answer in a sentence or two: money first."""
    from pcache_cli.reports.analyze import verdict as reuse_verdict
    from pcache_cli.reports.cost_sentences import verdict as cost_verdict

    sentences = [] if report.costs is None else [cost_verdict(report.costs)]
    return [*sentences, reuse_verdict(report.reuse)]


def action_lines(report: "LogReport") -> list[str]:
    """What is most worth doing, the prompts first, then the settings."""
    from pcache_cli.reports.breakers import advice as breaker_advice
    from pcache_cli.reports.cost_sentences import sentence
    from simulators.cost_advice import Step

    lines = [] if report.study is None else breaker_advice(report.study)
    steps = [] if report.costs is None else report.costs.advice
    # The breakers themselves stand in front already, where any was found.
    said = {Step.READ_WHAT_REPEATS, Step.REMOVE_BREAKER} if lines else set()
    settings = [sentence(step) for step in steps if step.step not in said]
    return lines + [f"{text[0].upper()}{text[1:]}." for text in settings[:3]]


def money_cards(report: "LogReport") -> list[Card]:
    """What was paid and what could have been; a forecast where the log cannot be billed."""
    found: list[Card] = []
    bills = {} if report.costs is None else report.costs.report.bills
    for currency, bill in bills.items():
        saved = f"{share(abs(bill.saving), bill.without_cache)} {'saved' if bill.saving >= 0 else 'lost'}"
        found.append(Card("Paid", money(bill.paid, currency), f"for {count(bill.requests)} priced requests"))
        found.append(Card("Without a cache", money(bill.without_cache, currency), f"{saved} by the cache"))
        if bill.possible is not None:
            found.append(
                Card(
                    "With a cache that forgets nothing",
                    money(bill.possible, currency),
                    "the floor with these prompts, from a cold start",
                )
            )
            gap = report.to_save[currency]
            if gap > 0:
                found.append(
                    Card("Still to save", money(gap, currency), "at most, with these prompts", strong=True)
                )
            else:
                found.append(Card("Still to save", "nothing", "without a change of the prompts"))
    if not bills and report.costs is not None:
        for ahead in report.costs.forecasts:
            bounds = sorted((ahead.prompt_best, ahead.prompt_careful))
            words = dict.fromkeys(money(bound, ahead.currency) for bound in bounds)
            found.append(Card("Prompts without a cache", money(ahead.prompt_without, ahead.currency)))
            found.append(
                Card(
                    "Prompts with a cache",
                    " to ".join(words),
                    "forecast",
                    strong=True,
                )
            )
    return found


def reuse_cards(report: "LogReport") -> list[Card]:
    """The ceiling, what was read of it, and what fixes would add."""
    found: list[Card] = []
    reuse = report.reuse
    found.append(
        Card(
            "Could be read from cache",
            percent(reuse.reusable_token_ratio),
            f"the ceiling: {short_count(reuse.reusable_tokens)} of {short_count(reuse.prompt_tokens)} prompt tokens",
        )
    )
    if reuse.logged.read_ratio is not None:
        of_possible = reuse.logged.share_of_possible
        note = "" if of_possible is None else f"{percent(of_possible)} of what was possible"
        if reuse.prompts_incomplete:
            note = "of all that was sent; the log holds only a part of it"
        found.append(Card("Was read from cache", percent(reuse.logged.read_ratio), note))
    if report.study is not None and report.study.outcome.gain_tokens > 0:
        gain = report.study.outcome.gain_tokens
        found.append(
            Card(
                "More with all fixes",
                f"{short_count(gain)} tokens",
                "from cache, proven by replay",
                strong=True,
            )
        )
    return found


def class_bar(report: "LogReport") -> ClassBar | None:
    """None where the log holds no prompts."""
    reuse = report.reuse
    if not reuse.prompt_tokens:
        return None
    found, at = [], 0.0
    for label, colour, tokens in (
        ("reusable", "k-hit", reuse.reusable_tokens if reuse.classes.same_conversation is None else None),
        ("reusable, same conversation", "k-hit", reuse.classes.same_conversation),
        ("reusable, other conversations", "k-across", reuse.classes.across_conversations),
        ("seen before, not reachable", "k-diverged", reuse.classes.seen_elsewhere),
        ("new", "k-cold", reuse.classes.new),
    ):
        if tokens:
            width = 100 * tokens / reuse.prompt_tokens
            text = f"{label}: {percent(tokens / reuse.prompt_tokens)}, {count(tokens)} tokens"
            found.append(Share(label, colour, round(at, 3), round(width, 3), text))
            at += width
    read = reuse.logged.read_ratio
    comparable = read is not None and not reuse.prompts_incomplete
    return ClassBar(
        tuple(found),
        round(100 * read, 3) if read is not None and comparable else None,
        f"read, as the log states: {percent(read)}",
    )


def breaker_rows(report: "LogReport", show_text: bool) -> list[BreakerRow]:
    """The breakers in order of what their fixes bring."""
    return [] if report.study is None else [_breaker(report, b, show_text) for b in report.study.breakers]


def _breaker(report: "LogReport", breaker: "Breaker", show_text: bool) -> BreakerRow:
    finding, evidence = breaker.finding, breaker.finding.evidence
    outcome = report.study.outcome if report.study is not None else None
    played = outcome.of(breaker.slot.number) if outcome is not None and breaker.slot is not None else None
    what, _, more = finding.message.partition(": ")
    place = finding.location
    where = place.json_path or (f"{place.path}:{place.line}" if place.path else "")
    proof = [
        ("what", more),
        ("where", where + (f", token {count(place.token_offset)}" if place.token_offset is not None else "")),
        ("request", evidence.request_id or ""),
        ("compared with", evidence.against_id or ""),
        ("changes with every", evidence.scope or ""),
        ("values seen", "" if evidence.distinct_values is None else count(evidence.distinct_values)),
    ]
    if played is not None:
        proof += [
            ("replay", played.remedy.value),
            ("brings alone", f"{count(played.gain_tokens)} tokens"),
            ("tokens moved", count(played.moved_tokens) if played.moved_tokens else ""),
            ("tokens added", count(played.added_tokens) if played.added_tokens else ""),
            ("note", "; ".join(played.caveats)),
        ]
    if show_text:
        proof.append(("text", evidence.excerpt or ""))
    gain = finding.gain.tokens if finding.gain is not None else None
    if finding.gain is not None and finding.gain.proven:
        standing = "proven by replay"
    else:
        standing = str(finding.confidence)
    return BreakerRow(
        rule=finding.rule,
        level=str(finding.level),
        what=what,
        requests=_count_cell(len(breaker.requests)),
        lost=_count_cell(finding.tokens_lost),
        gain=_count_cell(gain),
        behind=_count_cell(None if played is None else max(played.marginal_gain_tokens, 0)),
        standing=standing,
        advice=finding.fix.advice if finding.fix is not None else "",
        proof=tuple((name, text) for name, text in proof if text),
    )


def hot_rows(report: "LogReport") -> Table | None:
    """The hottest prefixes; None where nothing is shared."""
    rows = tuple(
        (
            _count_cell(hot.tokens),
            _count_cell(hot.requests),
            _count_cell(hot.saved_tokens),
            Cell(("inside " if hot.inside else "") + (hot.path or "–")),
            Cell(hot.namespace or "–"),
            Cell(hot.first_request),
        )
        for hot in report.reuse.hottest
    )
    if not rows:
        return None
    head = ("tokens", "requests", "tokens it spares", "ends at", "namespace", "first request")
    return Table("hottest", "Hottest prefixes", head, rows)


def group_tables(report: "LogReport") -> list[Table]:
    """One table a field that the log names."""
    found = []
    for name, rows in report.groups.items():
        with_money = any(row.paid is not None for row in rows)
        head: tuple[str, ...] = (name, "requests", "prompt tokens", "reusable", "ratio", "logged read")
        head += ("paid", "least possible", "to save") if with_money else ()
        cells = []
        for row in rows[:MOST_ROWS]:
            line = [
                Cell(row.label),
                _count_cell(row.requests),
                _count_cell(row.prompt_tokens),
                _count_cell(row.reusable_tokens),
                _share_cell(row.ratio),
                _share_cell(row.logged_read_ratio),
            ]
            if with_money:
                line += [_money_cell(v, report.currency) for v in (row.paid, row.possible, row.to_save)]
            cells.append(tuple(line))
        found.append(Table(name, f"By {name}", head, tuple(cells), max(len(rows) - MOST_ROWS, 0)))
    return found


def definition_groups(report: "LogReport") -> list[tuple[str, list[tuple[str, str]]]]:
    """Every figure's definition, as the analyzers state it."""
    return [
        (title, [(name.replace("_", " "), text) for name, text in definitions.items()])
        for title, definitions in report.definitions.items()
    ]


def reading_lines(report: "LogReport") -> list[tuple[str, str]]:
    """What was read and how it was turned into tokens."""
    info, account = report.trace.info, report.account
    lines: list[tuple[str, str]] = []
    period = _period(report)
    if period:
        lines.append(("period", period))
    if account is not None:
        lines.append(
            ("records", f"{count(account.records)} ({', '.join(dict.fromkeys(account.formats.values()))})")
        )
        lines.append(("requests", count(account.requests)))
        if account.merged:
            lines.append(("merged into others", count(account.merged)))
        lines += [(f"skipped: {reason}", count(n)) for reason, n in account.skipped.items()]
    lines.append(("tokens", f"{info.tokenizer} ({info.tokenizer_note})"))
    if report.reuse.count_error is not None:
        error = report.reuse.count_error
        lines.append(
            (
                "error of the count",
                f"logged / counted = {error.scale:.4f} over {count(error.rows)} rows; after scaling, "
                f"{percent(error.median_error)} in the middle, {percent(error.p90_error)} for the worst tenth",
            )
        )
    lines.append(("order", info.rendering))
    shared = ", ".join(info.namespace_fields)
    lines.append(("sharing", f"requests that agree in {shared}" if shared else "all requests"))
    if report.costs is not None:
        unknown = report.costs.report.unknown
        lines += [(f"not priced: {reason}", f"{count(n)} requests") for reason, n in unknown.items()]
        lines += [("money", note) for note in report.costs.report.notes]
    lines += [("note", note) for note in (account.notes if account is not None else info.notes)]
    return lines


def _period(report: "LogReport") -> str:
    times = report.trace.requests.time_ns
    known = times[times != NO_TIME]
    if not len(known):
        return ""
    first, last = (datetime.fromtimestamp(int(t) / 1e9, UTC) for t in (known[0], known[-1]))
    return f"{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"


def _count_cell(value: int | None) -> Cell:
    return Cell("–", -1.0) if value is None else Cell(count(value), float(value))


def _share_cell(value: float | None) -> Cell:
    return Cell("–", -1.0) if value is None else Cell(percent(value), value)


def _money_cell(value: Decimal | None, currency: str | None) -> Cell:
    return Cell("–", -1.0) if value is None else Cell(money(value, currency or "USD"), float(value))
