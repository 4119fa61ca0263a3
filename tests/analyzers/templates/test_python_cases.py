"""Python files with a planted breaker are found, each by its rule; files without one are silent."""

import re
from pathlib import Path

import pytest

from analyzers.findings import Finding
from analyzers.rules.checking import Checks, check_source
from analyzers.rules.registry import select_rules
from analyzers.templates.front_ends import Readers, read_file

CASES = Path(__file__).parent / "python_cases"
EXPECTS = re.compile(r"# expects: (PC\d+)")
BAD = {
    path: match[1]
    for path in sorted((CASES / "bad").rglob("*.py"))
    if (match := EXPECTS.match(path.read_text())) is not None
}
GOOD = sorted((CASES / "good").rglob("*.py"))
RULES = select_rules()


def findings_of(path: Path) -> list[Finding]:
    source = read_file(path, Readers())
    assert not source.problems
    return check_source(source, Checks(RULES, lambda text: len(text) // 4))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_breaker_is_found_in_a_line_of_the_project(path: Path) -> None:
    found = [finding for finding in findings_of(path) if finding.rule == BAD[path]]
    assert found
    for finding in found:
        place = finding.location
        assert place.path is not None
        assert place.line is not None
        assert place.line <= Path(place.path).read_text().count("\n")


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_clean_file_is_silent(path: Path) -> None:
    assert [f"{finding.rule} {finding.message}" for finding in findings_of(path)] == []


def test_there_are_at_least_30_breakers_and_20_clean_files() -> None:
    assert len(BAD) >= 30
    assert len(GOOD) >= 20
