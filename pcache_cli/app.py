"""The Typer app: one line a command. Commands import what they need when they run, so that start-up stays fast."""

import gc
from typing import Annotated

import typer

from pcache_cli import __version__
from pcache_cli.commands import (
    analyze,
    cost,
    diff,
    explain,
    key,
    lint,
    probe,
    report,
    rule,
    simulate,
    trace,
    validate,
)

app = typer.Typer(
    name="pcache",
    help="How much of your prompts could be cached, what breaks the cache, and what that is worth.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pcache {__version__}")
        raise typer.Exit


@app.callback()
def _pcache(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """How much of your prompts could be cached, what breaks the cache, and what that is worth."""


app.command()(analyze.analyze)
app.command()(trace.trace)
app.command()(simulate.simulate)
app.command()(probe.probe)
app.command()(lint.lint)
app.command()(rule.rule)
app.command()(cost.cost)
app.command()(explain.explain)
app.command()(diff.diff)
app.command()(report.report)
app.command()(validate.validate)
app.command()(key.key)


def main() -> None:
    """Run the command line. Exit codes: 0 fine, 1 a gate or finding, 2 usage or input, 3 not evaluated."""
    # A log becomes millions of small objects without cycles; looking for cycles among them takes a fifth of a run.
    gc.set_threshold(1_000_000, 20, 20)
    app()
