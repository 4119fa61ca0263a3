"""Where cache markers should stand, for people."""

from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, duration
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

    from simulators.marker_placement import Costs, Placement


def print_placement(console: "Console", placement: "Placement") -> None:
    """The spots, then what the log's own markers, these, and markers with hindsight cost."""
    console.print(
        f"\nWhere markers should stand ({plain(placement.provider)}, lifetime {duration(placement.ttl_s)})",
        style="bold",
    )
    for number, spot in enumerate(placement.spots, 1):
        console.print(f"  {number}. {spot.value}")
    if not placement.spots:
        console.print("  nowhere: no marker at a fixed place saves anything on this log")
    table = FittedTable("", "prompt tokens", "read", "written", "uncached", "price in input tokens")
    for label, costs in (
        ("with the log's markers", placement.logged),
        ("with these", placement.placed),
        ("with hindsight", placement.hindsight),
    ):
        table.add_row(label, *_figures(costs))
    console.print(table)


def _figures(costs: "Costs") -> list[str]:
    return [count(costs.read), count(costs.written), count(costs.uncached), f"{costs.price:,.0f}"]
