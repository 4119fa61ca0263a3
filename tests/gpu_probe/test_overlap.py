"""Layers restored while the suffix is computed give the same answer, and a layer never runs ahead of its KV."""

import pytest
import torch

from analyzers.errors import CannotEvaluateError
from gpu_probe.forward import prefill, random_ids
from gpu_probe.kv_image import rebuild
from gpu_probe.overlap import LayerwiseRestore, decoder_layers
from gpu_probe.tiers.memory import MemoryTier
from tests.gpu_probe.test_kv_image import state_after


class SlowTier(MemoryTier):
    """Takes its time over every part, so that a layer that does not wait reads zeros."""

    def restore_part(self, part: slice, into: torch.Tensor) -> None:
        import time

        time.sleep(0.02)
        super().restore_part(part, into)


@pytest.mark.parametrize("name", ["tiny-llama", "tiny-gemma3", "tiny-deepseek"])
def test_every_layer_waits_for_its_own_kv(model, name: str):
    loaded = model(name)
    image = state_after(loaded, 100)
    ids = random_ids(loaded, 8, torch.Generator().manual_seed(1))
    expected = prefill(loaded, ids, rebuild(image, loaded.config), cached=100)
    tier = SlowTier("pageable", torch.device("cpu"), pinned=False, pool_bytes=0)
    tier.store(image)
    target = torch.zeros_like(image.buffer)
    restore = LayerwiseRestore(loaded, image.layout, tier, target)
    for _ in range(2):
        target.zero_()
        with restore.running() as cache:
            found = prefill(loaded, ids, cache, cached=100)
        assert torch.equal(found, expected)
    assert torch.equal(target, image.buffer)
    assert not any(layer._forward_pre_hooks for layer in decoder_layers(loaded.model, len(cache.layers)))


def test_recurrent_models_are_not_overlapped(model):
    loaded = model("tiny-qwen3-next")
    image = state_after(loaded, 20)
    tier = MemoryTier("pageable", torch.device("cpu"), pinned=False, pool_bytes=0)
    with pytest.raises(CannotEvaluateError, match="restored whole"):
        LayerwiseRestore(loaded, image.layout, tier, image.buffer)


def test_a_model_without_a_list_of_layers_is_refused(model):
    with pytest.raises(CannotEvaluateError, match="9 decoder layers were not found"):
        decoder_layers(model("tiny-llama").model, 9)
