"""`pcache validate` for people: the verdict, the two comparisons, the likely reasons. No arithmetic here."""

from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, percent
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

    from simulators.validation import Check, Validation

_NAMES = {"prompt_tokens": "number of prompt tokens", "hit_token_ratio": "hit-token ratio"}


def print_validation(console: "Console", result: "Validation") -> None:
    """Verdict, table, reasons."""
    console.print(_verdict(result), style="bold")
    table = FittedTable(
        "", "", plain(result.model.name), plain(result.world.name), "difference", "within tolerance"
    )
    for check in result.checks:
        table.add_row(_NAMES[check.name], *_figures(check), "yes" if check.holds else "no")
    console.print()
    console.print(table)
    console.print(f"{count(result.model.requests)} requests simulated.", style="dim")
    if result.world.since_start:
        console.print("The counters run since the server started: one scrape was given.", style="dim")
    if result.reasons:
        console.print("\nLikely reasons, the likeliest first:")
        for number, reason in enumerate(result.reasons, 1):
            console.print(f"  {number}. {plain(reason[0].upper() + reason[1:])}.")


def _verdict(result: "Validation") -> str:
    ratio = next(check for check in result.checks if check.name == "hit_token_ratio")
    says = (
        f"{percent(ratio.model)} of the prompt tokens are hits by {plain(result.model.name)}, "
        f"{percent(ratio.world)} by {plain(result.world.name)}"
    )
    within = percent(result.tolerance).replace(".0 %", " %")
    if result.agrees:
        return f"The model and the world agree within {within}: {says}."
    apart = [_NAMES[check.name] for check in result.checks if not check.holds]
    differ = f"the {apart[0]} differs" if len(apart) == 1 else f"the {' and the '.join(apart)} differ"
    return f"The model and the world part: {differ} by more than {within}; {says}."


def _figures(check: "Check") -> tuple[str, str, str]:
    if check.name == "hit_token_ratio":
        points = percent(check.difference, 2).replace("%", "points")
        return percent(check.model, 2), percent(check.world, 2), points
    return f"{check.model:,.0f}", f"{check.world:,.0f}", percent(check.difference, 2)
