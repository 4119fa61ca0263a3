"""The latency model: pairs by kernel, restore, TTFT, break-even, hold rule, and the document on disk."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import InputError, UsageError
from simulators.calibration import Geometry, KvBytes, Term
from simulators.latency import (
    RESIDENT,
    dump_calibration,
    features,
    load_calibration,
    summarise_ttft,
)
from tests.simulators.sample_calibration import sample_calibration

lengths = st.integers(1, 60)
prefixes = st.integers(0, 60)
windows = st.integers(2, 40)


def pairs_one_by_one(new: int, cached: int, window: int | None) -> int:
    """How many keys each new query sees, counted query by query."""
    return sum(min(position, window or position) for position in range(cached + 1, cached + new + 1))


@settings(max_examples=100, deadline=None)
@given(new=lengths, cached=prefixes, window=windows, full=st.integers(0, 3), sliding=st.integers(0, 3))
def test_causal_pairs_are_those_counted_query_by_query(new, cached, window, full, sliding):
    columns = features(Geometry(full, sliding, window), "causal", new, cached)
    counted = full * pairs_one_by_one(new, cached, None) + sliding * pairs_one_by_one(new, cached, window)
    assert columns["pairs"] == pytest.approx(counted / max(full + sliding, 1))


@settings(max_examples=50, deadline=None)
@given(first=lengths, second=lengths)
def test_causal_pairs_of_two_steps_are_those_of_one(first, second):
    geometry = Geometry(1, 1, 16)
    one = features(geometry, "causal", first + second, 0)["pairs"]
    two = (
        features(geometry, "causal", first, 0)["pairs"] + features(geometry, "causal", second, first)["pairs"]
    )
    assert one == pytest.approx(two)


def test_sdpa_computes_the_whole_rectangle_once_something_is_cached():
    geometry = Geometry(2, 0, None)
    assert features(geometry, "sdpa", 10, 0)["pairs_causal"] == 55
    assert features(geometry, "sdpa", 10, 0)["pairs_masked"] == 0
    assert features(geometry, "sdpa", 10, 5)["pairs_causal"] == 0
    assert features(geometry, "sdpa", 10, 5)["pairs_masked"] == 150
    assert features(geometry, "eager", 10, 0)["pairs"] == 100


def test_window_layers_keep_one_token_less_than_the_window():
    geometry = Geometry(0, 1, 8)
    assert features(geometry, "sdpa", 4, 100)["pairs"] == 4 * (4 + 7)
    calibration = replace(sample_calibration(), kv=KvBytes(10.0, 100.0, 5.0, window=8))
    assert calibration.kv_bytes([0, 3, 7, 100]).tolist() == [0, 335, 775, 1705]


def test_prefill_adds_the_terms_and_respects_the_floor():
    calibration = sample_calibration(floor_s=0.5)
    assert calibration.prefill_seconds(1000) == pytest.approx(1.0 + 0.5005)
    assert calibration.prefill_seconds(100, 100) == 0.5
    assert calibration.prefill_seconds(np.array([[1], [1000]]), np.array([0, 10, 20])).shape == (2, 3)


def test_restore_is_fixed_time_plus_stored_bytes():
    calibration = sample_calibration()
    assert calibration.restore_seconds(100, "pinned") == pytest.approx(0.010 + 0.1)
    assert calibration.restore_seconds(100, "pinned:int8") == pytest.approx(0.010 + 0.05)
    assert calibration.restore_seconds([0, 100], RESIDENT).tolist() == [0, 0]
    assert calibration.restore_seconds(0, "pinned") == 0
    assert calibration.store_seconds(100, "disk") is None


def test_overlap_hides_the_shorter_side_but_for_one_layer():
    calibration = sample_calibration()
    prefill = float(calibration.prefill_seconds(50, 500))
    restore = float(calibration.restore_seconds(500, "pinned"))
    assert calibration.ttft_seconds(50, 500, "pinned") == pytest.approx(prefill + restore)
    overlapped = calibration.ttft_seconds(50, 500, "pinned", overlap=True)
    assert overlapped == pytest.approx(restore + prefill / 4)
    assert calibration.ttft_seconds(50, 0, "pinned", overlap=True) == calibration.prefill_seconds(50)


@settings(max_examples=60, deadline=None)
@given(
    linear=st.floats(1e-6, 1e-2),
    quadratic=st.floats(1e-9, 1e-5),
    tier=st.sampled_from(["pinned", "pinned:int8", "disk"]),
    new=st.integers(1, 200),
)
def test_restoring_wins_from_the_break_even_length_and_not_before(linear, quadratic, tier, new):
    calibration = sample_calibration([Term("new", linear), Term("pairs", quadratic)])
    found = calibration.break_even(tier, new=new, limit=1 << 16)
    if found.tokens is None:
        assert calibration.ttft_saved_seconds(new, 1 << 16, tier) <= 0
        return
    assert calibration.ttft_saved_seconds(new, found.tokens, tier) > 0
    assert found.tokens == 1 or calibration.ttft_saved_seconds(new, found.tokens - 1, tier) <= 0


def test_break_even_matches_the_closed_form():
    # saved(h) = (c/2)h² + (b − β/B + c/2)h − α, since both prefills share the pairs of the suffix.
    b, c, slope, fixed = 2e-4, 1e-6, 1000 / 1e6, 0.010
    calibration = sample_calibration([Term("new", b), Term("pairs", c)])
    k = b - slope + c / 2
    root = (-k + (k * k + 2 * c * fixed) ** 0.5) / c
    assert calibration.break_even("pinned").tokens == int(root) + 1


def test_a_slow_tier_without_attention_never_wins():
    found = sample_calibration([Term("new", 1e-4)]).break_even("disk", limit=1 << 12)
    assert found.tokens is None
    assert found.searched_to == 1 << 12


def test_split_between_computing_and_loading_ends_together():
    calibration = sample_calibration()
    split = calibration.recompute_split(1000, "pinned")
    compute, load = calibration.prefill_seconds(split), calibration.restore_seconds(1000 - split, "pinned")
    assert abs(compute - load) < 2 * 2e-3
    assert calibration.recompute_split(1000, RESIDENT) == 0


def test_hold_rule_balances_saved_device_time_against_rent():
    rule = sample_calibration().hold_rule(1000, "pinned", device_usd_per_hour=3600.0, usd_per_gb_hour=3600.0)
    assert rule.saved_usd == pytest.approx(rule.saved_s)
    assert rule.hold_usd_per_s == pytest.approx(1e-3)
    assert rule.break_even_gap_s == pytest.approx(rule.saved_s / 1e-3)
    lost = sample_calibration().hold_rule(100, "disk", device_usd_per_hour=1.0, usd_per_gb_hour=1.0)
    assert lost.break_even_gap_s == 0.0
    free = sample_calibration().hold_rule(1000, "pinned", device_usd_per_hour=1.0, usd_per_gb_hour=0.0)
    assert free.break_even_gap_s is None


def test_ttft_summary_always_computes_the_last_token():
    calibration = sample_calibration()
    summary = summarise_ttft(calibration, [1000, 1000], [1000, 0])
    assert summary.mean_saved_s == pytest.approx(
        float(calibration.prefill_seconds(1000) - calibration.prefill_seconds(1, 999)) / 2
    )
    assert summary.p50_without_s == pytest.approx(float(calibration.prefill_seconds(1000)))
    assert summary.provenance == "measured"
    with pytest.raises(UsageError, match="no requests"):
        summarise_ttft(calibration, [], [])


def test_answers_outside_the_measured_lengths_are_projected():
    calibration = sample_calibration()
    assert calibration.provenance(10, 100, "pinned") == "measured"
    assert calibration.provenance(10_001) == "projected"
    assert calibration.provenance(1, 8_001) == "projected"
    assert calibration.for_causal_kernel().provenance(10) == "projected"


def test_the_causal_projection_takes_the_cheapest_pair():
    terms = [Term("new", 1e-3), Term("pairs_causal", 1e-6), Term("pairs_masked", 3e-6)]
    calibration = sample_calibration(terms).for_causal_kernel()
    assert calibration.prefill_seconds(10, 5) == pytest.approx(10e-3 + (50 + 55) * 1e-6)


def test_an_unknown_tier_names_those_there_are():
    with pytest.raises(UsageError, match=r"no tier 'tape'; it has resident, pinned, pinned:int8, disk"):
        sample_calibration().restore_seconds(5, "tape")


def test_a_calibration_survives_the_disk(tmp_path: Path):
    path = tmp_path / "calibration.json"
    path.write_bytes(dump_calibration(sample_calibration()))
    assert load_calibration(path) == sample_calibration()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 99}, "schema_version 99 is not 1"),
        ({"format": "other"}, "format is 'other'"),
        ({"kv": {"per_token_full": "many"}}, r"\$\.kv\.per_token_full"),
        ({"machine": None}, r"\$\.machine"),
    ],
)
def test_a_wrong_document_is_refused_with_its_field(tmp_path: Path, change: dict, message: str):
    document = msgspec.json.decode(dump_calibration(sample_calibration())) | change
    path = tmp_path / "calibration.json"
    path.write_bytes(msgspec.json.encode(document))
    with pytest.raises(InputError, match=message):
        load_calibration(path)


def test_a_file_that_is_no_json_or_absent_is_refused(tmp_path: Path):
    path = tmp_path / "calibration.json"
    with pytest.raises(InputError, match="cannot read the calibration"):
        load_calibration(path)
    path.write_bytes(dump_calibration(sample_calibration())[:40])
    with pytest.raises(InputError, match="no calibration written by pcache probe"):
        load_calibration(path)


def test_the_latency_model_needs_no_torch():
    code = "import simulators.latency, sys; print('torch' in sys.modules, 'numba' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]
