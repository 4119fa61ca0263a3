"""The public reports as cases, where their folder is beside the checkout: rule, place, requests, figures, and what
must not be said. What a case expects is read from its own page."""

import re

import pytest

from tests.case_evidence import affected, breakers, evidence, expected, only, rule_of, usage
from tests.case_rule_ids import CASE_RULE_IDS
from tests.shared_folder import needs_shared

pytestmark = needs_shared

TOLERANCE = 0.2
"""How far an estimate may lie from the case's own count, which is a quarter of the characters."""


def test_case_01_a_clock_near_the_top() -> None:
    case, breaker = expected(1), only(1)
    place = breaker.finding.location
    assert breaker.finding.rule == rule_of(1)
    assert place.json_path == case["where"]
    assert place.char_offset == case["char_offset_of_first_difference_r1_r2"]
    assert affected(breaker) == case["requests_affected"]
    assert usage(1, "read") == case["cached_tokens_observed"]
    assert usage(1, "prompt") == case["prompt_tokens"]
    # The whole rest of the system prompt could be had: nearly everything of each later prompt.
    assert breaker.finding.tokens_lost == pytest.approx(sum(case["prompt_tokens"][1:]), rel=TOLERANCE)


def test_case_02_a_signature_in_the_first_block() -> None:
    case, breaker = expected(2), only(2)
    assert breaker.finding.rule == rule_of(2)
    assert breaker.finding.location.json_path == case["where"]
    assert breaker.finding.location.char_offset == case["char_offset_of_first_difference_r1_r2"]
    assert affected(breaker) == ["r2", "r3"]
    assert breaker.lost[0] * 4 == pytest.approx(case["unchanged_chars_lost_in_r2"], rel=0.4)
    assert "tools" in evidence(2, "requests.jsonl").traced.rendering.description


def test_case_03_the_day_changes_once() -> None:
    case, breaker = expected(3), only(3)
    assert breaker.finding.rule == rule_of(3)
    assert breaker.finding.location.json_path == case["where"]
    assert breaker.finding.location.char_offset == case["char_offset_of_first_difference_r2_r3"]
    assert affected(breaker) == [case["only_request"]]
    assert breaker.finding.tokens_lost == case["tokens_that_should_have_been_read_in_r3"]
    assert breaker.finding.evidence.scope == "day"
    assert breaker.finding.level == "info"
    assert usage(3, "read") == case["usage_read"]
    assert usage(3, "written") == case["usage_written"]


def test_case_04_a_small_change_in_a_marked_block() -> None:
    case, breaker = expected(4), only(4)
    assert breaker.finding.rule == rule_of(4)
    assert breaker.finding.location.json_path == case["where"]
    assert breaker.finding.location.char_offset == case["char_offset"]
    assert affected(breaker) == [case["request"]]
    assert breaker.finding.tokens_lost == case["tokens_lost_r2"]
    assert breaker.slot is not None
    assert len(breaker.slot.values[0]) == case["size_of_change_chars"]
    assert usage(4, "read") == case["usage_read"]


def test_case_05_memories_in_the_middle() -> None:
    case, breaker = expected(5), only(5)
    assert breaker.finding.rule == rule_of(5)
    assert breaker.finding.location.json_path == case["where"]
    assert breaker.slot is not None
    offsets = [difference.char_offset for difference in breaker.slot.differences]
    assert offsets == [case["char_offset_r1_r2"], case["char_offset_r2_r3"]]
    assert usage(5, "read") == case["cached_tokens"]
    assert affected(breaker) == ["r2", "r3"]


def test_case_06_tools_in_another_order() -> None:
    case, breaker = expected(6), only(6)
    assert breaker.finding.rule == rule_of(6)
    assert affected(breaker) == [case["request"]]
    assert breaker.slot is not None
    assert breaker.slot.differences[0].first_index == case["first_differing_index"]
    assert breaker.finding.tokens_lost == case["tokens_lost_r2"]
    assert usage(6, "read") == case["usage_read"]


def test_case_07_keys_in_another_order() -> None:
    case, breaker = expected(7), only(7)
    assert breaker.finding.rule == rule_of(7)
    assert breaker.finding.location.json_path == case["where"]
    assert breaker.finding.location.char_offset == case["char_offset_in_parameters_r1_r2"]
    assert affected(breaker) == case["requests"]
    assert "equal as JSON" in breaker.finding.message
    assert usage(7, "read") == case["cached_tokens"]
    found = evidence(7, "requests.jsonl").divergences.continuations.predecessor
    assert found[3] == 0  # compared with the first request, not with its neighbour


