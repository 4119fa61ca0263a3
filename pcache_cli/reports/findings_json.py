"""Findings as one JSON document, for scripts."""

from typing import Any

from analyzers.findings import Finding, Level
from analyzers.linting.run import LintRun
from pcache_cli.reports.as_json import document, plain_value


def findings_document(run: LintRun, command: str = "lint", show_text: bool = False) -> dict[str, Any]:
    """The run as a JSON value; quoted prompt text only with `show_text`."""
    return document(
        command,
        files=len(run.sources),
        prompts=run.prompts,
        summary={str(level): run.count(level) for level in Level},
        hidden=run.hidden,
        findings=[finding_value(finding, show_text) for finding in run.findings],
        problems=run.problems,
        suggested_orders=[
            {
                "path": layout.path,
                "prompt": layout.prompt or None,
                "parts": [
                    {
                        "label": piece.label,
                        "line": piece.first_line,
                        "end_line": piece.last_line,
                        "scope": None if piece.scope is None else str(piece.scope),
                    }
                    for piece in layout.suggested
                ],
            }
            for layout in run.layouts
        ],
        notes=run.notes,
    )


def finding_value(finding: Finding, show_text: bool = False) -> dict[str, Any]:
    """One finding, its place spread out so that `path`, `line` and `column` are at hand."""
    place, evidence = finding.location, finding.evidence
    value = {
        "rule": finding.rule,
        "level": finding.level,
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "json_path": place.json_path,
        "char_offset": place.char_offset,
        "token_offset": place.token_offset,
        "message": finding.message,
        "subject": finding.subject,
        "confidence": finding.confidence,
        "scope": evidence.scope,
        "request_id": evidence.request_id,
        "against_id": evidence.against_id,
        "affected_requests": evidence.affected_requests,
        "requests_seen": evidence.requests_seen,
        "distinct_values": evidence.distinct_values,
        "tokens_lost": finding.tokens_lost,
        "tokens_estimated": finding.tokens_estimated,
        "money_lost": finding.money_lost,
        "money_per": finding.money_per,
        "fix": None
        if finding.fix is None
        else {"advice": finding.fix.advice, "safety": finding.fix.safety, "edits": len(finding.fix.edits)},
        "gain": finding.gain,
    }
    if show_text:
        value["excerpt"] = evidence.excerpt
    plain: dict[str, Any] = plain_value(value)
    return plain
