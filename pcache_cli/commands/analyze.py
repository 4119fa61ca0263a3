"""`pcache analyze`: how much of the prompts could have been reused, and where."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, log_behind, takes_log

if TYPE_CHECKING:
    from analyzers.study import Study
    from analyzers.trace import Trace


@pcache_command
@takes_log
def analyze(
    source: LogSource,
    json: Annotated[bool, typer.Option("--json", help="The report as JSON on stdout.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Per-request table: .csv or .parquet.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="PNG: lengths of reusable prefixes, reuse over time.")
    ] = None,
    group_by: Annotated[
        str | None,
        typer.Option("--group-by", help="More tables, by fields of the log, for example user,region."),
    ] = None,
    fail_below: Annotated[
        float | None,
        typer.Option("--fail-below", help="Exit 1 when the reusable-token ratio is below this (0 to 1)."),
    ] = None,
    breakers: Annotated[
        bool, typer.Option("--breakers/--no-breakers", help="Look for what breaks the prefix (default).")
    ] = True,
    markers: Annotated[
        bool,
        typer.Option(
            "--markers", help="Find where cache markers should stand (replays the provider's rules)."
        ),
    ] = False,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Quote what differs, from the prompts, in --json.")
    ] = False,
) -> int:
    """How much of the prompts could be read from a cache, exactly, and what stands in the way."""
    from analyzers.errors import CannotEvaluateError, UsageError
    from analyzers.namespaces import field_values
    from analyzers.reuse import DEFINITIONS, analyze_reuse, reuse_by_request
    from analyzers.study import study_breakers
    from pcache_cli import console
    from pcache_cli.lint_prices import limits_of
    from pcache_cli.reports.analyze import account_of, print_reuse
    from pcache_cli.reports.as_json import document
    from pcache_cli.reports.breakers import advice, print_study, study_value
    from pcache_cli.reports.marker_placement import print_placement
    from pcache_cli.reports.request_table import write_request_table
    from pcache_cli.targets import check_table_and_plot
    from pcache_cli.units import split_list

    if fail_below is not None and not 0 <= fail_below <= 1:
        raise UsageError(f"--fail-below {fail_below} is no ratio; write a number from 0 to 1")
    check_table_and_plot(output, plot)
    fields = split_list(group_by) if group_by else []
    study = placement = None
    if source.is_trace():
        trace, account, traced = source.trace(), None, None
        if fields:
            raise UsageError(
                "--group-by reads fields of the log, of which a trace keeps model, tenant and route only; "
                f"give {log_behind(trace.info.sources)} instead"
            )
        groups = []
    else:
        traced = source.traced_log(answers=False)
        trace, account = traced.trace, account_of(traced.log)
        groups = [(name, field_values(traced.rows, name)) for name in fields]
        for name in (name for name, values in groups if not values.values):
            console.note(f"no request of this log has a {name}: there is no table by it")
        if breakers:
            with console.progress("looking for what breaks the prefix"):
                study = study_breakers(traced, limits_of)
    if markers:
        from simulators.marker_placement import best_placement
        from simulators.providers.rules import load_rule_book

        with console.progress("placing markers"):
            placement = best_placement(trace, load_rule_book(), traced.log.requests if traced else None)
    by_request = reuse_by_request(trace)
    reuse = analyze_reuse(trace, by_request, groups)

    if output is not None:
        write_request_table(output, trace, by_request)
        console.note(f"wrote {output}")
    if plot is not None:
        from pcache_cli.reports.reuse_plot import plot_reuse

        plot_reuse(plot, trace, by_request)
        console.note(f"wrote {plot}")
    if json:
        console.print_json(
            document(
                "analyze",
                **_contract(reuse),
                **({} if study is None else study_value(study, show_text)),
                **({} if placement is None else {"markers": placement}),
                input=account,
                trace=trace.info,
                definitions=DEFINITIONS,
            )
        )
    else:
        out = console.stdout_console()
        print_reuse(out, reuse, () if study is None else advice(study), account, trace.info)
        if study is not None:
            print_study(out, study, trace.info)
        if placement is not None:
            print_placement(out, placement)
        console.note(f"\nNext: {_next_step(source, trace, study)}")
    if fail_below is not None:
        if reuse.reusable_token_ratio is None:
            raise CannotEvaluateError(
                "--fail-below: the reusable-token ratio is unknown, the log holds no prompts"
            )
        return int(reuse.reusable_token_ratio < fail_below)
    return 0


def _next_step(source: LogSource, trace: "Trace", study: "Study | None") -> str:
    """The command to try next: the story of the request that the worst breaker costs most, else a simulation."""
    log = " ".join(source.inputs)
    worst = next((breaker for breaker in study.breakers if breaker.requests), None) if study else None
    if worst is None:
        return f"pcache simulate {log} shows what a cache of limited size or lifetime hits."
    _, row = max(zip(worst.lost, worst.requests, strict=True)) if worst.lost else (0, worst.requests[0])
    return f"pcache explain {log} --request {trace.requests.request_id[row]} tells what broke one of them."


def _contract(reuse: object) -> dict[str, object]:
    from pcache_cli.reports.as_json import plain_value

    fields: dict[str, object] = plain_value(reuse)
    return fields
