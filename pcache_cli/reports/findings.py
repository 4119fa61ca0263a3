"""What the linter found, in the format asked for, on standard output or in a file."""

import sys
from dataclasses import dataclass
from pathlib import Path

from analyzers.errors import InputError
from analyzers.findings import Level
from analyzers.linting.run import LintRun
from analyzers.rules.registry import all_rules
from pcache_cli import console

FORMATS = ("text", "json", "sarif", "github", "junit")


@dataclass(frozen=True)
class Wanted:
    """The form of the report; `output` None is standard output, `failing` the level from which findings fail."""

    format: str
    output: Path | None
    show_text: bool
    failing: Level | None


def write_findings(run: LintRun, wanted: Wanted) -> None:
    """Write the report to standard output or to the file. Raises InputError where that is not possible."""
    text = _rendered(run, wanted)
    if text is None:
        from pcache_cli.reports.findings_text import FindingsView, print_findings

        names = {id: rule.name for id, rule in all_rules().items()}
        if wanted.output is None:
            print_findings(run, FindingsView(names, wanted.show_text), console.stdout_console())
            return
        from io import StringIO

        from rich.console import Console

        buffer = StringIO()
        print_findings(
            run, FindingsView(names, wanted.show_text), Console(file=buffer, no_color=True, width=120)
        )
        text = buffer.getvalue()
    if wanted.output is None:
        sys.stdout.write(text)
        return
    try:
        wanted.output.write_text(text, "utf-8")
    except OSError as problem:
        raise InputError(f"cannot write {wanted.output}: {problem.strerror}") from None


def _rendered(run: LintRun, wanted: Wanted) -> str | None:
    """The report as text of the chosen machine format; None for the one for people."""
    import json

    if wanted.format == "json":
        from pcache_cli.reports.findings_json import findings_document

        document = findings_document(run, show_text=wanted.show_text)
        return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    if wanted.format == "sarif":
        from pcache_cli.reports.sarif import sarif_document

        return json.dumps(sarif_document(run, all_rules()), ensure_ascii=False, indent=2) + "\n"
    if wanted.format == "github":
        from pcache_cli.reports.github import github_annotations

        return "".join(line + "\n" for line in github_annotations(run))
    if wanted.format == "junit":
        from pcache_cli.reports.junit import junit_xml

        return junit_xml(run, wanted.failing)
    return None
