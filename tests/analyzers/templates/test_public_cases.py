"""The public cases about templates and single requests, where the folder of cases is beside the checkout."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analyzers.findings import Finding, Level
from analyzers.rules.checking import Checks, check_sources
from analyzers.rules.registry import select_rules
from analyzers.templates.chat_probe import probe
from analyzers.templates.front_ends import Readers, read_file
from analyzers.templates.layout import layout_of
from pcache_cli.lint_prices import limits_of
from tests.analyzers.rules.fixture_files import count_tokens
from tests.case_rule_ids import CASE_RULE_IDS
from tests.shared_folder import SHARED, needs_shared

pytestmark = needs_shared


def case(number: int) -> Path:
    assert SHARED is not None
    return next((SHARED / "cases").glob(f"{number:02}-*"))


def expected(number: int) -> dict[str, Any]:
    block = re.search(r"```json\n(.*?)```", (case(number) / "expected.md").read_text("utf-8"), re.S)
    assert block is not None
    value: dict[str, Any] = json.loads(block[1])
    return value


def lint(number: int, name: str) -> list[Finding]:
    source = read_file(case(number) / name, Readers())
    assert not source.problems
    return check_sources([source], Checks(select_rules(), count_tokens, limits_of=limits_of))


def test_a05_the_recalled_memories_stand_before_the_second_part_of_the_rules() -> None:
    right = expected(5)["template_lint"]
    (found,) = lint(5, right["file"])
    assert found.rule == CASE_RULE_IDS[right["rule"]]
    assert (found.location.line, found.subject) == (right["line"], right["variable"])
    assert all(name in found.message for name in right["static_variables_after_it"])


def test_a36_a_time_stamp_before_the_rules_is_an_error_and_the_session_date_a_note() -> None:
    right = expected(36)["findings"]
    found = {f.location.line: f for f in lint(36, "system.j2")}
    for one in right:
        finding = found.pop(one["line"])
        assert finding.subject == one["expr"]
        assert finding.rule == CASE_RULE_IDS[one["rule"]]
        assert finding.level == Level(one["level"])
    assert not found, "nothing is said of bot_name"


def test_a36_the_suggested_order_is_the_best_order() -> None:
    source = read_file(case(36) / "system.j2", Readers())
    layout = layout_of(source.prompts[0], source.text, {})
    labels = [piece.label for piece in layout.suggested]
    assert labels == ["bot_name", "rules.txt", "start_date", "passages", "now().isoformat()"]


def test_a35_the_generation_prompt_is_not_in_the_history() -> None:
    right = expected(35)
    (found,) = lint(35, "chat_template.jinja")
    assert found.rule == CASE_RULE_IDS[right["rule"]]
    probed = probe((case(35) / "chat_template.jinja").read_text("utf-8"))
    assert probed is not None
    (broken,) = probed.generation
    assert broken.settings == "enable_thinking=false"
    assert broken.before.startswith("<think>")


def test_a42_a_varying_system_text_loses_the_tools_only_where_they_stand_behind_it() -> None:
    for name, lost in expected(42)["tools_lost"].items():
        found = lint(42, name)
        assert [f.rule for f in found] == (["PC807"] if lost else [])
        assert all("order rendered: system, tools, messages" in f.message for f in found)


def test_a38_the_template_writes_the_bos_token_itself() -> None:
    (found,) = lint(38, expected(38)["lint"]["file"])
    assert found.rule == CASE_RULE_IDS["template.double_bos"]
    assert "add_special_tokens" in (found.fix.advice if found.fix else "")


def test_a42_tools_behind_the_system_text_are_lost_with_it() -> None:
    right = expected(42)
    for name, lost in right["tools_lost"].items():
        assert ["PC807"] * lost == [finding.rule for finding in lint(42, name)]


@pytest.mark.parametrize(
    ("number", "key"),
    [(1, "breaker"), (2, "breaker"), (8, "rule"), (9, "rule"), (10, "rule"), (12, "rule"), (43, "rule")],
)
def test_what_one_request_shows_is_found_in_it(number: int, key: str) -> None:
    right = expected(number)
    found = lint(number, "requests.jsonl")
    assert CASE_RULE_IDS[right[key]] in {finding.rule for finding in found}
    if "level" in right:
        assert {finding.level for finding in found} == {Level(right["level"])}


def test_a08_the_paths_of_the_markers_are_in_order() -> None:
    (found,) = lint(8, "requests.jsonl")
    assert ", ".join(expected(8)["paths_in_order"]) in found.message


def test_a09_both_empty_blocks_are_placed() -> None:
    (found,) = lint(9, "requests.jsonl")
    assert found.location.json_path == "messages[0].content[1]"
    assert found.evidence.affected_requests == ("r1", "r2")


def test_a10_the_valid_request_is_silent() -> None:
    (found,) = lint(10, "requests.jsonl")
    assert found.evidence.request_id == expected(10)["request"]
    assert not found.evidence.affected_requests


def test_a12_the_prefix_is_told_from_the_minimum() -> None:
    (found,) = lint(12, "requests.jsonl")
    assert f"{expected(12)['minimum_tokens']:,}" in found.message


@pytest.mark.parametrize("number", [6, 7, 11, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 26, 27])
def test_single_requests_of_the_other_cases_are_silent(number: int) -> None:
    assert not lint(number, "requests.jsonl")
