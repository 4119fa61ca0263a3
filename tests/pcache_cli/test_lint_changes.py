"""What `pcache lint` compares with: a baseline, a git revision, a lock file; and what it rewrites."""

import subprocess
from pathlib import Path

import pytest

from tests.analyzers.rules.fixture_files import RULES
from tests.pcache_cli.lint_project import CLEAN, CLOCK_FIRST, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


def git(*arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments],
        check=True,
        capture_output=True,
    )


def test_a_baseline_hides_what_it_knows_and_nothing_else(project: Project) -> None:
    project.write(clock_j2=CLOCK_FIRST)
    assert project.lint("--baseline", "base.json", "--update-baseline").code == 0
    assert project.lint("--baseline", "base.json").code == 0
    project.write(clock_j2="A line more.\n" + CLOCK_FIRST)
    assert project.lint("--baseline", "base.json").code == 0, "the line does not matter"
    project.write(clock_j2="{{ user.name }}\n" + CLOCK_FIRST)
    outcome = project.lint("--baseline", "base.json", "--json")
    assert outcome.code == 1
    assert outcome.rules == ["PC106"]
    assert outcome.document["hidden"] == 1


def test_another_variable_under_the_same_rule_is_new(project: Project) -> None:
    project.write(name_j2="{{ user.name }}\n" + RULES)
    project.lint("--baseline", "base.json", "--update-baseline")
    project.write(name_j2="{{ user.mail }}\n" + RULES)
    assert project.lint("--baseline", "base.json").code == 1


def test_a_baseline_is_a_ratchet(project: Project) -> None:
    project.write(clock_j2=CLOCK_FIRST)
    project.lint("--baseline", "base.json", "--update-baseline")
    project.write(clock_j2=CLEAN)
    assert "gone" in project.lint("--baseline", "base.json").out
    project.lint("--baseline", "base.json", "--update-baseline")
    project.write(clock_j2=CLOCK_FIRST)
    assert project.lint("--baseline", "base.json").code == 1


def test_a_missing_or_foreign_baseline_is_an_error(project: Project) -> None:
    project.write(clean_j2=CLEAN)
    assert project.lint("--baseline", "none.json").code == 2
    project.put("other.json", '{"hello": 1}')
    assert project.lint("--baseline", "other.json").code == 2


def test_changed_reports_lines_that_changed_since_a_revision(project: Project) -> None:
    git("init", "-q")
    project.write(a_j2=CLOCK_FIRST, b_j2=f"{RULES}{{{{ user.name }}}}\n{RULES}")
    git("add", ".")
    git("commit", "-qm", "one")
    assert project.lint("--changed", "HEAD").code == 0
    project.write(b_j2=f"{RULES}{{{{ user.mail }}}}\n{RULES}")
    project.write(new_j2=CLOCK_FIRST)
    paths = [f["path"] for f in project.lint("--changed", "HEAD", "--json").document["findings"]]
    assert paths == ["b.j2", "new.j2"]
    assert project.lint("--changed", "no-such-revision").code == 2
    assert project.lint("--changed", "--output=x").code == 2


def test_changed_outside_a_repository_is_an_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.folder.parent))
    project.write(a_j2=CLOCK_FIRST)
    assert project.lint("--changed", "HEAD").code == 2


def test_the_lock_says_how_many_cached_tokens_a_change_invalidates(project: Project) -> None:
    lines = RULES.splitlines(keepends=True)
    project.write(system_j2="".join(lines) + "{{ question }}\n")
    assert project.lint("--lock").code == 2, "there is no lock yet"
    assert project.lint("--update-lock").code == 0
    assert project.lint("--lock").code == 0
    lines[3] = "Another rule stands here now.\n"
    project.write(system_j2="".join(lines) + "{{ question }}\n")
    outcome = project.lint("--lock", "--json")
    finding = outcome.document["findings"][0]
    assert outcome.code == 1
    assert finding["rule"] == "PC611"
    assert "invalidates" in finding["message"]
    assert 20 < finding["tokens_lost"] < 80


def test_the_lock_is_silent_about_what_is_added_behind_the_fixed_beginning(project: Project) -> None:
    project.write(system_j2=RULES)
    project.lint("--update-lock")
    project.write(system_j2=RULES + "One rule more.\n{{ question }}\n")
    assert project.lint("--lock").code == 0


