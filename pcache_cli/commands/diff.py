"""`pcache diff`: two requests, or two logs before and after a change, and a gate for CI."""

from typing import TYPE_CHECKING, Annotated

import typer

from pcache_cli.command import pcache_command

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


@pcache_command
def diff(
    before: Annotated[
        str, typer.Argument(metavar="A", help="A log or a single request: file, folder or glob.")
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="What to compare it with.")],
    max_regression: Annotated[
        str | None,
        typer.Option(
            "--max-regression",
            help="Exit 1 when reuse falls by more than this, for example 1% (of two requests: when B loses more "
            "than this share of its prompt).",
        ),
    ] = None,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Quote the prompts at the differences.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The report as JSON on stdout.")] = False,
    format: Annotated[str | None, typer.Option("--format", help="Log format; detected by default.")] = None,
    tokenizer: Annotated[
        str,
        typer.Option("--tokenizer", help="auto, o200k, cl100k, a tokenizer.json, a folder, or a hub name."),
    ] = "auto",
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", help="Fields that must agree for sharing; 'none' for one cache."),
    ] = None,
) -> int:
    """Compare two requests or two logs: what changed, what it costs, and whether that is too much."""
    from analyzers.errors import CannotEvaluateError
    from analyzers.log_difference import compare_logs
    from analyzers.logs.inputs import find_sources, printable_name
    from pcache_cli import console
    from pcache_cli.log_source import LogSource
    from pcache_cli.reports.as_json import document
    from pcache_cli.reports.diff import print_difference
    from pcache_cli.units import parse_share

    limit = None if max_regression is None else parse_share(max_regression)
    sources = [LogSource([name], format, None, tokenizer, None, namespace) for name in (before, after)]
    find_sources([before, after])
    logs = [source.log() for source in sources]
    if before != after and all(len(log.requests) == 1 for log in logs):
        both = LogSource([before, after], format, None, tokenizer, None, "none")
        return _diff_requests(_evidence(both), show_text, json, limit)
    evidence = [_evidence(source) for source in sources]
    difference = compare_logs(evidence[0], evidence[1])
    if json:
        named = {"before": printable_name(before), "after": printable_name(after)}
        console.print_json(document("diff", **named, difference=difference))
    else:
        print_difference(console.stdout_console(), difference, before, after)
    if limit is None:
        return 0
    if difference.regression is None:
        raise CannotEvaluateError("--max-regression: one of the logs holds no prompts, so reuse is unknown")
    return int(difference.regression > limit)


def _evidence(source: object) -> "LogEvidence":
    from analyzers.log_evidence import log_evidence
    from pcache_cli.lint_prices import limits_of

    return log_evidence(source.traced_log(answers=False), limits_of)  # type: ignore[attr-defined]


def _diff_requests(log: "LogEvidence", show_text: bool, json: bool, limit: float | None) -> int:
    from analyzers.explanation import explain
    from pcache_cli import console
    from pcache_cli.reports.as_json import document
    from pcache_cli.reports.explain import print_explanation, without_text

    story = explain(log, 1, 0, show_text)
    if not show_text:
        story = without_text(story)
    if json:
        console.print_json(document("diff", explanation=story))
    else:
        print_explanation(console.stdout_console(), story)
    return int(limit is not None and story.lost > limit * story.prompt_tokens)
