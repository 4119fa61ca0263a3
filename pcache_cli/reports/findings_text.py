"""Findings for people: the verdict, the files with what was found in them, the order that would help."""

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from analyzers.findings import Confidence, Finding, Level
from analyzers.linting.run import LintRun
from analyzers.templates.layout import Layout
from pcache_cli.console import plain
from pcache_cli.reports.numbers import counted

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.INFO: "cyan"}


@dataclass(frozen=True)
class FindingsView:
    """What to show: the rule names by id, and whether quoted prompt text may appear."""

    rule_names: dict[str, str]
    show_text: bool = False


def verdict(run: LintRun) -> str:
    """The answer in one sentence."""
    files = counted(len(run.sources), "file")
    prompts = counted(run.prompts, "prompt")
    if not run.findings:
        clean = "nothing that breaks a cache"
        if run.hidden:
            clean = f"nothing to show; {counted(run.hidden, 'finding')} left out (--level, --baseline or --changed)"
        elif run.problems:
            clean = "no findings in what could be read"
        return f"{files}, {prompts}: {clean}."
    counts = [
        counted(run.count(level), word)
        for level, word in ((Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.INFO, "note"))
        if run.count(level)
    ]
    worst = max((finding.tokens_lost or 0 for finding in run.findings), default=0)
    lost = f"; the costliest keeps {worst:,} tokens a request out of the cache" if worst else ""
    return f"{files}, {prompts}: {', '.join(counts)}{lost}."


def print_findings(run: LintRun, view: FindingsView, console: "Console") -> None:
    """Everything the run says, in the order of files and lines."""
    console.print(plain(verdict(run)), style="bold", soft_wrap=True)
    for problem in run.problems:
        where = ":".join(
            str(part) for part in (problem.path, problem.line, problem.column) if part is not None
        )
        console.print(f"[bold red]unreadable[/] {plain(where)}: {plain(problem.message)}", soft_wrap=True)
    by_path = groupby(run.findings, key=lambda finding: finding.location.path or "")
    layouts: dict[str, list[Layout]] = {}
    for layout in run.layouts:
        layouts.setdefault(layout.path, []).append(layout)
    for path, findings in by_path:
        console.print()
        console.print(plain(path), style="underline", soft_wrap=True)
        for finding in findings:
            _print_finding(finding, view, console)
        for layout in layouts.pop(path, []):
            _print_layout(layout, console)
    for path, left in layouts.items():
        console.print()
        console.print(plain(path), style="underline", soft_wrap=True)
        for layout in left:
            _print_layout(layout, console)
    for note in run.notes:
        console.print(plain(note), style="dim", soft_wrap=True)


def _print_finding(finding: Finding, view: FindingsView, console: "Console") -> None:
    where = finding.location
    place = f"{where.line}:{where.column}" if where.line else (where.json_path or "-")
    style = _STYLES[finding.level]
    name = view.rule_names.get(finding.rule, "")
    console.print(
        f"  {place:>7}  [{style}]{finding.level}[/] [bold]{finding.rule}[/] {plain(name)}: {plain(finding.message)}",
        soft_wrap=True,
    )
    details = []
    if finding.money_lost is not None:
        details.append(f"costs about ${finding.money_lost:,.2f} a {finding.money_per}")
    if finding.confidence is Confidence.CONFIRMED:
        seen = finding.evidence
        details.append(
            f"confirmed by the log: {seen.distinct_values:,} values in {seen.requests_seen:,} requests"
            if seen.distinct_values is not None and seen.requests_seen is not None
            else "confirmed"
        )
    if finding.gain is not None:
        details.append(f"moving it makes {finding.gain.tokens:,} more tokens readable")
    if details:
        console.print(f"           {plain('; '.join(details))}", soft_wrap=True)
    if view.show_text and finding.evidence.excerpt:
        console.print(f"           text: {plain(finding.evidence.excerpt)}", soft_wrap=True)
    if finding.fix is not None:
        console.print(f"           [green]fix:[/] {plain(finding.fix.advice)}", soft_wrap=True)


def _print_layout(layout: Layout, console: "Console") -> None:
    of_what = f" of {plain(layout.prompt)}" if layout.prompt else ""
    console.print(f"  suggested order of the parts{of_what}:", style="bold")
    for number, piece in enumerate(layout.suggested, 1):
        scope = "may change" if piece.scope is None else _HOW_OFTEN.get(str(piece.scope), str(piece.scope))
        lines = (
            f"line {piece.first_line}"
            if piece.first_line == piece.last_line
            else f"lines {piece.first_line}-{piece.last_line}"
        )
        console.print(f"    {number}. {plain(piece.label)} ({lines}; {scope})", soft_wrap=True)


_HOW_OFTEN = {
    "global": "fixed",
    "release": "fixed until a release",
    "day": "changes daily",
    "tenant": "by tenant",
    "user": "by user",
    "session": "by session",
    "turn": "changes every turn",
    "request": "changes every request",
}
