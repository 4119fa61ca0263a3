"""Verification passes what is right and catches what is wrong."""

from dataclasses import replace

import pytest
import torch

from gpu_probe.kv_image import KvImage
from gpu_probe.verify import (
    FAULTS,
    check_against_prefill,
    check_greedy,
    check_planted,
    check_storage,
    continued,
    difference,
    exam_ids,
    examine,
    failed,
    tolerance,
    truncated,
    verify,
)
from simulators.calibration import Geometry

RIGHT = [
    "tiny-llama",
    "tiny-qwen3",
    "tiny-mistral",
    "tiny-gemma3",
    "tiny-deepseek",
    "tiny-qwen3-next",
    "tiny-granite-hybrid",
]


def unchanged(image: KvImage) -> KvImage:
    return image


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", RIGHT)
def test_these_models_restore_their_state_exactly(model, name: str, dtype: str):
    loaded = model(name, dtype)
    checks = verify(loaded, unchanged, exam_ids(loaded, 0), seed=0)
    assert failed(checks) == []
    assert sum(check.planted for check in checks) >= 1


def test_a_model_that_transformers_continues_wrongly_is_reported_with_the_check(model):
    loaded = model("tiny-jamba")
    wrong = failed(verify(loaded, unchanged, exam_ids(loaded, 0), seed=0))
    assert "float32, all layers: restored against full prefill" in [check.name for check in wrong]
    assert not any("restored equals live" in check.name for check in wrong)


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize("name", RIGHT)
def test_every_fault_that_applies_is_caught_by_both_checks(model, name: str, fault: str):
    loaded = model(name)
    exam = examine(loaded, exam_ids(loaded, 3))
    damaged = FAULTS[fault](exam.image)
    if damaged is None:
        kinds = {spec.attribute for spec in exam.image.layout.tensors}
        assert fault.startswith("a recurrent") == ("recurrent_states" not in kinds) or name == "tiny-deepseek"
        return
    assert not check_storage(loaded, exam, damaged, "").passed
    assert not check_against_prefill(loaded, exam, damaged, "").passed
    assert torch.equal(continued(loaded, exam, exam.image), exam.live), "the exam's own state was damaged"


@pytest.mark.parametrize("seed", range(6))
def test_the_seed_chooses_the_fault(model, seed: int):
    loaded = model("tiny-llama")
    check = check_planted(loaded, examine(loaded, exam_ids(loaded, 0)), "x", seed)
    applicable = sorted(set(FAULTS) - {"a recurrent state zeroed"})
    assert check.passed
    assert check.planted
    assert applicable[seed % 3] in check.name


def test_a_check_that_cannot_see_the_fault_fails_the_run(model, monkeypatch):
    loaded = model("tiny-llama")
    monkeypatch.setattr("gpu_probe.verify.FAULTS", {"nothing": unchanged})
    check = check_planted(loaded, examine(loaded, exam_ids(loaded, 0)), "x", 0)
    assert not check.passed


def test_shifted_positions_are_caught(model):
    from gpu_probe.forward import prefill
    from gpu_probe.kv_image import rebuild

    loaded = model("tiny-llama")
    exam = examine(loaded, exam_ids(loaded, 0))
    suffix = exam.ids.shape[1] - exam.cached
    shifted = prefill(
        loaded,
        exam.ids[:, exam.cached :],
        rebuild(exam.image, loaded.config),
        cached=exam.cached,
        logits=suffix,
        shift=1,
    )
    assert difference(exam.full, shifted).largest > tolerance(loaded).largest


def test_a_difference_is_measured_in_spreads_of_the_reference():
    reference = torch.tensor([[3.0, 2.0, 0.0], [1.0, 5.0, 1.0]])
    logits = torch.tensor([[2.0, 2.5, 0.0], [1.0, 5.0, 1.0]])
    found = difference(reference, logits)
    assert found.largest == pytest.approx(1.0 / float(reference.std()))
    assert found.rms == pytest.approx((1.25 / 6) ** 0.5 / float(reference.std()))
    assert found.flips == 1
    assert difference(reference, reference).largest == 0.0


def test_greedy_text_differs_only_where_rounding_can_explain_it(model):
    loaded = model("tiny-llama")
    exam = examine(loaded, exam_ids(loaded, 0))
    honest = check_greedy(loaded, exam)
    assert honest.passed
    assert honest.detail == "32 of 32 tokens alike"
    damaged = FAULTS["two layers swapped"](exam.image)
    assert damaged is not None
    wrong = check_greedy(loaded, replace(exam, image=damaged))
    assert not wrong.passed
    assert "then one that led by" in wrong.detail


def test_rounding_may_grow_with_depth_in_bf16_only(model):
    def deeper(name: str, dtype: str, layers: int):
        loaded = model(name, dtype)
        return replace(loaded, card=replace(loaded.card, geometry=Geometry(layers, 0, None)))

    assert tolerance(deeper("tiny-llama", "bfloat16", 32)).largest == pytest.approx(0.4)
    assert tolerance(deeper("tiny-llama", "bfloat16", 4)).largest == pytest.approx(0.2)
    assert tolerance(deeper("tiny-llama", "float32", 80)).largest == 1e-4
    assert tolerance(deeper("tiny-deepseek", "bfloat16", 4)).largest == 2.0
    assert tolerance(deeper("tiny-deepseek", "float32", 4)).largest == 1e-4


def test_the_cut_copy_shows_every_kind_of_layer_in_fp32(model):
    cut = truncated(model("tiny-gemma3", "bfloat16"), seed=0)
    assert cut is not None
    assert cut.dtype == torch.float32
    assert cut.card.geometry == Geometry(full_layers=1, window_layers=2, window=64)
    hybrid = truncated(model("tiny-qwen3-next", "bfloat16"), seed=0)
    assert hybrid is not None
    assert hybrid.card.geometry.full_layers == 1
    assert truncated(model("tiny-qwen3-next"), seed=0) is None
