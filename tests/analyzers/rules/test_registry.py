"""The registry: ids and names from file names, documentation that says everything, choices by word."""

import pkgutil
import re

import pytest

import analyzers.rules
from analyzers.errors import UsageError
from analyzers.findings import Level
from analyzers.rules.registry import FAMILIES, Rule, all_rules, find_rule, select_rules
from tests.case_rule_ids import CASE_RULE_IDS

RESERVED = dict(re.findall(r"(PC\d{3}) +([a-z0-9-]+)", analyzers.rules.__doc__ or ""))


def test_every_rule_file_is_a_rule() -> None:
    files = [m.name for m in pkgutil.iter_modules(analyzers.rules.__path__) if m.name.startswith("pc")]
    assert sorted(
        f"pc{rule.id[2:]}_{rule.name.replace('-', '_')}" for rule in all_rules().values()
    ) == sorted(files)


def test_every_rule_has_the_id_and_name_that_the_table_gives_it() -> None:
    assert {id: rule.name for id, rule in all_rules().items()}.items() <= RESERVED.items()


def test_every_working_name_of_a_case_has_an_id_of_the_table() -> None:
    assert set(CASE_RULE_IDS.values()) <= RESERVED.keys()


@pytest.mark.parametrize("rule", all_rules().values(), ids=lambda rule: rule.id)
def test_documentation_says_what_why_bad_good_and_what_not(rule: Rule) -> None:
    for heading in ("What:", "Why:", "Bad:", "Good:", "Must not flag:"):
        assert re.search(rf"^{heading}", rule.docs, re.M), heading
    first = rule.docs.partition("\n")[0]
    assert first.endswith(".")
    assert len(first) <= 110
    assert rule.family in FAMILIES.values()


def test_rules_are_found_by_id_and_name_in_any_case() -> None:
    assert find_rule("pc101") is find_rule("Clock") is all_rules()["PC101"]
    with pytest.raises(UsageError, match="PC999"):
        find_rule("PC999")


def test_selection_takes_families_and_leaves_out_what_is_ignored() -> None:
    chosen = select_rules(["PC1", "key-order"], ["PC102"])
    assert {"PC101", "PC202"} <= chosen.keys()
    assert "PC102" not in chosen
    assert not any(id.startswith("PC3") for id in chosen)


def test_a_rule_of_house_style_is_checked_only_where_it_is_asked_for() -> None:
    assert "PC612" not in select_rules()
    assert "PC612" not in select_rules(["PC6"])
    assert "PC612" in select_rules(["PC612"])
    assert "PC612" in select_rules(["no-version"])


def test_a_rule_file_without_documentation_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pcNNN_name\.py"):
        Rule.of(__name__, Level.INFO)