def test_case_08_five_markers() -> None:
    case, breaker = expected(8), only(8)
    assert breaker.finding.rule == rule_of(8, "rule")
    assert breaker.finding.level == case["level"]
    for path in case["paths_in_order"]:
        assert path in breaker.finding.message
    assert f"{case['count']} cache markers" in breaker.finding.message


def test_case_09_a_marker_on_an_empty_block() -> None:
    case, breaker = expected(9), only(9)
    assert breaker.finding.rule == rule_of(9, "rule")
    assert breaker.finding.level == case["level"]
    assert breaker.finding.location.json_path == case["where"]["r1"]
    assert affected(breaker) == ["r1", "r2"]


def test_case_10_a_longer_lifetime_behind_a_shorter() -> None:
    case, breaker = expected(10), only(10)
    assert breaker.finding.rule == rule_of(10, "rule")
    assert breaker.finding.level == case["level"]
    assert affected(breaker) == [case["request"]]
    assert case["then"].split()[0] == breaker.finding.location.json_path
    assert case["order_checked"] in breaker.finding.message


def test_case_11_beyond_the_lookback() -> None:
    case, breaker = expected(11), only(11)
    assert breaker.finding.rule == rule_of(11, "rule")
    assert affected(breaker) == [case["request"]]
    assert breaker.finding.location.json_path == case["marker"]
    assert case["last_written_entry"] in breaker.finding.message
    assert f"{case['blocks_between_marker_and_entry']} blocks" in breaker.finding.message
    assert f"looks back {case['window']} (counted in plain blocks)" in breaker.finding.message
    assert breaker.finding.tokens_lost == case["tokens_missed"]
    assert not breaker.finding.tokens_estimated


def test_case_12_below_the_minimum() -> None:
    case, breaker = expected(12), only(12)
    assert breaker.finding.rule == rule_of(12, "rule")
    assert breaker.finding.level == case["level"]
    assert f"{case['minimum_tokens']:,}" in breaker.finding.message
    stated = re.search(r"about ([\d,]+) tokens", breaker.finding.message)
    assert stated is not None
    assert int(stated[1].replace(",", "")) == pytest.approx(case["prefix_tokens_estimate"], rel=TOLERANCE)
    assert not evidence(12, "requests.jsonl").divergences.found


def test_case_13_the_marker_on_the_varying_block() -> None:
    case, breaker = expected(13), only(13)
    assert breaker.finding.rule == rule_of(13, "rule")
    assert breaker.finding.location.json_path == case["where"]
    assert breaker.finding.fix is not None
    assert case["last_common_block"] in breaker.finding.fix.advice
    assert usage(13, "written") == case["usage_written"]
    assert f"{case['writes_never_read']:,} tokens were written" in breaker.finding.message
    costs = [
        float(n.replace(",", ""))
        for n in re.findall(r"([\d,]+) (?:now|then|without)", breaker.finding.message)
    ]
    wanted = [case["cost_now_in_base_input_units"], case["cost_after_fix"], case["cost_without_caching"]]
    assert costs == pytest.approx(wanted, rel=0.02)


def test_case_14_no_explicit_breakpoint() -> None:
    case, breaker = expected(14), only(14)
    assert breaker.finding.rule == rule_of(14, "rule")
    assert affected(breaker) == ["r2", "r3"]
    assert usage(14, "read") == case["cached_tokens"]
    assert usage(14, "written") == case["cache_write_tokens"]
    assert breaker.lost == pytest.approx([case["common_prefix_tokens_estimate"]] * 2, rel=TOLERANCE)
    assert breaker.finding.fix is not None
    assert "prompt_cache_breakpoint" in breaker.finding.fix.advice


def test_case_15_markers_lost_in_a_gateway() -> None:
    case, breaker = expected(15), only(15, "client.jsonl", "upstream.jsonl")
    assert breaker.finding.rule == rule_of(15, "rule")
    assert ", ".join(case["client_markers"]) in breaker.finding.message
    assert "no marker arrived" in breaker.finding.message


def test_case_16_thinking_switched_off() -> None:
    case, breaker = expected(16), only(16)
    assert breaker.finding.rule == rule_of(16)
    assert affected(breaker) == [case["request"]]
    assert breaker.finding.tokens_lost == case["tokens_lost_r2"]
    for setting in case["change"].split(" -> "):
        assert setting in breaker.finding.message


