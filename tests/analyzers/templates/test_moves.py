"""What a move promises: the same lines, fewer findings, a longer shared beginning; and edits that never collide."""

from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.findings import Edit, Finding, Fix, Level, Location, Safety
from analyzers.linting.fixes import rewrites, shared_tokens, with_moves
from analyzers.linting.run import LintRun, lint, movable
from analyzers.rules.checking import Checks
from analyzers.rules.registry import select_rules
from analyzers.templates.front_ends import Readers, read_bytes
from analyzers.templates.parts import Prompt, Source
from tests.analyzers.rules.fixture_files import RULES_LINE

CHECKS = Checks(select_rules(), lambda text: len(text.split()))
LINES = [
    "{{ now() }}",
    "Hello {{ user.name }}.",
    "{% for d in docs %}- {{ d }}{% endfor %}",
    "{% if admin %}You may delete.{% endif %}",
    RULES_LINE,
    "Second part. " + RULES_LINE,
    "{% set name = 'Ann' %}",
    "I am {{ name }}.",
    "Documents:",
    "",
    "{{ question }}",
]


def source_of(text: str) -> Source:
    return read_bytes("a.j2", text.encode(), Readers())


def prompt_of(source: Source) -> Prompt:
    prompt = movable(source)
    assert prompt is not None
    return prompt


def run_of(text: str) -> LintRun:
    run = lint([source_of(text)], CHECKS)
    with_moves(run, CHECKS, Readers())
    return run


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8))
def test_a_move_keeps_lines_lowers_findings_and_gains_tokens(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    run = run_of(text)
    for change in rewrites(run, unsafe=True):
        assert Counter(change.after.splitlines()) == Counter(text.splitlines())
        again = run_of(change.after)
        loud = sum(finding.level is not Level.INFO for finding in run.findings)
        assert sum(finding.level is not Level.INFO for finding in again.findings) <= loud
        gain = next(finding.gain for finding in run.findings if finding.gain is not None)
        before = shared_tokens(prompt_of(source_of(text)), {}, CHECKS)
        after = shared_tokens(prompt_of(again.sources[0]), {}, CHECKS)
        assert after - before == gain.tokens > 0


def test_shared_tokens_end_at_the_first_part_that_varies() -> None:
    def shared(text: str) -> int:
        return shared_tokens(prompt_of(source_of(text)), {}, CHECKS)

    assert shared("one two {{ now() }} three") == 2
    assert shared("one {{ company_name }} two {{ now() }}") == 3
    assert shared("{% if admin %}one{% endif %} two") == 0


def with_edits(text: str, *edits: Edit) -> LintRun:
    source = source_of(text)
    findings = [
        Finding("PC202", Level.WARNING, "m", Location("a.j2", 1, 1), fix=Fix("f", (edit,), Safety.SAFE))
        for edit in edits
    ]
    return LintRun([source], findings, [])


def test_edits_are_applied_together_and_overlapping_ones_left_for_the_next_run() -> None:
    run = with_edits("abcdef\n", Edit("a.j2", 0, 1, "X"), Edit("a.j2", 3, 5, "Y"), Edit("a.j2", 4, 6, "Z"))
    (change,) = rewrites(run, unsafe=False)
    assert change.after == "XbcdZ\n"
    assert change.path == Path("a.j2")


def test_equal_edits_are_applied_once() -> None:
    edit = Edit("a.j2", 1, 1, "+")
    (change,) = rewrites(with_edits("ab\n", edit, edit), unsafe=False)
    assert change.after == "a+b\n"


def test_the_diff_names_both_sides() -> None:
    (change,) = rewrites(with_edits("ab", Edit("a.j2", 0, 1, "x")), unsafe=False)
    assert change.diff().startswith("--- a/a.j2\n+++ b/a.j2\n")
    assert "No newline at end of file" in change.diff()
