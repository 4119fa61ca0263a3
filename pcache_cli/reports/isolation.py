"""Who shares with whom, for people: what each choice of namespace costs, and which prefixes cross a boundary."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzers.isolation import Crossing, NamespaceChoice
from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, counted
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

_CROSSINGS = 5


def print_isolation(
    console: "Console", choices: Sequence[NamespaceChoice], crossings: Sequence[Crossing]
) -> None:
    """Both tables, where the log names anyone to keep apart."""
    if len(choices) > 2:
        table = FittedTable(
            "What keeping requests apart costs",
            "requests share that agree in",
            "namespaces",
            "reusable",
            "costs",
        )
        for choice in choices:
            label = ", ".join(choice.fields) or "nothing: all share"
            table.add_row(
                plain(label) + (" (now)" if choice.current else ""),
                count(choice.namespaces),
                count(choice.reusable_tokens),
                count(choice.cost_tokens),
            )
        console.print()
        console.print(table)
    for crossing in crossings[:_CROSSINGS]:
        if not crossing.common:
            console.print(
                f"A prefix crosses the boundary of a {crossing.boundary}: {count(crossing.depth)} tokens, "
                f"{_ending(crossing)}, first in {plain(crossing.first_request)}, shared by "
                f"{count(crossing.shared_by)} of {count(crossing.parties)}; {counted(crossing.requests, 'request')} "
                f"would read {count(crossing.tokens)} tokens that only another {crossing.boundary} had sent."
            )


def _ending(crossing: Crossing) -> str:
    if crossing.path is None:
        return "where it ends is not known"
    return f"{'inside' if crossing.inside else 'up to'} {plain(crossing.path)}"
