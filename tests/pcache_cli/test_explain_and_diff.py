"""`pcache explain` and `pcache diff` as people and scripts use them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pcache_cli.app import app
from tests.analyzers.chat_log import RULES, assistant, chat, system, user

TALK = [
    user("Where is the wrench?"),
    assistant("On shelf 12."),
    user("And the saw?"),
    assistant("In box 3."),
    user("Thanks."),
]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def log(path: Path, clock: bool) -> str:
    heads = [f"Time: 09:0{n if clock else 0}:11\n{RULES}" for n in range(3)]
    return write(path, [chat([system(h), *TALK[: 2 * n + 1]], second=30 * n) for n, h in enumerate(heads)])


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def clocked(tmp_path: Path) -> str:
    return log(tmp_path / "clocked.jsonl", True)


def test_explain_names_the_place_the_rule_and_the_fix(clocked: str) -> None:
    result = run("explain", clocked, "--request", "call at 60")
    assert result.exit_code == 0
    first = result.stdout.replace("\n", " ")
    assert first.startswith("call at 60 leaves call at 30 at token ")
    assert "messages[0].content, character 10: text" in first
    assert "[PC101]" in first
    assert "Fix: " in result.stdout
    assert "09:01:11" not in result.stdout


def test_explain_shows_text_with_a_caret_only_when_asked(clocked: str) -> None:
    lines = run("explain", clocked, "-r", "call at 60", "--show-text").stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith("- Time"))
    quoted, caret = lines[at], lines[at + 1]
    assert quoted[caret.index("^") : caret.rindex("^") + 1] == "09:01:11"


def test_explain_as_json_holds_no_text_unless_asked(clocked: str) -> None:
    document = json.loads(run("explain", clocked, "-r", "call at 60", "--json").stdout)
    assert document["schema_version"] == 1
    assert document["explanation"]["differences"][0]["char_offset"] == 10
    assert [rung["state"] for rung in document["explanation"]["ladder"]] == ["changed", "equal again", "new"]
    assert "09:0" not in json.dumps(document)


def test_explain_against_a_request_of_choice(clocked: str) -> None:
    result = run("explain", clocked, "-r", "call at 60", "--against", "call at 0")
    assert result.stdout.startswith("call at 60 leaves call at 0 ")
    assert "PC101" in result.stdout


def test_the_first_request_had_nothing_to_read(clocked: str) -> None:
    assert "PC602" in run("explain", clocked, "-r", "call at 0").stdout


def test_an_unknown_request_is_an_error_that_names_some(clocked: str) -> None:
    result = run("explain", clocked, "-r", "call at 99")
    assert result.exit_code == 2
    assert "call at 30" in result.output


def test_diff_of_two_logs_gates_on_reuse(tmp_path: Path, clocked: str) -> None:
    good = log(tmp_path / "good.jsonl", False)
    worse = run("diff", good, clocked, "--max-regression", "1%")
    assert worse.exit_code == 1
    assert worse.stdout.startswith("Worse: ")
    assert "PC101" in worse.stdout
    better = run("diff", clocked, good, "--max-regression", "0.01", "--json")
    assert better.exit_code == 0
    difference = json.loads(better.stdout)["difference"]
    assert difference["regression"] < -0.5
    assert [(b["rule"], b["state"]) for b in difference["breakers"]] == [("PC101", "gone")]
    assert run("diff", good, good, "--max-regression", "0%").exit_code == 0


def test_diff_of_two_requests_shows_where_they_part(tmp_path: Path) -> None:
    one = write(tmp_path / "a.json", [chat([system(f"Mood: glad\n{RULES}"), TALK[0]], second=0)])
    two = write(tmp_path / "b.json", [chat([system(f"Mood: calm\n{RULES}"), TALK[0]], second=9)])
    result = run("diff", one, two, "--show-text", "--max-regression", "1%")
    assert "messages[0].content, character 6" in result.stdout.replace("\n", " ")
    assert result.exit_code == 1
    assert run("diff", one, one, "--max-regression", "1%").exit_code == 0


def test_a_share_that_is_none_is_an_error(clocked: str) -> None:
    result = run("diff", clocked, clocked, "--max-regression", "a lot")
    assert result.exit_code == 2
    assert "1%" in result.output
