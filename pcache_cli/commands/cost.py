"""`pcache cost`: what the log cost, what a cache saved, and what it could have saved."""

from pathlib import Path
from typing import Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, log_behind, takes_log


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
        str, typer.Option("--by", help="Tables by model, provider, route, tenant, session, file, breaker.")
    ] = "model",
    top: Annotated[int, typer.Option("--top", min=1, help="Rows in the tables of prefixes.")] = 10,
    assume_model: Annotated[
        str | None, typer.Option("--assume-model", help="Price requests that name no model as this one.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The bill of each request: .csv or .parquet.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The report as JSON on stdout.")] = False,
    gpu_hour: Annotated[
        str | None, typer.Option("--gpu-hour", help="Self-hosted: dollars an accelerator and hour.")
    ] = None,
    gpus: Annotated[int, typer.Option("--gpus", help="Self-hosted: accelerators of a replica.")] = 1,
    calibration: Annotated[
        Path | None, typer.Option("--calibration", help="Self-hosted: calibration.json of pcache probe.")
    ] = None,
    prefill_rate: Annotated[
        float | None, typer.Option("--prefill-rate", help="Assumed prefill tokens a second.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model whose KV size is taken.")] = None,
    kv_bytes_per_token: Annotated[
        int | None, typer.Option("--kv-bytes-per-token", help="KV bytes a token, instead of --model.")
    ] = None,
    tier: Annotated[
        str, typer.Option("--tier", help="Where KV is kept: resident, or a tier of the calibration.")
    ] = "resident",
    tier_price: Annotated[
        str | None, typer.Option("--tier-price", help="Dollars per GB and hour, or pinned=0.004,disk=0.0002.")
    ] = None,
    restore_rate: Annotated[
        str | None, typer.Option("--restore-rate", help="Assumed bytes a second from the tier, like 25GB.")
    ] = None,
    kv_memory: Annotated[
        str | None, typer.Option("--kv-memory", help="Memory for KV on an accelerator, like 40GB.")
    ] = None,
    hold: Annotated[str, typer.Option("--hold", help="How long KV is kept after its last use.")] = "10m",
) -> int:
    """What was paid, what it would have cost without a cache, what was possible, and which settings pay."""
    from analyzers.errors import UsageError
    from pcache_cli import console
    from pcache_cli.hosting import HostingWords
    from pcache_cli.reports.as_json import document
    from pcache_cli.units import split_list

    hosting = HostingWords(
        gpu_hour, gpus, calibration, prefill_rate, model, kv_bytes_per_token, tier, tier_price, restore_rate,
        kv_memory, hold,
    )  # fmt: skip
    if hosting.asked():
        if prices or rules or output:
            raise UsageError("--prices, --rules and --output are about providers' bills; leave them out")
        return _self_hosted(source, hosting, json)

    from pcache_cli.reports.cost import print_cost
    from pcache_cli.targets import check_table_and_plot
    from pcache_cli.usage_audit import audit_usage
    from simulators.cost import DEFINITIONS, priced_rows
    from simulators.cost_overview import cost_overview, with_assumed_model
    from simulators.price_files import load_price_book
    from simulators.prices_base import seller_names
    from simulators.providers.known_models import check_model
    from simulators.providers.rules import load_rule_book

    groups = split_list(by)
    known = ("model", "provider", "route", "tenant", "session", "file", "breaker")
    for name in groups:
        if name not in known:
            raise UsageError(f"--by {name} is not a field of the bill; there are {', '.join(known)}")
    check_table_and_plot(output, None)
    book, rule_book = load_price_book(prices or []), load_rule_book(rules or [])
    if assume_model is not None:
        check_model("--assume-model ", assume_model, seller_names(), book, rule_book)
    columns = [name for name in groups if name != "breaker"]
    traced = None
    if source.is_trace():
        trace, requests, findings = source.trace(), None, []
        if "breaker" in groups:
            raise UsageError(
                "--by breaker compares prompts, which a trace does not hold; "
                f"give {log_behind(trace.info.sources)} instead"
            )
        console.note("a trace keeps no service tier, speed or region: all calls are priced as standard ones")
    else:
        traced = source.traced_log()
        trace, requests = traced.trace, traced.log.requests
        findings = audit_usage(traced.log, book)
    if assume_model is not None:
        trace = with_assumed_model(trace, assume_model)
    overview = cost_overview(trace, requests, book, rule_book, columns, top)
    breakers = None
    if traced is not None and "breaker" in groups:
        from pcache_cli.breaker_costs import breaker_advice, breaker_costs

        breakers = breaker_costs(traced, priced_rows(trace, requests, book))
        overview = overview.with_advice(breaker_advice(breakers))
    if output is not None:
        from pcache_cli.reports.cost_table import write_cost_table

        write_cost_table(output, trace, priced_rows(trace, requests, book))
        console.note(f"wrote {output}")
    if json:
        console.print_json(
            document(
                "cost",
                overview=overview,
                breakers=breakers,
                findings=findings,
                trace=trace.info,
                definitions=DEFINITIONS,
            )
        )
    else:
        print_cost(console.stdout_console(), overview, trace, findings, breakers)
        console.note(
            "\nNext: pcache simulate --provider auto replays the providers' own cache rules on this input; "
            "pcache cost --by breaker prices what breaks the prefix."
        )
    if overview.report.unpriced:
        plural = "request has" if overview.report.unpriced == 1 else "requests have"
        console.note(f"{overview.report.unpriced} {plural} no known price; give one with --prices FILE")
        return 3
    return 0


def _self_hosted(source: LogSource, hosting: "object", json: bool) -> int:
    from pcache_cli import console
    from pcache_cli.hosting import HostingWords
    from pcache_cli.reports.as_json import document
    from pcache_cli.reports.cost_self_hosted import print_self_hosted
    from simulators.self_hosted import DEFINITIONS, effective_saving
    from simulators.touches import touches_of

    assert isinstance(hosting, HostingWords)
    fleet, times = hosting.fleet(), hosting.times()
    trace = source.trace()
    result = effective_saving(trace, touches_of(trace), fleet, times)
    if json:
        console.print_json(
            document(
                "cost",
                self_hosted=result,
                fleet=fleet,
                trace=trace.info,
                definitions=DEFINITIONS,
            )
        )
    else:
        print_self_hosted(console.stdout_console(), result, fleet)
    return 0
