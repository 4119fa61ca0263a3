"""Bytes of KV are counted from tensors and compared with the formula; peaks are seen."""

import numpy as np
import pytest
import torch

from gpu_probe.memory import KvSize, PeakMemory, PeakResident, kv_bytes
from simulators.latency import Calibration
from tests.gpu_probe.test_kv_image import state_after


def sizes(loaded, lengths=(20, 50, 120)):
    return [KvSize(length, state_after(loaded, length).layout) for length in lengths]


@pytest.mark.parametrize(
    ("name", "dtype", "full", "window"),
    [
        ("tiny-llama", "float32", 4 * 2 * 4 * 32 * 4, 0),
        ("tiny-llama", "bfloat16", 4 * 2 * 4 * 32 * 2, 0),
        ("tiny-qwen3", "bfloat16", 4 * 2 * 4 * 64 * 2, 0),
        ("tiny-mistral", "float32", 0, 4 * 2 * 4 * 32 * 4),
        ("tiny-gemma3", "bfloat16", 2 * 2 * 4 * 32 * 2, 4 * 2 * 4 * 32 * 2),
        ("tiny-deepseek", "bfloat16", 4 * (64 + 16) * 2, 0),
    ],
)
def test_counted_bytes_a_token_are_those_of_the_formula(model, name, dtype, full, window):
    loaded = model(name, dtype)
    counted = kv_bytes(sizes(loaded), loaded.config)
    assert (counted.per_token_full, counted.per_token_window, counted.fixed) == (full, window, 0)
    assert counted.formula_agrees is True
    assert counted.window == (64 if window else None)


@pytest.mark.parametrize("name", ["tiny-llama", "tiny-gemma3", "tiny-qwen3-next", "tiny-granite-hybrid"])
def test_the_model_of_bytes_gives_the_count_at_a_length_it_has_not_seen(model, name):
    loaded = model(name)
    counted = kv_bytes(sizes(loaded), loaded.config)
    calibration = Calibration.__new__(Calibration)
    object.__setattr__(calibration, "kv", counted)
    for length in (33, 90, 200):
        assert calibration.kv_bytes(length) == state_after(loaded, length).layout.nbytes


def test_recurrent_layers_have_a_size_whatever_the_length(model):
    counted = kv_bytes(sizes(model("tiny-qwen3-next")), model("tiny-qwen3-next").config)
    assert counted.fixed > 0
    assert counted.per_token_full == 1 * 2 * 4 * 32 * 4


def test_a_formula_that_disagrees_is_noticed(model):
    loaded = model("tiny-llama")
    config = type(loaded.config)(**(loaded.config.to_dict() | {"num_key_value_heads": 8}))
    assert kv_bytes(sizes(loaded), config).formula_agrees is False


def test_a_state_that_does_not_grow_by_the_token_is_refused(model):
    loaded = model("tiny-llama")
    layouts = [state_after(loaded, length).layout for length in (20, 90, 60)]
    wrong = [KvSize(length, layout) for length, layout in zip((20, 50, 120), layouts, strict=True)]
    with pytest.raises(ValueError, match="does not grow by a fixed amount"):
        kv_bytes(wrong, loaded.config)


def test_the_peak_of_the_process_is_seen_after_it_is_gone():
    with PeakResident(torch.device("cpu")) as idle:
        pass
    with PeakResident(torch.device("cpu")) as peak:
        held = np.ones(60 * 2**20, dtype=np.uint8)
        threading_can_look(held)
        del held
    assert peak.resident_bytes - idle.resident_bytes > 40 * 2**20
    assert peak.device_bytes is None


def threading_can_look(held: np.ndarray) -> None:
    import time

    for _ in range(20):
        time.sleep(0.005)
        held[::4096] = 2


def test_the_host_has_no_allocator_peak():
    with PeakMemory(torch.device("cpu")) as peak:
        torch.ones(1000)
    assert peak.device_bytes is None
