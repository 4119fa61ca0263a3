import json
from pathlib import Path

import pytest

from analyzers.errors import InputError, UsageError
from simulators.kv_bytes import (
    ModelShape,
    find_shape,
    known_models,
    kv_bytes,
    shape_from_config,
    vllm_gpu_blocks,
)


@pytest.mark.parametrize(
    ("model", "bytes_a_token"),
    [
        ("llama-2-7b", 2 * 32 * 32 * 128 * 2),  # multi-head: 512 KiB
        ("llama-3-8b", 2 * 32 * 8 * 128 * 2),  # grouped-query: 128 KiB
        ("falcon-7b", 2 * 32 * 1 * 64 * 2),  # multi-query
        ("deepseek-v3", 61 * 576 * 2),  # latent: about 69 KiB
        ("gpt-oss-20b", 2 * 24 * 8 * 64 * 2),  # every layer counted, windows too
        ("qwen3-next-80b-a3b", 2 * 12 * 2 * 256 * 2),  # recurrent layers do not grow
    ],
)
def test_bytes_of_a_token_by_kind_of_attention(model: str, bytes_a_token: int):
    assert kv_bytes(find_shape(model)).per_token == bytes_a_token


def test_a_narrower_dtype_takes_less():
    shape = find_shape("llama-3-8b")
    assert kv_bytes(shape, "fp8").per_token * 2 == kv_bytes(shape).per_token
    assert kv_bytes(shape, "fp4").per_token * 4 == kv_bytes(shape).per_token


def test_tensor_parallel_divides_heads_until_there_is_one_a_gpu():
    shape = find_shape("llama-3-8b")
    assert kv_bytes(shape, tensor_parallel=8).per_token == kv_bytes(shape).per_token
    assert kv_bytes(shape, tensor_parallel=16).per_token == 2 * kv_bytes(shape).per_token
    latent = find_shape("deepseek-v3")
    assert kv_bytes(latent, tensor_parallel=8).per_token == 8 * kv_bytes(latent).per_token


def test_every_model_of_the_catalogue_has_a_size():
    for name in known_models():
        shape = find_shape(name)
        assert kv_bytes(shape).per_token > 0
        assert (shape.window is not None) == (shape.window_layers > 0)


def test_a_model_is_found_by_its_repository_too():
    assert find_shape("meta-llama/Meta-Llama-3-8B") == find_shape("llama-3-8b")


def test_windows_states_and_unchecked_shapes_are_noted():
    assert "keep only the last 1,024 tokens" in kv_bytes(find_shape("gemma-3-27b")).notes[0]
    assert "recurrent" in kv_bytes(find_shape("qwen3.5-9b")).notes[0]
    assert "has not been checked" in kv_bytes(find_shape("llama-3-8b")).notes[-1]
    assert kv_bytes(find_shape("qwen3-8b")).notes == ()


def _config(folder: Path, **fields: object) -> ModelShape:
    path = folder / "config.json"
    path.write_text(json.dumps(fields))
    return shape_from_config(path)


def test_a_config_with_grouped_heads(tmp_path: Path):
    shape = _config(
        tmp_path, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8, hidden_size=4096
    )
    assert kv_bytes(shape).per_token == kv_bytes(find_shape("llama-3-8b")).per_token


def test_a_config_with_a_latent(tmp_path: Path):
    shape = _config(
        tmp_path, num_hidden_layers=61, num_attention_heads=128, kv_lora_rank=512, qk_rope_head_dim=64
    )
    assert kv_bytes(shape).per_token == 61 * 576 * 2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"layer_types": ["sliding_attention", "full_attention"] * 6, "sliding_window": 128}, (6, 6, 0)),
        ({"full_attention_interval": 4}, (3, 0, 9)),
        ({"sliding_window": 1024, "sliding_window_pattern": 6}, (2, 10, 0)),
        ({"sliding_window": 4096, "model_type": "gemma2"}, (6, 6, 0)),
        ({"sliding_window": 4096}, (0, 12, 0)),
        ({"sliding_window": 4096, "use_sliding_window": False, "max_window_layers": 6}, (12, 0, 0)),
        ({"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 8}, (8, 4, 0)),
        ({"attn_layer_period": 6, "attn_layer_offset": 3}, (2, 0, 10)),
        ({"hybrid_override_pattern": "M-M*-M-M*-M-"}, (2, 0, 5)),
    ],
)
def test_a_config_says_which_layers_keep_what(
    tmp_path: Path, fields: dict[str, object], expected: tuple[int, int, int]
):
    shape = _config(tmp_path, num_hidden_layers=12, num_attention_heads=8, hidden_size=512, **fields)
    assert (shape.layers, shape.window_layers, shape.recurrent_layers) == expected


def test_a_config_of_a_model_with_vision_is_read_at_its_text_part(tmp_path: Path):
    text = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
    assert _config(tmp_path, text_config=text).layers == 2


def test_a_folder_stands_for_its_config(tmp_path: Path):
    _config(tmp_path, num_hidden_layers=2, num_attention_heads=4, hidden_size=64)
    assert find_shape(str(tmp_path)).layers == 2


@pytest.mark.parametrize("fields", [{}, {"num_hidden_layers": 4}])
def test_a_config_that_says_too_little_is_refused(tmp_path: Path, fields: dict[str, object]):
    with pytest.raises(InputError, match="names no num_hidden_layers"):
        _config(tmp_path, **fields)


def test_unknown_kinds_of_layers_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="kind unknown here \\(holographic\\)"):
        _config(
            tmp_path, num_hidden_layers=1, num_attention_heads=4, hidden_size=64, layer_types=["holographic"]
        )


def test_vllm_blocks_are_what_the_weights_leave():
    found = vllm_gpu_blocks(find_shape("llama-3-8b"), 80 * 2**30, 0.9, 16)
    kv = int(80 * 2**30 * 0.9) - round(8.03e9 * 2)
    assert found.blocks == kv // (16 * 131072)
    halved = vllm_gpu_blocks(find_shape("llama-3-8b"), 80 * 2**30, 0.9, 16, tensor_parallel=2)
    assert halved.blocks > 2 * found.blocks
    assert "upper bound" in found.notes[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find_shape("gpt-9"), "'gpt-9' is no model in the catalogue"),
        (lambda: kv_bytes(find_shape("llama-3-8b"), "fp7"), "'fp7' is no KV dtype"),
        (lambda: kv_bytes(find_shape("llama-3-8b"), tensor_parallel=0), "tensor-parallel size of 0"),
        (lambda: vllm_gpu_blocks(find_shape("llama-3-70b"), 80 * 2**30, 0.9, 16), "leaves no room for KV"),
        (lambda: vllm_gpu_blocks(find_shape("llama-3-8b"), 80 * 2**30, 90, 16), "is no share"),
        (lambda: vllm_gpu_blocks(find_shape("qwen3.5-9b"), 80 * 2**30, 0.9, 16), "weights of qwen3.5-9b"),
    ],
)
def test_settings_that_make_no_sense_get_one_sentence(call, message: str):
    with pytest.raises(UsageError, match=message):
        call()
