"""Findings as GitHub workflow commands, which become annotations on the lines of a change."""

from analyzers.findings import Finding, Level
from analyzers.linting.run import LintRun

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "notice"}


def github_annotations(run: LintRun) -> list[str]:
    """One workflow command a finding and a problem. Text is escaped, so that none of it is a command itself."""
    lines = [
        _command("error", problem.path, problem.line, problem.column, None, None, "pcache", problem.message)
        for problem in run.problems
    ]
    return lines + [_annotation(finding) for finding in run.findings]


def _annotation(finding: Finding) -> str:
    place = finding.location
    advice = f"\n{finding.fix.advice}" if finding.fix is not None else ""
    return _command(
        _COMMANDS[finding.level],
        place.path or "",
        place.line,
        place.column,
        place.end_line,
        place.end_column,
        finding.rule,
        finding.message + advice,
    )


def _command(
    name: str,
    path: str,
    line: int | None,
    column: int | None,
    end_line: int | None,
    end_column: int | None,
    title: str,
    message: str,
) -> str:
    # GitHub takes columns only where a range stays on one line.
    one_line = end_line in (None, line)
    fields = {
        "file": path.removeprefix("./"),
        "line": line,
        "endLine": end_line,
        "col": column if one_line else None,
        "endColumn": end_column if one_line else None,
        "title": title,
    }
    shown = ",".join(
        f"{key}={_property(str(value))}" for key, value in fields.items() if value not in (None, "")
    )
    return f"::{name} {shown}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
