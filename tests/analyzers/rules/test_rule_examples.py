"""Every rule finds its bad examples and is silent on its good ones; no rule at all speaks up on a good one."""

from pathlib import Path

import pytest

from analyzers.rules.registry import all_rules
from tests.analyzers.rules.fixture_files import FIXTURES, Example, examples, findings_of

EXAMPLES = list(examples())


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.bad], ids=str)
def test_bad_example_is_found(example: Example, tmp_path: Path) -> None:
    found = findings_of(example, tmp_path)
    assert example.rule in {finding.rule for finding in found}, [f"{f.rule} {f.message}" for f in found]


@pytest.mark.parametrize("example", [e for e in EXAMPLES if not e.bad], ids=str)
def test_good_example_is_silent(example: Example, tmp_path: Path) -> None:
    found = findings_of(example, tmp_path)
    assert not found, [f"{finding.rule} {finding.level} {finding.message}" for finding in found]


def test_there_are_at_least_60_planted_breakers_and_40_clean_files() -> None:
    assert sum(example.bad for example in EXAMPLES) >= 60
    assert sum(not example.bad for example in EXAMPLES) >= 40


def test_every_rule_that_reads_templates_or_requests_has_examples() -> None:
    checked = {r.id for r in all_rules().values() if r.template or r.request or r.source}
    with_examples = {path.stem.upper() for path in FIXTURES.glob("*.yaml")}
    # These speak of Python source only; their examples are with that front end.
    python_only = {"PC201", "PC202", "PC204", "PC205", "PC209", "PC211", "PC306", "PC402", "PC404", "PC409"}
    assert checked - with_examples <= python_only
