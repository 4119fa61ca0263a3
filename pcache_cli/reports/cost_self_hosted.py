"""`pcache cost --gpu-hour` for people. No arithmetic here."""

from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.money import money, signed
from pcache_cli.reports.numbers import count, duration, percent
from pcache_cli.reports.tables import FittedTable
from simulators.latency import RESIDENT

if TYPE_CHECKING:
    from rich.console import Console

    from simulators.self_hosted import EffectiveSaving, Fleet


def verdict(result: "EffectiveSaving") -> str:
    """The answer in one sentence."""
    if not result.hit_tokens:
        return "Nothing is hit at this hold time, so keeping KV only costs."
    worth = "pays" if result.effective > 0 else "does not pay"
    return (
        f"Keeping KV {worth}: {money(result.effective)} over the log, with {percent(result.hit_share)} of the prompt "
        f"tokens hit and {duration(result.prefill_saved_s)} of prefill spared."
    )


def _where(tier: str) -> str:
    return "on the accelerator" if tier == RESIDENT else f"in {plain(tier)}"


def print_self_hosted(console: "Console", result: "EffectiveSaving", fleet: "Fleet") -> None:
    """The balance, part by part."""
    console.print(verdict(result), style="bold")
    console.print(
        f"Times and sizes: {plain(result.basis)}. Held {duration(fleet.hold_s)} after the last use, "
        f"{_where(fleet.tier)}.",
        style="dim",
    )
    table = FittedTable("The balance (USD)", "", "money", "", text=(0, 2))
    table.add_row("prefill not computed", signed(result.saving), duration(result.prefill_saved_s))
    table.add_row("KV storage", signed(-result.storage), f"{result.gb_hours:,.3g} GB·h")
    table.add_row("restore", signed(-result.restore), duration(result.restore_s))
    table.add_row("capacity of the accelerator", signed(-result.capacity), "")
    table.add_row("effective saving", signed(result.effective), "")
    console.print()
    console.print(table)
    if result.replicas is not None:
        console.print(f"\nThat is the prefill work of {result.replicas:.3g} replicas.")
    for hold in result.holds:
        how_long = (
            "always"
            if hold.break_even_gap_s is None
            else f"for {duration(hold.break_even_gap_s)} between uses"
        )
        console.print(
            f"Hold rule, {_where(hold.tier)}: a prefix of {count(result.typical_tokens)} tokens is worth keeping {how_long}."
        )