def test_case_17_another_schema() -> None:
    case, breaker = expected(17), only(17)
    assert breaker.finding.rule == rule_of(17)
    assert (breaker.finding.location.json_path or "").startswith(case["where"])
    assert affected(breaker) == [case["request"]]
    assert usage(17, "read") == case["cached"]
    assert breaker.finding.tokens_lost == case["tokens_lost_r3"]


def test_case_18_a_block_moves_to_the_newest_turn() -> None:
    case, breaker = expected(18), only(18)
    gone, to = re.findall(r"messages\[\d\]\.content\[\d\]", case["where"])
    assert breaker.finding.rule == rule_of(18)
    assert breaker.finding.location.json_path == gone
    assert f"at {to} now" in breaker.finding.message
    assert affected(breaker) == [case["request"]]
    assert breaker.finding.tokens_lost == case["tokens_lost_r3"]
    assert usage(18, "read") == case["usage_read"]


def test_case_19_old_results_are_cleared() -> None:
    case, breaker = expected(19), only(19)
    assert breaker.finding.rule == "PC504"  # the narrower rule of an edited history
    assert breaker.finding.location.json_path == case["first_difference"]
    (divergence,) = evidence(19, "requests.jsonl").divergences.found
    assert [d.path for d in divergence.differences] == case["all_differences"]
    assert affected(breaker) == [case["request"]]
    assert breaker.finding.tokens_lost == case["tokens_rewritten_r3"]
    stated = [float(n.replace(",", "")) for n in re.findall(r"([\d,.]*\d) (?:tokens were removed|input tokens dearer|saved|turns)", breaker.finding.message)]  # fmt: skip
    wanted = ("tokens_removed_from_prompt", "extra_cost_units_r3_against_keeping", "saved_units_per_later_turn", "break_even_later_turns")  # fmt: skip
    assert stated == pytest.approx([case[name] for name in wanted], rel=0.01)
    assert usage(19, "read") == case["usage_read"]
    assert usage(19, "written") == case["usage_written"]


def test_case_20_the_window_slides() -> None:
    case, breaker = expected(20), only(20)
    assert breaker.finding.rule == rule_of(20)
    assert case["where"].split()[0] == breaker.finding.location.json_path
    assert affected(breaker)[0] == case["first_request"]
    assert breaker.slot is not None
    shifts = [difference.shift for difference in breaker.slot.differences]
    assert dict(zip(affected(breaker), shifts, strict=True)) == case["shift_per_request"]
    assert usage(20, "read") == case["hit_tokens"]


def test_case_21_a_newline_is_stripped() -> None:
    case, breaker = expected(21), only(21)
    assert breaker.finding.rule == rule_of(21)
    assert breaker.finding.location.json_path == case["where"]
    assert breaker.finding.location.char_offset == case["char_offset"]
    assert case["kind_of_change"] in breaker.finding.message
    assert breaker.finding.tokens_lost == case["tokens_lost_r3"]
    assert "\\n" in (breaker.finding.evidence.excerpt or "")
    assert "\n" not in (breaker.finding.evidence.excerpt or "")


def test_case_22_arguments_in_another_form() -> None:
    case, breaker = expected(22), only(22)
    assert breaker.finding.rule == rule_of(22)
    assert breaker.finding.location.json_path == case["where"]
    assert breaker.finding.location.char_offset == case["char_offset"]
    assert usage(22, "read")[1] == case["cached_tokens_r2"]
    # The log's own figures: what the prompt had in common with r1 in its count, less what was read.
    assert breaker.finding.tokens_lost == pytest.approx(2898 - case["cached_tokens_r2"], rel=TOLERANCE)


def test_case_23_a_picture_becomes_a_pointer() -> None:
    case, breaker = expected(23), only(23)
    assert breaker.finding.rule == rule_of(23)
    assert breaker.finding.location.json_path == case["where"]
    assert case["change"] in breaker.finding.message
    assert breaker.finding.tokens_lost == case["usage_written_r2"]
    assert usage(23, "read")[1] == case["usage_read_r2"]


