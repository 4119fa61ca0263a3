"""`pcache analyze` for people: the verdict, what to do, then the tables. No arithmetic here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzers.hot_prefixes import HotPrefix
from analyzers.reuse import LoggedCache, Reuse
from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, counted, duration, percent
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.request import Log
    from analyzers.trace import TraceInfo

_ROWS_OF_A_GROUP = 12


@dataclass(frozen=True)
class InputAccount:
    """What became of every record of the input; records = requests + merged + the skipped ones."""

    records: int
    requests: int
    merged: int
    skipped: dict[str, int]
    examples: tuple[str, ...]
    formats: dict[str, str]
    notes: tuple[str, ...]


def account_of(log: "Log", requests: int | None = None) -> InputAccount:
    """The account of a log that was read. `requests`: how many there are, if the log no longer holds them."""
    return InputAccount(
        records=log.records,
        requests=len(log.requests) if requests is None else requests,
        merged=log.merged,
        skipped=log.skipped,
        examples=tuple(
            f"{e.file}:{e.line}: {e.reason}" + (f" ({e.detail})" if e.detail else "") for e in log.examples
        ),
        formats=log.formats,
        notes=tuple(log.notes),
    )


def verdict(reuse: Reuse) -> str:
    """The answer in one sentence."""
    if reuse.reusable_token_ratio is None:
        unknown = "the log holds no prompts, so what could have been reused is unknown"
        if reuse.logged.read_ratio is None:
            return f"{unknown.capitalize()}."
        return f"{percent(reuse.logged.read_ratio, 0)} of the prompt tokens were read from cache; {unknown}."
    what = "the prompt tokens that this log holds" if reuse.prompts_incomplete else "the prompt tokens"
    possible = f"{percent(reuse.reusable_token_ratio, 0)} of {what} could have been read from cache"
    if reuse.logged.read_ratio is None:
        return f"{possible}; the log does not say how many were."
    part = "" if reuse.logged.unknown_rows == 0 else f" (on the {_rows_that_say(reuse.logged.known_rows)})"
    if reuse.prompts_incomplete:
        return f"{possible}; of all that was sent, {percent(reuse.logged.read_ratio, 0)} was{part}."
    return f"{possible}; the log shows {percent(reuse.logged.read_ratio, 0)}{part}."


def _rows_that_say(rows: int) -> str:
    return "1 row that says" if rows == 1 else f"{count(rows)} rows that say"


def print_account(console: "Console", account: InputAccount | None, info: "TraceInfo") -> None:
    """What was read and how it was turned into tokens."""
    if account is not None:
        formats = ", ".join(dict.fromkeys(account.formats.values()))
        skipped = sum(account.skipped.values())
        line = (
            f"{counted(account.records, 'record')} ({plain(formats)}): {counted(account.requests, 'request')}"
        )
        if account.merged:
            line += f", {count(account.merged)} merged into others"
        if skipped:
            reasons = ", ".join(f"{count(n)} {plain(reason)}" for reason, n in account.skipped.items())
            line += f", {count(skipped)} skipped: {reasons}"
        console.print(line, style="dim")
        for example in account.examples:
            console.print(f"  skipped {plain(example)}", style="dim")
    console.print(f"Tokens: {plain(info.tokenizer)} ({plain(info.tokenizer_note)}).", style="dim")
    console.print(f"Order: {plain(info.rendering)}.", style="dim")
    shared = ", ".join(info.namespace_fields)
    console.print(f"Sharing: {'requests that agree in ' + plain(shared) if shared else 'all'}.", style="dim")
    for note in account.notes if account is not None else info.notes:
        console.print(f"Note: {plain(note).rstrip('.')}.", style="dim")


def print_reuse(
    console: "Console", reuse: Reuse, advice: Sequence[str], account: InputAccount | None, info: "TraceInfo"
) -> None:
    """The whole report on a terminal."""
    console.print(verdict(reuse), style="bold")
    for number, line in enumerate(advice, 1):
        console.print(f"  {number}. {plain(line)}")
    console.print()
    print_account(console, account, info)

    figures = FittedTable("Reuse", "", "", "", text=(0, 2))
    content = reuse.requests - reuse.requests_without_content
    figures.add_row("requests", count(reuse.requests), "")
    if reuse.requests_without_content:
        figures.add_row("  without content", count(reuse.requests_without_content), "usage figures only")
    figures.add_row("prompt tokens", count(reuse.prompt_tokens), "")
    figures.add_row("output tokens", count(reuse.output_tokens), _unknown(reuse.output_unknown))
    figures.add_row("reusable tokens", count(reuse.reusable_tokens), percent(reuse.reusable_token_ratio, 2))
    for block in reuse.blocks:
        figures.add_row(
            f"  in blocks of {block.block_size}", count(block.reusable_tokens), percent(block.ratio, 2)
        )
    figures.add_row(
        "request hit ratio", percent(reuse.request_hit_ratio), f"of {counted(content, 'request')}"
    )
    console.print()
    console.print(figures)

    console.print()
    console.print(_classes(reuse))
    _print_spread(console, reuse)
    if reuse.hottest:
        console.print()
        console.print(_hottest(reuse))
    for label, rows in reuse.groups.items():
        if len(rows) > 1:
            console.print()
            console.print(_group(label, rows))
    _print_logged(console, reuse)


def _unknown(rows: int) -> str:
    return f"not known for {counted(rows, 'request')}" if rows else ""


def _classes(reuse: Reuse) -> FittedTable:
    table = FittedTable("Where every prompt token belongs", "class", "tokens", "share")
    inferred = " (conversations inferred)" if reuse.conversations_inferred else ""
    classes = reuse.classes
    rows: list[tuple[str, int | None]] = []
    if classes.same_conversation is None:
        rows.append(
            ("reusable, in the same conversation or across (the log cannot tell)", reuse.reusable_tokens)
        )
    else:
        rows.append((f"reusable in the same conversation{inferred}", classes.same_conversation))
        rows.append(("reusable across conversations", classes.across_conversations))
    if classes.seen_elsewhere is None:
        rest = reuse.prompt_tokens - reuse.reusable_tokens
        rows.append(("new, or seen before but not reachable (the log cannot tell)", rest))
    else:
        rows.append(("seen before but not reachable", classes.seen_elsewhere))
        rows.append(("new", classes.new))
    for label, tokens in rows:
        share = tokens / reuse.prompt_tokens if tokens is not None and reuse.prompt_tokens else None
        table.add_row(label, count(tokens), percent(share))
    return table


def _print_spread(console: "Console", reuse: Reuse) -> None:
    if reuse.prefix_length is not None:
        q = reuse.prefix_length
        console.print(
            f"\nReusable prefix of a request: p50 {q.p50:,.0f}, p90 {q.p90:,.0f}, p99 {q.p99:,.0f}, "
            f"longest {q.largest:,.0f} tokens."
        )
    if reuse.reuse_interval_s is not None:
        q = reuse.reuse_interval_s
        console.print(
            f"Time until tokens come back: p50 {duration(q.p50)}, p90 {duration(q.p90)}, "
            f"p99 {duration(q.p99)}, longest {duration(q.largest)}."
        )


def _hottest(reuse: Reuse) -> FittedTable:
    table = FittedTable(
        "Hottest prefixes", "tokens", "requests", "spares", "ends", "first seen in", text=(3, 4)
    )
    for prefix in reuse.hottest:
        table.add_row(
            count(prefix.tokens),
            count(prefix.requests),
            count(prefix.saved_tokens),
            _ending(prefix),
            plain(prefix.first_request),
        )
    return table


def _ending(prefix: HotPrefix) -> str:
    if prefix.path is None:
        return "-"
    return f"inside {plain(prefix.path)}" if prefix.inside else f"with {plain(prefix.path)}"


def _group(label: str, rows: Sequence[object]) -> FittedTable:
    from analyzers.reuse import GroupReuse

    table = FittedTable(
        f"By {plain(label)}", plain(label), "requests", "prompt tokens", "reusable", "log shows"
    )
    for row in rows[:_ROWS_OF_A_GROUP]:
        assert isinstance(row, GroupReuse)
        table.add_row(
            plain(row.label),
            count(row.requests),
            count(row.prompt_tokens),
            percent(row.ratio),
            percent(row.logged_read_ratio),
        )
    if len(rows) > _ROWS_OF_A_GROUP:
        table.add_row(f"… {len(rows) - _ROWS_OF_A_GROUP} more", "", "", "", "")
    return table


def _rows_that_state(rows: int) -> str:
    return "1 row states its" if rows == 1 else f"{count(rows)} rows state their"


def _beside_possible(logged: LoggedCache) -> str:
    """How the logged reads stand to what was possible. More than possible: the cache knew more than the log shows."""
    possible = percent(logged.ceiling_ratio)
    if logged.share_of_possible is not None and logged.share_of_possible > 1:
        return (
            f"this log alone makes {possible} possible on these rows, so the cache was filled before the log begins, "
            "or the prompts that were sent hold more than the log"
        )
    return f"possible on these rows {possible}, so {percent(logged.share_of_possible)} of it was had"


def _print_logged(console: "Console", reuse: Reuse) -> None:
    logged = reuse.logged
    if logged.known_rows:
        line = (
            f"\nThe log states cache reads in {count(logged.known_rows)} of {counted(reuse.requests, 'request')}: "
            f"{count(logged.read_tokens)} of {count(logged.prompt_tokens)} tokens ({percent(logged.read_ratio)})"
        )
        if logged.share_of_possible is not None:
            line += f"; {_beside_possible(logged)}"
        console.print(line + ".")
    if reuse.count_error is not None:
        error = reuse.count_error
        console.print(
            f"Token counts: {_rows_that_state(error.rows)} prompt tokens, {error.scale:.3f} times ours in all; "
            f"after scaling, a row is off by {percent(error.median_error)} in the middle, "
            f"{percent(error.p90_error)} for the worst tenth.",
            style="dim",
        )
