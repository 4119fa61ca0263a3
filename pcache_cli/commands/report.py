"""`pcache report`: the whole answer as one HTML file that one can send."""

from pathlib import Path
from typing import Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, takes_log


@pcache_command
@takes_log
def report(
    source: LogSource,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, typer.Option("--title", help="Heading; the name of the input.")] = None,
    ttl: Annotated[
        str, typer.Option("--ttl", help="Lifetime for the misses over time: 5m, 1h, none.")
    ] = "5m",
    block_size: Annotated[
        int | None, typer.Option("--block-size", min=1, help="Block for the misses over time (16).")
    ] = None,
    prices: Annotated[
        list[Path] | None, typer.Option("--prices", help="Your own prices; repeatable.")
    ] = None,
    rules: Annotated[
        list[Path] | None, typer.Option("--rules", help="Your own provider rules; repeatable.")
    ] = None,
    assume_model: Annotated[
        str | None, typer.Option("--assume-model", help="Price requests that name no model as this one.")
    ] = None,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Quote what differs, from the prompts.")
    ] = False,
) -> int:
    """Money, ceiling, breakers with their proof, prefix tree, curves and tables: one HTML file, no network."""
    from analyzers.errors import InputError, UsageError
    from analyzers.logs.inputs import printable_name, title_of
    from pcache_cli import console
    from pcache_cli.axes import parse_lifetimes
    from pcache_cli.log_report import ReportWords, gather_report
    from pcache_cli.reports.analyze import verdict
    from pcache_cli.reports.html import render_report
    from pcache_cli.targets import check_target

    lifetimes = parse_lifetimes(ttl)
    if len(lifetimes) != 1:
        raise UsageError(f"--ttl {ttl} names several lifetimes; the misses over time are those of one")
    check_target("--output", output, ".html", ".htm")
    gathered = gather_report(
        source, ReportWords(lifetimes[0], block_size, prices or (), rules or (), assume_model)
    )
    heading = title or ", ".join(title_of(printable_name(Path(name).name)) for name in source.inputs)
    page = render_report(gathered, heading, show_text)
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"cannot write {output}: {problem.strerror or problem}") from problem
    console.stdout_console().print(console.plain(verdict(gathered.reuse)), style="bold")
    size = len(page.encode()) / 1000
    console.note(f"wrote {output} ({size:,.0f} kB); open it in a browser")
    return 0