def test_case_24_one_expiry_and_one_changed_prefix() -> None:
    case = expected(24)
    found = {b.finding.rule: b for b in breakers(24, "usage.jsonl")}
    expired, changed = case["misses"]
    assert set(found) == {CASE_RULE_IDS["ttl.expired"], CASE_RULE_IDS["history.edited"]}
    assert affected(found["PC601"]) == [expired["id"]]
    assert found["PC601"].finding.tokens_lost == expired["tokens_rewritten"]
    assert "would have kept 1 of 1" in found["PC601"].finding.message
    assert affected(found["PC502"]) == [changed["id"]]
    assert changed["changed_part"] in found["PC502"].finding.message
    assert "expired as well" in found["PC502"].finding.message
    gaps = {m.request: (m.gap_s, m.ttl_s) for m in evidence(24, "usage.jsonl").misses}
    assert gaps == {3: (expired["gap_seconds"], expired["ttl_seconds"]), 5: (changed["gap_seconds"], 300)}


def test_case_25_writes_move_to_another_lifetime() -> None:
    case, breaker = expected(25), only(25, "usage.jsonl")
    assert breaker.finding.rule == rule_of(25, "finding")
    message = breaker.finding.message
    assert f"between {case['last_row_1h']} and {case['first_row_5m']}" in message
    assert case["coincides_with"].split(" ", 1)[0] in message
    assert case["coincides_with"].split(" ", 1)[1] in message
    assert "300 s instead of 3,600 s" in message


def test_case_26_five_calls_before_the_first_answer() -> None:
    case, breaker = expected(26), only(26)
    assert breaker.finding.rule == rule_of(26, "finding")
    assert affected(breaker) == case["group"][1:]
    assert len(affected(breaker)) == case["needless_writes"]
    assert breaker.finding.tokens_lost == case["needless_write_tokens"]
    assert f"{case['extra_cost_units']:,.1f}" in breaker.finding.message
    assert usage(26, "written") == case["usage_written"]
    assert usage(26, "read") == case["usage_read"]


def test_case_27_another_routing_key() -> None:
    case, breaker = expected(27), only(27)
    assert breaker.finding.rule == rule_of(27, "finding")
    assert affected(breaker) == case["requests"]
    assert usage(27, "read") == case["cached_tokens"]
    assert breaker.finding.confidence == "suspected"
    assert breaker.finding.message.startswith("likely")


def test_case_37_a_reply_in_other_tokens() -> None:
    case, breaker = expected(37), only(37, "turn1.json", "turn2.json")
    assert breaker.finding.rule == rule_of(37, "finding")
    assert breaker.finding.location.token_offset == case["divergence_token_index"]
    kept = case["divergence_token_index"] + (breaker.finding.tokens_lost or 0)
    assert case["divergence_token_index"] // 16 * 16 == case["reusable_tokens_block16"]
    assert kept // 16 * 16 == case["reusable_if_ids_were_kept"]


def test_case_38_a_doubled_start_token() -> None:
    case, breaker = expected(38), only(38, "chat_call.json", "raw_call.json")
    assert breaker.finding.rule == CASE_RULE_IDS[case["finding"]]
    assert breaker.finding.location.token_offset == 1
    assert f"shares {case['common_prefix_tokens']} token with" in breaker.finding.message
    assert f"would share {case['would_be_common_with_one_bos']}" in breaker.finding.message


def test_case_39_units_of_64_are_no_breaker() -> None:
    assert usage(39, "read", "usage.jsonl") == expected(39)["observed_hits"]
    assert breakers(39, "usage.jsonl") == []


def test_case_40_a_router_moves_the_conversation() -> None:
    case, breaker = expected(40), only(40, "usage.jsonl")
    assert breaker.finding.rule == rule_of(40, "finding")
    full = [m.request for m in evidence(40, "usage.jsonl").misses if m.lost == m.expected]
    assert [f"r{row + 1}" for row in full] == case["full_misses"]
    assert affected(breaker) == [*case["full_misses"], *case["partial"]]
    assert usage(40, "read", "usage.jsonl") == case["cached"]


def test_case_43_no_marker_yet() -> None:
    case, breaker = expected(43), only(43)
    assert breaker.finding.rule == rule_of(43, "rule")
    assert breaker.finding.location.json_path == case["stable_part"]
    assert breaker.lost == pytest.approx([case["stable_tokens"]] * (case["calls"] - 1), rel=TOLERANCE)
    for name in ("5m", "1h"):
        numbers = f"{name}: {case[name]['writes']} writes, {case[name]['reads']} reads"
        assert f"{numbers}, {case[f'saving_share_{name}']:.0%} less for this part" in breaker.finding.message
