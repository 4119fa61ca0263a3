from dataclasses import replace
from decimal import Decimal

import pytest

from analyzers.errors import CannotEvaluateError
from simulators.kv_bytes import ModelShape, kv_bytes
from simulators.latency import RESIDENT
from simulators.self_hosted import Assumed, Fleet, effective_saving
from simulators.touches import touches_of
from tests.simulators.provider_logs import Sent, trace_of
from tests.simulators.sample_calibration import sample_calibration

D = Decimal
HOURLY = [Sent("S a"), Sent("S b", at=3600), Sent("S c", at=7200)]


@pytest.mark.parametrize(
    ("shape", "tokens", "expected"),
    [
        (ModelShape("LLaMA-7B", layers=32, kv_heads=32, head_dim=128), 1, 524_288),
        (ModelShape("Llama-3-8B", layers=32, kv_heads=8, head_dim=128), 1, 131_072),
        (ModelShape("32 layers of 32 heads", layers=32, kv_heads=32, head_dim=128), 10_000, 5_242_880_000),
    ],
)
def test_kv_bytes_of_known_models(shape, tokens, expected):
    assert kv_bytes(shape).full * tokens == expected


def saving(requests, fleet: Fleet, model: Assumed):
    trace = trace_of(requests)
    return effective_saving(trace, touches_of(trace), fleet, model)


def dram(hold_s: float) -> Fleet:
    return Fleet(
        gpu_usd_per_hour=D(3),
        gpus=1,
        memory_gb=40,
        tier="dram",
        usd_per_gb_hour={"dram": D("0.01"), "disk": D("0.001")},
        hold_s=hold_s,
    )


# 1000 tokens are one gigabyte and one second of prefill; a restore takes half a second.
MODEL = Assumed(prefill_tokens_per_s=1000, kv_bytes_per_token=1e6, restore_bytes_per_s=2e9)


def test_the_parts_of_the_effective_saving_by_hand():
    result = saving(HOURLY, dram(hold_s=4000), MODEL)
    # Two hits of 1000 tokens: 2 s of prefill saved, 1 s of restores, at 3 dollars an hour.
    assert result.hit_tokens == 2000
    assert (result.prefill_saved_s, result.restore_s) == (2.0, 1.0)
    assert result.saving == D(2) * D(3) / 3600
    assert result.restore == D(1) * D(3) / 3600
    # S is held for 3600 + 3600 + 4000 s, each tail for 4000 s, one gigabyte each.
    assert result.gb_hours == pytest.approx((7200 + 4000 + 3 * 4000) / 3600)
    assert float(result.storage) == pytest.approx(0.01 * result.gb_hours)
    assert result.capacity == 0
    assert result.effective == result.saving - result.storage - result.restore
    assert result.replicas == pytest.approx(2 / 7200)
    assert result.basis == "assumed, as stated"


def test_shorter_holding_than_the_gap_hits_nothing():
    result = saving(HOURLY, dram(hold_s=3599), MODEL)
    assert (result.hit_tokens, result.saving, result.holds) == (0, 0, ())
    assert result.effective < 0


def test_kv_on_the_accelerator_takes_capacity_instead_of_room():
    fleet = replace(dram(hold_s=4000), tier=RESIDENT)
    result = saving(HOURLY, fleet, replace(MODEL, restore_bytes_per_s=None))
    assert (result.storage, result.restore) == (0, 0)
    assert float(result.capacity) == pytest.approx(3 / 40 * result.gb_hours)


def test_a_prefix_is_worth_holding_until_its_room_costs_what_a_hit_saves():
    result = saving(HOURLY, dram(hold_s=4000), MODEL)
    saved_usd = 0.5 * 3 / 3600
    hold_usd_per_s = 1 * 0.01 / 3600
    in_dram, on_disk = result.holds
    assert in_dram.break_even_gap_s == pytest.approx(saved_usd / hold_usd_per_s)
    assert on_disk.break_even_gap_s == pytest.approx(10 * saved_usd / hold_usd_per_s)


def resident(calibration) -> str:
    trace = trace_of(HOURLY)
    fleet = replace(dram(hold_s=4000), tier=RESIDENT)
    return effective_saving(trace, touches_of(trace), fleet, calibration).basis


def test_a_calibration_is_called_measured_only_for_lengths_it_measured():
    calibration = sample_calibration()
    longest = int(trace_of(HOURLY).requests.prompt_tokens.max())
    short = replace(calibration.prefill, longest_total=longest - 1)
    assert resident(calibration) == "measured, by pcache probe's calibration of tiny-llama on a processor"
    assert resident(replace(calibration, prefill=short)).startswith("projected from pcache probe's")
    assert "too noisy" in resident(replace(calibration, trusted=False))


def test_a_log_without_times_cannot_say_what_is_held():
    trace = trace_of(HOURLY)
    timeless = replace(trace, requests=replace(trace.requests, time_ns=trace.requests.first_token_ns))
    with pytest.raises(CannotEvaluateError, match="no times"):
        effective_saving(timeless, touches_of(timeless), dram(60), MODEL)
