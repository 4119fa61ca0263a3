"""Models come from the catalogue, a folder or a file; anything else is one sentence."""

from pathlib import Path

import pytest
import torch

from analyzers.errors import CannotEvaluateError, InputError, UsageError
from gpu_probe.attention import register_causal_attention
from gpu_probe.forward import empty_cache, prefill, random_ids
from gpu_probe.kv_image import rebuild
from gpu_probe.models import ModelRequest, config_sha256, geometry, load_model, shape_config
from gpu_probe.shapes import SHAPES
from simulators.calibration import Geometry
from tests.gpu_probe.test_kv_image import state_after


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama-3-8b", Geometry(32, 0, None)),
        ("qwen2.5-7b", Geometry(28, 0, None)),
        ("qwen3-8b", Geometry(36, 0, None)),
        ("gemma-3-4b", Geometry(5, 29, 1024)),
        ("deepseek-v3-mini", Geometry(4, 0, None)),
        ("qwen3-next-mini", Geometry(2, 0, None, 6)),
    ],
)
def test_full_size_shapes_have_the_layers_of_their_model(name: str, expected: Geometry):
    assert geometry(shape_config(name)) == expected


@pytest.mark.parametrize(
    ("name", "parameters"), [("llama-3-8b", 8.03e9), ("qwen2.5-7b", 7.62e9), ("qwen3-8b", 8.19e9)]
)
def test_full_size_shapes_have_the_parameters_of_their_model(name: str, parameters: float):
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        built = AutoModelForCausalLM.from_config(shape_config(name))
    assert sum(weight.numel() for weight in built.parameters()) == pytest.approx(parameters, rel=0.002)


def test_the_same_seed_gives_the_same_weights(model):
    assert load_model(ModelRequest("tiny-llama", "cpu")).weights_sha256 == model("tiny-llama").weights_sha256


def test_a_folder_is_loaded_with_its_own_weights(model, tmp_path: Path):
    model("tiny-llama").model.save_pretrained(tmp_path / "mine")
    loaded = load_model(ModelRequest(str(tmp_path / "mine"), "cpu"))
    assert loaded.card.weights == "real"
    assert loaded.card.name == "mine"
    assert loaded.weights_sha256 == model("tiny-llama").weights_sha256
    assert loaded.card.config_sha256 == model("tiny-llama").card.config_sha256


def test_a_configuration_is_told_apart_by_what_matters():
    config = shape_config("tiny-llama")
    before = config_sha256(config)
    config._name_or_path = "elsewhere"
    assert config_sha256(config) == before
    config.rms_norm_eps = 1e-3
    assert config_sha256(config) != before


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (ModelRequest("tiny-lama", "cpu"), UsageError, "neither a shape .* nor a hub id"),
        (ModelRequest("./absent", "cpu"), UsageError, "neither a shape"),
        (ModelRequest("absent.gguf", "cpu"), InputError, "no such GGUF file"),
        (ModelRequest("tiny-llama", "cpu", dtype="int3"), UsageError, "--dtype int3: choose one of auto"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(request_: ModelRequest, error: type, message: str):
    with pytest.raises(error, match=message):
        load_model(request_)


def test_a_folder_without_a_model_and_a_broken_gguf_are_one_sentence(tmp_path: Path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF but not really")
    for name in (str(tmp_path), str(tmp_path / "broken.gguf")):
        with pytest.raises(InputError, match="cannot be loaded"):
            load_model(ModelRequest(name, "cpu"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_where_there_is_none_is_one_sentence():
    with pytest.raises(UsageError, match="torch finds no CUDA device"):
        load_model(ModelRequest("tiny-llama", "cuda"))


def test_causal_attention_gives_the_logits_of_sdpa(model):
    register_causal_attention()
    plain, causal = model("tiny-llama"), model("tiny-llama", attention="causal")
    ids = random_ids(plain, 30, torch.Generator().manual_seed(2))
    image = state_after(plain, 50)
    for cached in (0, 50):
        caches = [rebuild(image, m.config) if cached else empty_cache(m) for m in (plain, causal)]
        expected = prefill(plain, ids, caches[0], cached=cached, logits=30)
        found = prefill(causal, ids, caches[1], cached=cached, logits=30)
        assert torch.allclose(found, expected, atol=1e-4)
    assert causal.kernel == "sdpa", "on the host the bias is written out as a mask"


def test_causal_attention_has_no_sliding_window():
    loaded = load_model(ModelRequest("tiny-mistral", "cpu", attention="causal"))
    with pytest.raises(CannotEvaluateError, match="no sliding window"):
        prefill(loaded, random_ids(loaded, 8, torch.Generator()), empty_cache(loaded), cached=0)


def test_a_model_that_ignores_its_cache_is_refused(model):
    loaded = model("tiny-llama")
    ids = random_ids(loaded, 8, torch.Generator())
    with pytest.raises(CannotEvaluateError, match="holds 8 tokens after 5 \\+ 8"):
        prefill(loaded, ids, empty_cache(loaded), cached=5)


def test_every_shape_says_what_it_is():
    assert all(shape.about and shape.config_class.endswith("Config") for shape in SHAPES.values())