def test_the_lock_notes_new_and_removed_prompts(project: Project) -> None:
    project.write(a_j2=CLEAN)
    project.lint("--update-lock")
    (project.folder / "a.j2").unlink()
    project.write(b_j2=CLEAN)
    notes = project.lint("--lock", "--json").document["notes"]
    assert any("b.j2" in note and "not in the lock" in note for note in notes)
    assert any("a.j2" in note and "gone" in note for note in notes)


def test_diff_shows_a_move_and_writes_nothing(project: Project) -> None:
    project.write(clock_j2=CLOCK_FIRST)
    outcome = project.lint("--unsafe-fixes", "--diff")
    assert outcome.code == 1
    assert "-Time: {{ now() }}" in outcome.out
    assert "+Time: {{ now() }}" in outcome.out
    assert (project.folder / "clock.j2").read_text() == CLOCK_FIRST
    assert project.lint("--fix", "--diff").code == 0, "moving is no safe fix"


def test_a_moved_template_holds_the_same_lines_and_is_clean(project: Project) -> None:
    project.write(
        mixed_j2="Time: {{ now() }}\nYou help {{ user.name }}.\n"
        + RULES
        + "{% for d in docs %}- {{ d }}\n{% endfor %}Always be kind, and never forget it.\n"
    )
    before = sorted((project.folder / "mixed.j2").read_text().splitlines())
    assert project.lint("--json").document["findings"][0]["gain"]["tokens"] > 60
    assert project.lint("--unsafe-fixes").code == 0
    text = (project.folder / "mixed.j2").read_text()
    assert sorted(line for line in text.splitlines() if line.strip()) == [
        line for line in before if line.strip()
    ]
    assert (
        text.index("never promise")
        if "never promise" in text
        else text.index("Never promise") < text.index("docs")
    )
    assert text.index("user.name") < text.index("docs") < text.index("now()")


def test_line_ends_and_the_byte_order_mark_are_fixed_safely(project: Project) -> None:
    project.put("a.j2", "\ufeffBe brief.\r\nBe kind.\n{{ question }}\n")
    assert project.lint("--json").rules == ["PC206", "PC212"]
    assert project.lint("--fix").code == 0
    assert (project.folder / "a.j2").read_bytes() == b"Be brief.\nBe kind.\n{{ question }}\n"


def test_mixed_line_ends_are_fixed_without_any_other_finding(project: Project) -> None:
    project.put("a.j2", "Be brief.\r\nBe kind.\n{{ question }}\n")
    assert project.lint("--fix").code == 0
    assert (project.folder / "a.j2").read_bytes() == b"Be brief.\nBe kind.\n{{ question }}\n"


def test_a_move_keeps_windows_line_ends_when_they_are_not_to_be_fixed(project: Project) -> None:
    project.put("a.j2", CLOCK_FIRST.replace("\n", "\r\n"))
    project.lint("--unsafe-fixes", "--ignore", "PC206")
    data = (project.folder / "a.j2").read_bytes()
    assert data.rstrip().endswith(b"{{ now() }}")
    assert data.count(b"\n") == data.count(b"\r\n")


def test_a_move_that_would_change_what_is_printed_is_not_offered(project: Project) -> None:
    # The variable is set on the line that would move in front of its use.
    project.write(set_j2="{{ now() }} {% set name = 'Ann' %}\n" + RULES + "Sign as {{ name }}.\n")
    assert project.lint("--json").document["findings"][0]["gain"] is None


def test_python_source_gets_sorted_keys_and_is_clean_then(project: Project) -> None:
    code = (
        "import json\nfrom openai import OpenAI\n\nclient = OpenAI()\nRULES = '"
        + "Always be kind. " * 30
        + "'\n\n\n"
        "def ask(shop):\n    text = json.dumps(shop.catalogue())\n"
        "    system = f'Catalogue: {text} {RULES}'\n"
        "    return client.chat.completions.create(\n"
        "        model='gpt-4.1', messages=[{'role': 'system', 'content': system}]\n    )\n"
    )
    project.put("ask.py", code)
    assert "PC202" in project.lint("--json").rules
    project.lint("--fix")
    assert (project.folder / "ask.py").read_text() == code.replace(
        "catalogue())", "catalogue(), sort_keys=True)"
    )
    assert "PC202" not in project.lint("--json").rules


def test_fixes_of_standard_input_are_refused(project: Project) -> None:
    assert project.lint("-", "--fix", input=b"x").code == 2
    outcome = project.lint("-", "--unsafe-fixes", "--diff", input=CLOCK_FIRST.encode())
    assert outcome.code == 1
    assert "+Time: {{ now() }}" in outcome.out
