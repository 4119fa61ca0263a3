"""Keeping a cache as one buffer and a description, and building it again."""

import itertools

import pytest
import torch

from analyzers.errors import CannotEvaluateError
from gpu_probe.forward import empty_cache, prefill, random_ids
from gpu_probe.kv_image import KvImage, KvMismatchError, capture, rebuild
from gpu_probe.models import LoadedModel

SHAPES = [
    "tiny-llama",
    "tiny-qwen3",
    "tiny-mistral",
    "tiny-gemma3",
    "tiny-deepseek",
    "tiny-qwen3-next",
    "tiny-granite-hybrid",
    "tiny-jamba",
]


def state_after(loaded: LoadedModel, tokens: int) -> KvImage:
    cache = empty_cache(loaded)
    ids = random_ids(loaded, tokens, torch.Generator().manual_seed(5))
    prefill(loaded, ids, cache, cached=0)
    return capture(cache)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_rebuilt_cache_holds_what_the_live_one_held(model, name: str, dtype: str):
    image = state_after(model(name, dtype), 90)
    again = capture(rebuild(image, model(name, dtype).config))
    assert again.layout == image.layout
    for key, tensor in image.tensors().items():
        assert torch.equal(again.tensors()[key], tensor), key


@pytest.mark.parametrize("name", ["tiny-llama", "tiny-gemma3", "tiny-qwen3-next"])
def test_continuing_a_rebuilt_cache_leaves_the_kept_state_alone(model, name: str):
    loaded = model(name)
    image = state_after(loaded, 90)
    before = image.buffer.clone()
    suffix = random_ids(loaded, 20, torch.Generator().manual_seed(6))
    first = prefill(loaded, suffix, rebuild(image, loaded.config), cached=90)
    second = prefill(loaded, suffix, rebuild(image, loaded.config), cached=90)
    assert torch.equal(image.buffer, before)
    assert torch.equal(first, second)


def test_tensors_lie_apart_and_aligned_and_layers_in_order(model):
    layout = state_after(model("tiny-gemma3"), 70).layout
    ends = 0
    for spec in layout.tensors:
        assert spec.offset % 256 == 0
        assert spec.offset >= ends
        ends = spec.offset + spec.nbytes
    slices = layout.layer_slices()
    assert slices[0].start == 0
    assert slices[-1].stop == layout.buffer_bytes
    assert all(before.stop == after.start for before, after in itertools.pairwise(slices))
    for spec in layout.tensors:
        assert slices[spec.layer].start <= spec.offset < slices[spec.layer].stop


def test_window_layers_keep_one_token_less_than_the_window(model):
    image = state_after(model("tiny-mistral"), 90)
    assert image.tensors()["0.keys"].shape == (1, 4, 63, 32)
    assert image.layout.layers[0].plain["cumulative_length"] == 90


def test_the_state_of_another_kind_of_model_is_refused(model):
    image = state_after(model("tiny-llama"), 20)
    with pytest.raises(KvMismatchError, match="'layer 0 class' differs: found DynamicLayer"):
        rebuild(image, model("tiny-mistral").config)
    with pytest.raises(KvMismatchError, match="'layers' differs: found 4, expected 6"):
        rebuild(image, model("tiny-gemma3").config)


def test_an_attribute_this_release_does_not_have_is_refused(model):
    image = state_after(model("tiny-llama"), 20)
    image.layout.layers[1].plain["salt"] = 3
    with pytest.raises(KvMismatchError, match="layer 1 attributes"):
        rebuild(image, model("tiny-llama").config)


def test_an_attribute_that_is_not_understood_is_refused_not_dropped(model):
    loaded = model("tiny-llama")
    cache = empty_cache(loaded)
    prefill(loaded, random_ids(loaded, 8, torch.Generator()), cache, cached=0)
    cache.layers[2].compressor = object()
    with pytest.raises(CannotEvaluateError, match=r"DynamicLayer\.compressor is a object"):
        capture(cache)


def test_a_cache_that_grows_in_place_is_refused(model):
    from transformers import StaticCache

    with pytest.raises(CannotEvaluateError, match="StaticCache"):
        capture(StaticCache(config=model("tiny-llama").config, max_cache_len=64))
