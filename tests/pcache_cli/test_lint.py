"""`pcache lint` as a person uses it: what it prints, what it returns, what settings and comments do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.analyzers.rules.fixture_files import RULES
from tests.pcache_cli.lint_project import CLEAN, CLOCK_FIRST, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


def test_a_clean_folder_is_0_and_a_finding_is_1(project: Project) -> None:
    project.write(clean_j2=CLEAN)
    assert project.lint().code == 0
    project.write(clock_j2=CLOCK_FIRST)
    outcome = project.lint()
    assert outcome.code == 1
    assert "clock.j2" in outcome.out
    assert "PC101" in outcome.out
    assert "suggested order" in outcome.out


def test_what_cannot_be_read_is_2_and_the_rest_is_linted(project: Project) -> None:
    project.write(broken_j2="{% if", clock_j2=CLOCK_FIRST)
    outcome = project.lint("--json")
    assert outcome.code == 2
    assert outcome.rules == ["PC101"]
    assert outcome.document["problems"][0]["path"] == "broken.j2"
    assert outcome.document["problems"][0]["line"] == 1


def test_the_json_has_what_scripts_rely_on(project: Project) -> None:
    project.write(clock_j2=CLOCK_FIRST)
    document = project.lint("--json").document
    assert document["schema_version"] == 1
    finding = document["findings"][0]
    assert {"rule", "level", "path", "line", "column", "message", "tokens_lost"} <= finding.keys()
    assert (finding["rule"], finding["level"], finding["line"], finding["column"]) == ("PC101", "error", 1, 7)
    assert finding["tokens_lost"] > 60
    assert document["suggested_orders"][0]["parts"][-1]["label"] == "now()"


def test_the_same_input_gives_the_same_bytes(project: Project) -> None:
    project.write(clock_j2=CLOCK_FIRST, user_j2=f"{{{{ user.name }}}}\n{RULES}")
    assert project.lint("--json").out == project.lint("--json").out


def test_levels_decide_what_fails_and_what_is_shown(project: Project) -> None:
    project.write(name_j2=f"Hello {{{{ user.name }}}}\n{RULES}")
    assert project.lint().code == 1
    assert project.lint("--fail-level", "error").code == 0
    assert project.lint("--fail-level", "never").code == 0
    assert project.lint("--level", "error", "--json").rules == []
    assert "nothing that breaks" not in project.lint("--level", "error").out
    assert project.lint("--fail-level", "loud").code == 2


def test_rules_are_selected_and_ignored_by_id_name_and_family(project: Project) -> None:
    project.write(two_j2=f"{{{{ now() }}}} {{{{ user.name }}}}\n{RULES}")
    assert project.lint("--json").rules == ["PC101", "PC106"]
    assert project.lint("--json", "--select", "clock").rules == ["PC101"]
    assert project.lint("--json", "--ignore", "PC101").rules == ["PC106"]
    assert project.lint("--json", "--ignore", "PC1").rules == []
    outcome = project.lint("--select", "PC999")
    assert outcome.code == 2
    assert "PC999" in outcome.err


def test_per_file_ignores_hold_for_their_files_only(project: Project) -> None:
    project.write(old__a_j2=CLOCK_FIRST, new__a_j2=CLOCK_FIRST)
    paths = [
        f["path"] for f in project.lint("--json", "--per-file-ignores", "old/*:PC101").document["findings"]
    ]
    assert paths == ["new/a.j2"]


def test_standard_input_is_read_under_the_name_it_is_given(project: Project) -> None:
    outcome = project.lint(
        "-", "--json", "--stdin-filename", "x.hbs", input=f"{{{{currentTime}}}}\n{RULES}".encode()
    )
    assert outcome.rules == ["PC101"]
    assert outcome.document["findings"][0]["path"] == "x.hbs"


def test_nothing_to_lint_is_an_error_not_a_pass(project: Project) -> None:
    assert project.lint().code == 2
    assert project.lint("missing.j2").code == 2


def test_folders_are_searched_for_templates_only(project: Project) -> None:
    project.write(prompts__rules_txt=f"{{today}}\n{RULES}", notes__rules_txt=f"{{today}}\n{RULES}")
    project.put("node_modules/x/a.j2", CLOCK_FIRST)
    project.put(".hidden/a.j2", CLOCK_FIRST)
    assert {f["path"] for f in project.lint("--json").document["findings"]} == {"prompts/rules.txt"}


def test_settings_come_from_the_nearest_file(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.put("pyproject.toml", '[tool.pcache.lint]\nignore = ["PC101"]\n')
    project.write(clock_j2=CLOCK_FIRST, inner__clock_j2=CLOCK_FIRST)
    assert project.lint().code == 0
    project.put("inner/pcache.toml", '[lint]\nfail-level = "error"\n')
    monkeypatch.chdir(project.folder / "inner")
    assert project.lint().code == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.pcache.lint]\nignroe = []\n", "lint.ignroe"),
        ("[tool.pcache]\nunknown = 1\n", "unknown"),
        ('[tool.pcache.lint]\nignore = "PC101"\n', "lint.ignore"),
        ('[tool.pcache.lint]\nignore = ["PC999"]\n', "PC999"),
        ('[tool.pcache.lint]\nrequests-per-day = "many"\n', "requests-per-day"),
        ('[tool.pcache.lint.volatility]\nx = "weekly"\n', "weekly"),
        ("[tool.pcache", "pyproject.toml"),
    ],
)
def test_wrong_settings_are_errors_that_name_them(project: Project, text: str, said: str) -> None:
    project.put("pyproject.toml", text)
    project.write(clean_j2=CLEAN)
    outcome = project.lint()
    assert outcome.code == 2
    assert said in outcome.err


def test_volatility_by_hand_settles_a_variable(project: Project) -> None:
    project.write(banner_j2=f"{{{{ banner }}}} {{{{ user.name }}}}\n{RULES}")
    assert project.lint("--json").rules == ["PC110", "PC106"]
    project.put("pcache.toml", '[lint.volatility]\nbanner = "request"\n"user.*" = "release"\n')
    findings = project.lint("--json").document["findings"]
    assert [(f["rule"], f["level"], f["scope"]) for f in findings] == [("PC110", "error", "request")]


def test_text_of_a_template_is_no_markup_and_no_escape(project: Project) -> None:
    project.put("a.j2", "{{ now('[bold]\x1b[31m') }}\n" + RULES)
    out = project.lint().out
    assert "\x1b" not in out
    assert "[bold]" in out


def test_money_is_stated_with_a_model_and_a_number_of_requests(project: Project) -> None:
    project.write(clock_j2=CLOCK_FIRST, name_j2=f"Hello {{{{ user.name }}}}\n{RULES}")
    arguments = ("--model", "claude-sonnet-5", "--requests-per-day", "100000", "--json")
    clock, name = project.lint(*arguments, "--select", "PC1").document["findings"]
    # Input costs $2 and a read $0.20 a million tokens (2026-11): $1.80 saved a million.
    assert float(clock["money_lost"]) == pytest.approx(clock["tokens_lost"] * 100_000 * 1.8e-6)
    assert clock["money_per"] == "day"
    assert name["money_lost"] is None, "how often a user's name changes is not known without a log"
    assert project.lint("--requests-per-day", "5").code == 2
    assert project.lint("--requests-per-day", "5", "--model", "no-such-model").code == 3


def test_lint_loads_no_heavy_library_and_no_tokenizer_without_a_finding(project: Project) -> None:
    project.write(clean_j2=CLEAN)
    script = (
        "import sys\nfrom pcache_cli.linting import LintOptions, run_lint\n"
        "run_lint(LintOptions(('.',)))\n"
        "print([m for m in ('numba', 'torch', 'transformers', 'pandas', 'pyarrow', 'analyzers.tokenization') if m in sys.modules])"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": root, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_lint_with_findings_loads_no_heavy_library(project: Project) -> None:
    project.write(clock_j2=CLOCK_FIRST)
    script = (
        "import sys\nfrom pcache_cli.linting import LintOptions, run_lint\n"
        "run_lint(LintOptions(('.',)))\n"
        "print([m for m in ('numba', 'torch', 'transformers') if m in sys.modules])"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": root, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_rule_shows_one_rule_and_lists_all(project: Project) -> None:
    assert "Must not flag" in project.run("rule", "PC101").out
    assert project.run("rule", "clock").out == project.run("rule", "pc101").out
    listed = json.loads(project.run("rule", "--json").out)["rules"]
    assert listed[0]["id"] == "PC001"
    assert project.run("rule", "PC999").code == 2
