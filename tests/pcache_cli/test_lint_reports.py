"""The machine formats: SARIF as the standard has it, GitHub annotations and JUnit that nothing can inject into."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.analyzers.rules.fixture_files import RULES
from tests.pcache_cli.lint_project import CLEAN, CLOCK_FIRST, Project

REGION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["startLine"],
    "properties": {
        name: {"type": "integer", "minimum": 1}
        for name in ("startLine", "startColumn", "endLine", "endColumn")
    },
}
ARTIFACT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["uri"],
    "properties": {"uri": {"type": "string", "format": "uri-reference", "pattern": "^[^ \\\\]+$"}},
}
MESSAGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "additionalProperties": False,
            "required": ["artifactLocation"],
            "properties": {"artifactLocation": ARTIFACT, "region": REGION},
        },
        "logicalLocations": {"type": "array", "items": {"required": ["fullyQualifiedName"]}},
    },
}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string", "pattern": "^PC[0-9]{3}$"},
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "help": MESSAGE,
        "defaultConfiguration": {"properties": {"level": {"enum": ["none", "note", "warning", "error"]}}},
    },
}
RESULT = {
    "type": "object",
    "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
    "properties": {
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": MESSAGE,
        "locations": {"type": "array", "items": LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "fixes": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["artifactChanges"],
                "properties": {
                    "description": MESSAGE,
                    "artifactChanges": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["artifactLocation", "replacements"],
                            "properties": {
                                "artifactLocation": ARTIFACT,
                                "replacements": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {
                                        "required": ["deletedRegion"],
                                        "properties": {"deletedRegion": REGION, "insertedContent": MESSAGE},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {"required": ["name"], "properties": {"rules": {"items": RULE}}}
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                    "results": {"type": "array", "items": RESULT},
                },
            },
        },
    },
}
"""What SARIF 2.1.0 (OASIS, March 2020) asks of the objects that we write."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


@pytest.fixture
def busy(project: Project) -> Project:
    project.write(clock_j2=CLOCK_FIRST, clean_j2=CLEAN, broken_j2="{% if")
    project.put("a folder, with: odd/näme.j2", f"Hello {{{{ user.name }}}}\n{RULES}")
    project.put(
        "request.json",
        '{"model": "claude-sonnet-5", "messages": [{"role": "user", "content": '
        '[{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]}]}',
    )
    return project


def test_sarif_is_as_the_standard_has_it(busy: Project) -> None:
    outcome = busy.lint(".", "request.json", "--output-format", "sarif")
    document = json.loads(outcome.out)
    jsonschema.Draft7Validator(SARIF).validate(document)
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == 3
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert run["invocations"][0]["executionSuccessful"] is False
    assert any("fixes" in result for result in run["results"])


@pytest.mark.skipif(
    "SARIF_SCHEMA" not in os.environ, reason="SARIF_SCHEMA names no copy of the standard's schema"
)
def test_sarif_follows_the_standards_own_schema(busy: Project) -> None:
    schema = json.loads(Path(os.environ["SARIF_SCHEMA"]).read_text("utf-8"))
    document = json.loads(busy.lint(".", "request.json", "--output-format", "sarif").out)
    jsonschema.validators.validator_for(schema)(schema).validate(document)


@pytest.mark.parametrize(
    "options", [(), ("--show-text",), ("--model", "claude-sonnet-5", "--requests-per-day", "9")]
)
def test_the_json_follows_its_schema(busy: Project, options: tuple[str, ...]) -> None:
    path = Path(__file__).resolve().parents[2] / "docs" / "schemas" / "lint.schema.json"
    document = busy.lint(".", "request.json", "--json", *options).document
    jsonschema.Draft202012Validator(json.loads(path.read_text("utf-8"))).validate(document)
    assert document["findings"]
    assert document["problems"]


def test_a_fingerprint_stays_when_lines_move(project: Project) -> None:
    def fingerprint() -> str:
        document = json.loads(project.lint("--output-format", "sarif").out)
        return str(document["runs"][0]["results"][0]["partialFingerprints"])

    project.write(clock_j2=CLOCK_FIRST)
    before = fingerprint()
    project.write(clock_j2="One line more.\n" + CLOCK_FIRST)
    assert fingerprint() == before


def test_github_annotations_name_file_line_and_rule(busy: Project) -> None:
    lines = busy.lint("--output-format", "github").out.splitlines()
    assert lines[0].startswith("::error file=broken.j2,line=1")
    assert any(line.startswith("::error file=clock.j2,line=1,endLine=1,col=7") for line in lines)
    assert any("file=a folder%2C with%3A odd/näme.j2" in line for line in lines)


def test_github_annotations_cannot_be_injected(project: Project) -> None:
    project.put("a.j2", "{{ now('\n::set-output name=x::y%0A') }}\n" + RULES)
    lines = project.lint("--output-format", "github").out.splitlines()
    assert len(lines) == 1
    assert "%250A" in lines[0]


def test_junit_counts_and_escapes(busy: Project) -> None:
    busy.put("b.j2", "{{ now('<&\x01>') }}\n" + RULES)
    root = ElementTree.fromstring(busy.lint("--output-format", "junit").out.encode())
    assert (root.get("failures"), root.get("errors")) == ("3", "1")
    suites = {suite.get("name"): suite for suite in root}
    assert suites["clean.j2"].get("failures") == "0"
    assert "<&" in (suites["b.j2"].find(".//failure").text or "")  # type: ignore[union-attr]


def test_an_unknown_format_is_an_error(project: Project) -> None:
    project.write(clean_j2=CLEAN)
    assert project.lint("--output-format", "xml").code == 2


def test_a_report_goes_to_a_file(busy: Project) -> None:
    for form in ("text", "json", "sarif", "github", "junit"):
        outcome = busy.lint("--output-format", form, "--output", "report")
        assert outcome.out == ""
        assert "PC101" in (busy.folder / "report").read_text("utf-8")
