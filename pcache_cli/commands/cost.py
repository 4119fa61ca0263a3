"""`pcache cost`: what the log cost, what a cache saved, and what it could have saved."""

from pathlib import Path
from typing import Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, takes_log


@pcache_command
@takes_log
def cost(
    source: LogSource,
    prices: Annotated[
        list[Path] | None,
        typer.Option("--prices", help="Your own prices (YAML, JSON, or a LiteLLM price file); repeatable."),
    ] = None,
    rules: Annotated[
        list[Path] | None, typer.Option("--rules", help="Your own provider rules (YAML); repeatable.")
    ] = None,
    by: Annotated[
        str, typer.Option("--by", help="Tables by model, provider, route, tenant, session, file.")
    ] = "model",
    top: Annotated[int, typer.Option("--top", min=1, help="Rows in the tables of prefixes.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="The report as JSON on stdout.")] = False,
) -> int:
    """What was paid, what it would have cost without a cache, what was possible, and which settings pay."""
    from analyzers.errors import UsageError
    from pcache_cli import console
    from pcache_cli.reports.as_json import document
    from pcache_cli.reports.cost import print_cost
    from pcache_cli.units import split_list
    from simulators.cost import DEFINITIONS
    from simulators.cost_overview import cost_overview
    from simulators.price_files import load_price_book
    from simulators.providers.rules import load_rule_book

    groups = split_list(by)
    known = ("model", "provider", "route", "tenant", "session", "file")
    for name in groups:
        if name not in known:
            raise UsageError(f"--by {name} is not a field of the bill; there are {', '.join(known)}")
    if source.is_trace():
        trace, requests = source.trace(), None
        console.note("a trace keeps no service tier, speed or region: all calls are priced as standard ones")
    else:
        traced = source.traced_log()
        trace, requests = traced.trace, traced.log.requests
    overview = cost_overview(
        trace, requests, load_price_book(prices or []), load_rule_book(rules or []), groups, top
    )
    if json:
        console.print_json(document("cost", overview=overview, trace=trace.info, definitions=DEFINITIONS))
    else:
        print_cost(console.stdout_console(), overview, trace)
        console.note(
            "\nNext: pcache simulate --provider with the same input replays the provider's own cache rules."
        )
    if overview.report.unpriced:
        console.note(f"{overview.report.unpriced} requests have no known price; give one with --prices FILE")
        return 3
    return 0
