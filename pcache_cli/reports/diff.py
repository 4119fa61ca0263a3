"""`pcache diff` of two logs for people. No arithmetic here."""

from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, percent
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.log_difference import LogDifference

_STATES = {"new": "red", "worse": "red", "same": "dim", "better": "green", "gone": "green"}


def print_difference(console: "Console", difference: "LogDifference", before: str, after: str) -> None:
    """The verdict, both logs side by side, and what breaks the prefix in each."""
    console.print(verdict(difference), style="bold")
    table = FittedTable("", "", plain(before), plain(after))
    old, new = difference.before, difference.after
    table.add_row("requests", count(old.requests), count(new.requests))
    table.add_row("prompt tokens", count(old.prompt_tokens), count(new.prompt_tokens))
    table.add_row("reusable", percent(old.reusable_token_ratio, 2), percent(new.reusable_token_ratio, 2))
    table.add_row("read, by the log", percent(old.logged_read_ratio, 2), percent(new.logged_read_ratio, 2))
    table.add_row("lost to breakers", count(old.lost_tokens), count(new.lost_tokens))
    console.print()
    console.print(table)
    if difference.breakers:
        found = FittedTable(
            "Breakers", "", "rule", "place", "lost before", "lost after", text=(0, 1, 2), head=3
        )
        for change in difference.breakers:
            found.add_row(
                change.state,
                change.rule,
                plain(change.place),
                "-" if change.before_tokens is None else count(change.before_tokens),
                "-" if change.after_tokens is None else count(change.after_tokens),
                style=_STATES[change.state],
            )
        console.print()
        console.print(found)


def verdict(difference: "LogDifference") -> str:
    """The answer in one sentence."""
    if difference.regression is None:
        return "One of the logs holds no prompts, so what could have been reused cannot be compared."
    old, new = difference.before.reusable_token_ratio, difference.after.reusable_token_ratio
    span = f"{percent(old)} of the prompt tokens could be read from cache before, {percent(new)} after"
    if abs(difference.regression) < 0.0005:
        return f"No change: {span}."
    return f"{'Worse' if difference.regression > 0 else 'Better'}: {span}."
