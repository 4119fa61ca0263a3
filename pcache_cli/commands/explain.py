"""`pcache explain`: why one request could not be read from cache, and what changed."""

from typing import Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, takes_log


@pcache_command
@takes_log
def explain(
    source: LogSource,
    request: Annotated[str, typer.Option("--request", "-r", help="Id of the request, or the end of it.")],
    against: Annotated[
        str | None,
        typer.Option("--against", help="Id of the request to compare with; by default the best earlier one."),
    ] = None,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Quote the prompts at the differences.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The report as JSON on stdout.")] = False,
) -> int:
    """One request's story: what matched, the first difference, its rule, its cost and its fix."""
    from analyzers.explanation import explain as explain_request
    from analyzers.explanation import row_of
    from analyzers.log_evidence import log_evidence
    from pcache_cli import console
    from pcache_cli.lint_prices import limits_of
    from pcache_cli.reports.as_json import document
    from pcache_cli.reports.explain import print_explanation, without_text

    log = log_evidence(source.traced_log(answers=False), limits_of)
    row = row_of(log, request)
    other = None if against is None else row_of(log, against)
    story = explain_request(log, row, other, show_text)
    if not show_text:
        story = without_text(story)
    if json:
        console.print_json(document("explain", explanation=story, tokens=log.traced.trace.info.tokenizer))
    else:
        print_explanation(console.stdout_console(), story)
        if not show_text and story.differences:
            console.note("\nNext: --show-text quotes the prompts at the differences.")
    return 0
