"""Templates joined with a log: constants are settled, what varies is confirmed with its scope."""

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.findings import Confidence
from analyzers.linting.evidence import LogEvidence, gather
from analyzers.logs import read_log
from analyzers.templates.front_ends import Readers, read_bytes
from analyzers.templates.parts import Scope, Value
from tests.analyzers.rules.fixture_files import RULES_LINE
from tests.pcache_cli.lint_project import Project

TEMPLATE = (
    "You are the helper of {{ timestamp }} Parts.\nRegion: {{ region }}, plan {{ plan }}\n{% for d in docs %}- {{ d }}\n{% endfor %}"
    + RULES_LINE
)


def write_log(folder: Path, count: int = 12, **values: Any) -> Path:
    """A log of requests made by the template: docs differ always, region by user, the rest never."""
    path = folder / "log.jsonl"
    rows = []
    for number in range(count):
        system = (
            f"You are the helper of Fernhill Parts.\nRegion: {['north', 'south'][number % 2]}, plan basic\n"
            f"- document {number}\n{RULES_LINE}"
        )
        body = {
            "model": "gpt-4.1",
            "user": f"u{number % 2}",
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": "Hello"}],
        }
        time = f"2026-10-0{1 + number // 6}T09:{number:02}:00Z"
        rows.append(
            json.dumps({"id": f"r{number}", "timestamp": time, "provider": "openai", "request": body})
        )
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def evidence(tmp_path: Path) -> LogEvidence:
    source = read_bytes("a.j2", TEMPLATE.encode(), Readers())
    return gather([source], read_log([str(write_log(tmp_path))]))


def test_each_value_has_its_own_scope(evidence: LogEvidence) -> None:
    assert evidence.scopes["a.j2"] == {
        "timestamp": Scope.GLOBAL,
        "region": Scope.USER,
        "plan": Scope.GLOBAL,
        "docs": Scope.REQUEST,
    }


def test_variations_count_requests_and_values(evidence: LogEvidence) -> None:
    source = read_bytes("a.j2", TEMPLATE.encode(), Readers())
    region = next(p for p in source.prompts[0].parts if isinstance(p, Value) and p.expression == "region")
    seen = evidence.variations[region.span]
    assert (seen.requests, seen.distinct) == (12, 2)


def test_a_template_that_the_log_does_not_show_is_left_alone(tmp_path: Path) -> None:
    source = read_bytes("b.j2", b"Quite another prompt, with {{ now() }} in it and no more.", Readers())
    assert not gather([source], read_log([str(write_log(tmp_path))])).scopes


def test_one_request_settles_nothing(tmp_path: Path) -> None:
    source = read_bytes("a.j2", TEMPLATE.encode(), Readers())
    assert not gather([source], read_log([str(write_log(tmp_path, count=1))])).scopes


def test_the_command_silences_constants_and_confirms_breakers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path, monkeypatch)
    project.put("system.j2", TEMPLATE)
    log = write_log(tmp_path)
    assert "PC101" in project.lint("system.j2", "--json").rules
    findings = project.lint("system.j2", "--logs", str(log), "--json").document["findings"]
    assert [(f["rule"], f["subject"], f["confidence"]) for f in findings] == [
        ("PC110", "region", Confidence.CONFIRMED),
        ("PC107", "docs", Confidence.CONFIRMED),
    ]
    assert findings[1]["level"] == "error"
    assert findings[1]["distinct_values"] == findings[1]["requests_seen"] == 12
