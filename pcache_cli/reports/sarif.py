"""Findings as SARIF 2.1.0, which code hosts show beside the lines."""

from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from analyzers.findings import Edit, Finding, Level, Location
from analyzers.linting.baseline import fingerprint
from analyzers.linting.run import LintRun
from analyzers.rules.registry import Rule
from analyzers.templates.parts import LineIndex, Problem
from pcache_cli import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}


def sarif_document(run: LintRun, rules: dict[str, Rule]) -> dict[str, Any]:
    """The run as a SARIF log. Paths below the working folder are relative to it; rules are described in full."""
    used = sorted({finding.rule for finding in run.findings})
    numbers = {rule: number for number, rule in enumerate(used)}
    texts = {source.path: source.text for source in run.sources}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "pcache",
                        "version": __version__,
                        "rules": [_rule(rules[rule]) for rule in used if rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not run.problems,
                        "toolExecutionNotifications": [_notification(problem) for problem in run.problems],
                    }
                ],
                "results": [_result(finding, numbers, texts) for finding in run.findings],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.docs},
        "help": {"text": rule.docs},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
        "properties": {"tags": [rule.family]},
    }


def _result(finding: Finding, numbers: dict[str, int], texts: dict[str, str]) -> dict[str, Any]:
    advice = f" {finding.fix.advice}" if finding.fix is not None else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": numbers[finding.rule],
        "level": _LEVELS[finding.level],
        "message": {"text": finding.message + "." + advice},
        "partialFingerprints": {"pcache/v1": fingerprint(finding)},
        "properties": {
            "confidence": str(finding.confidence),
            "tokensLost": finding.tokens_lost,
            "moneyLost": None if finding.money_lost is None else str(finding.money_lost),
        },
    }
    if finding.location.path is not None:
        result["locations"] = [_location(finding.location)]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [
            {
                "description": {"text": finding.fix.advice},
                "artifactChanges": [_change(edit, texts) for edit in finding.fix.edits if edit.path in texts],
            }
        ]
    return result


def _change(edit: Edit, texts: dict[str, str]) -> dict[str, Any]:
    span = LineIndex(edit.path, texts[edit.path]).span(edit.start, edit.end)
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {
        "artifactLocation": {"uri": _uri(edit.path)},
        "replacements": [{"deletedRegion": region, "insertedContent": {"text": edit.text}}],
    }


def _location(place: Location) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": place.line or 1}
    if place.column is not None:
        region["startColumn"] = place.column
    if place.end_line is not None and place.end_column is not None:
        region["endLine"], region["endColumn"] = place.end_line, place.end_column
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(place.path or "")}, "region": region}
    }
    if place.json_path:
        found["logicalLocations"] = [{"fullyQualifiedName": place.json_path}]
    return found


def _notification(problem: Problem) -> dict[str, Any]:
    place = Location(problem.path, problem.line, problem.column)
    return {"level": "error", "message": {"text": problem.message}, "locations": [_location(place)]}


def _uri(path: str) -> str:
    shown = Path(path)
    if shown.is_absolute():
        try:
            shown = shown.relative_to(Path.cwd())
        except ValueError:
            return "file://" + quote(shown.as_posix())
    return quote(PurePath(shown).as_posix().removeprefix("./"))
