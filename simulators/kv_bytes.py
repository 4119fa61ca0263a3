"""How many bytes of KV a token takes: from a model's shape, its config.json, or vLLM's memory settings."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from analyzers.errors import InputError, UsageError

DTYPE_BYTES = {
    "auto": 2.0,
    "fp32": 4.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5,
    "int4": 0.5,
}
_FULL = ("full_attention", "attention", "global", "global_attention")
_WINDOW = ("sliding_attention", "sliding", "local", "local_attention", "chunked_attention")
_RECURRENT = ("linear_attention", "mamba", "mamba2", "recurrent", "conv", "short_conv")


@dataclass(frozen=True)
class ModelShape:
    """What a model keeps per token. `latent` values a layer for multi-head latent attention (MLA), else K and V of
    `kv_heads` x `head_dim` (multi-head, grouped-query or multi-query attention).

    `layers` keep every token, `window_layers` the last `window` tokens, `recurrent_layers` a state that does not
    grow. `parameters` are all weights, None where unknown. `read` is the date the figures were checked at.
    """

    name: str
    layers: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    latent: int | None = None
    window_layers: int = 0
    window: int | None = None
    window_kv_heads: int | None = None
    window_head_dim: int | None = None
    recurrent_layers: int = 0
    parameters: float | None = None
    source: str = ""
    read: str | None = None


@dataclass(frozen=True)
class KvBytes:
    """KV bytes of one token, summed over the GPUs of a tensor-parallel group.

    `full` is for layers that keep every token, `window` for layers that keep the last ones only.
    """

    full: float
    window: float
    tensor_parallel: int
    notes: tuple[str, ...]

    @property
    def per_token(self) -> int:
        """Bytes a cached token takes where every layer keeps it: what engines reserve for a shared prefix."""
        return math.ceil(self.full + self.window)


def kv_bytes(shape: ModelShape, dtype: str = "auto", tensor_parallel: int = 1) -> KvBytes:
    """KV bytes a token. Raises UsageError for an unknown dtype or a tensor-parallel size below 1.

    KV heads are divided among the GPUs; when there are fewer heads than GPUs each keeps one; a latent is kept whole
    by every GPU.
    """
    if dtype not in DTYPE_BYTES:
        raise UsageError(f"'{dtype}' is no KV dtype; there are {', '.join(DTYPE_BYTES)}")
    if tensor_parallel < 1:
        raise UsageError(f"a tensor-parallel size of {tensor_parallel} is not possible; give 1 or more")
    size = DTYPE_BYTES[dtype]

    def layer(heads: int, dim: int) -> float:
        if shape.latent is not None:
            return shape.latent * size * tensor_parallel
        return 2 * max(1, -(-heads // tensor_parallel)) * tensor_parallel * dim * size

    notes = []
    if shape.window_layers:
        notes.append(
            f"{shape.window_layers} of {shape.layers + shape.window_layers} attention layers keep only the last "
            f"{shape.window:,} tokens; they are counted for every cached token, so an engine that frees them needs less"
        )
    if shape.recurrent_layers:
        notes.append(
            f"{shape.recurrent_layers} recurrent layers keep a state of fixed size for each point that can be "
            "resumed; it is not counted"
        )
    if shape.read is None and shape.source:
        notes.append(f"the shape of {shape.name} has not been checked against {shape.source}")
    return KvBytes(
        full=shape.layers * layer(shape.kv_heads, shape.head_dim),
        window=shape.window_layers
        * layer(shape.window_kv_heads or shape.kv_heads, shape.window_head_dim or shape.head_dim),
        tensor_parallel=tensor_parallel,
        notes=tuple(notes),
    )


@cache
def _catalogue() -> Mapping[str, Mapping[str, Any]]:
    import yaml

    text = files("simulators").joinpath("model_shapes.yaml").read_text("utf-8")
    loaded: Mapping[str, Mapping[str, Any]] = yaml.safe_load(text)
    return loaded


def known_models() -> list[str]:
    """Names in the catalogue."""
    return list(_catalogue())


def find_shape(name: str) -> ModelShape:
    """A shape by its name in the catalogue, its repository on the hub, or a path to a config.json or its folder.

    Raises UsageError for an unknown name, InputError for a config.json that says too little.
    """
    path = Path(name)
    if path.is_dir():
        path = path / "config.json"
    if path.suffix == ".json" or path.is_file():
        return shape_from_config(path)
    wanted = name.lower()
    for known, fields in _catalogue().items():
        if wanted in (known, str(fields["repo"]).lower()):
            figures = {k: v for k, v in fields.items() if k not in ("repo", "read", "parameters")}
            parameters = fields.get("parameters")
            return ModelShape(
                name=known,
                **figures,
                parameters=None if parameters is None else parameters * 1e9,
                source=f"https://huggingface.co/{fields['repo']}/blob/main/config.json",
                read=None if "read" not in fields else str(fields["read"]),
            )
    close = [k for k in _catalogue() if wanted.split("-")[0] in k]
    known = ", ".join(close or _catalogue())
    raise UsageError(
        f"'{name}' is no model in the catalogue; give a config.json, --kv-bytes-per-token, or one of: {known}"
    )


def shape_from_config(path: Path) -> ModelShape:
    """The shape that a Hugging Face config.json describes. Raises InputError when it cannot be told from it."""
    try:
        config = json.loads(path.read_bytes())
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(f"{path} is not JSON: {problem}") from problem
    if not isinstance(config, dict):
        raise InputError(f"{path} is no model configuration: it holds no JSON object")
    if isinstance(config.get("text_config"), dict):
        config = config["text_config"]
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    heads = config.get("num_attention_heads", config.get("n_head"))
    if not isinstance(layers, int) or not isinstance(heads, int) or layers < 1 or heads < 1:
        raise InputError(
            f"{path} names no num_hidden_layers and num_attention_heads; give --kv-bytes-per-token"
        )
    kinds = _layer_kinds(config, layers)
    unknown = sorted({k for k in kinds if k not in (*_FULL, *_WINDOW, *_RECURRENT)})
    if unknown:
        raise InputError(
            f"{path} has layers of a kind unknown here ({', '.join(unknown)}); give --kv-bytes-per-token"
        )
    hidden = config.get("hidden_size", config.get("n_embd", 0))
    kv_heads = config.get("num_key_value_heads", config.get("num_kv_heads"))
    if kv_heads is None:
        kv_heads = 1 if config.get("multi_query") else heads
    latent = None
    if config.get("kv_lora_rank"):
        latent = int(config["kv_lora_rank"]) + int(config.get("qk_rope_head_dim") or 0)
    return ModelShape(
        name=str(path),
        layers=sum(k in _FULL for k in kinds),
        kv_heads=int(kv_heads),
        head_dim=int(config.get("head_dim") or hidden // heads),
        latent=latent,
        window_layers=sum(k in _WINDOW for k in kinds),
        window=config.get("sliding_window") or config.get("attention_chunk_size"),
        recurrent_layers=sum(k in _RECURRENT for k in kinds),
    )


def _layer_kinds(config: Mapping[str, Any], layers: int) -> list[str]:
    """What each layer is, by the ways in which configurations say it."""
    if isinstance(config.get("layer_types"), list):
        return [str(kind) for kind in config["layer_types"]][:layers]
    if config.get("full_attention_interval"):
        every = int(config["full_attention_interval"])
        return ["full_attention" if (i + 1) % every == 0 else "linear_attention" for i in range(layers)]
    if config.get("attn_layer_period"):
        period, offset = int(config["attn_layer_period"]), int(config.get("attn_layer_offset") or 0)
        return ["full_attention" if i % period == offset else "mamba" for i in range(layers)]
    if isinstance(config.get("hybrid_override_pattern"), str):
        # Nemotron-H: * attention, M Mamba, - a feed-forward layer without a cache.
        return [
            "full_attention" if c == "*" else "mamba" for c in config["hybrid_override_pattern"] if c in "*M"
        ]
    window = config.get("sliding_window")
    if not window or config.get("use_sliding_window") is False:
        return ["full_attention"] * layers
    if config.get("sliding_window_pattern"):
        every = int(config["sliding_window_pattern"])
        return ["full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(layers)]
    if config.get("model_type") == "gemma2":
        return ["sliding_attention" if i % 2 == 0 else "full_attention" for i in range(layers)]
    if config.get("max_window_layers") is not None and config.get("use_sliding_window"):
        first = int(config["max_window_layers"])
        return ["full_attention" if i < first else "sliding_attention" for i in range(layers)]
    return ["sliding_attention"] * layers


@dataclass(frozen=True)
class GpuBlocks:
    """How many KV blocks vLLM could make of a GPU, and from what. Bytes are for one GPU."""

    blocks: int
    kv_memory: int
    weights: int
    notes: tuple[str, ...]


def vllm_gpu_blocks(
    shape: ModelShape,
    gpu_memory: int,
    utilization: float,
    block_size: int,
    dtype: str = "auto",
    tensor_parallel: int = 1,
    weight_bytes: int | None = None,
) -> GpuBlocks:
    """Blocks in `gpu_memory` bytes a GPU at `utilization`, after the weights (16 bit unless `weight_bytes` gives
    them for the whole model).

    An upper bound: vLLM also subtracts what it measures for activations and CUDA graphs; it prints the number it
    arrived at. Raises UsageError when nothing is left.
    """
    if not 0 < utilization <= 1:
        raise UsageError(
            f"--gpu-memory-utilization {utilization:g} is no share; give a number above 0 and up to 1"
        )
    if weight_bytes is None and shape.parameters is None:
        raise UsageError(f"the weights of {shape.name} are unknown; give --weight-bytes or --num-gpu-blocks")
    total_weights = weight_bytes if weight_bytes is not None else round((shape.parameters or 0) * 2)
    weights = total_weights // tensor_parallel
    memory = int(gpu_memory * utilization) - weights
    per_gpu_token = kv_bytes(shape, dtype, tensor_parallel).per_token / tensor_parallel
    blocks = int(memory // (per_gpu_token * block_size)) if memory > 0 else 0
    if blocks < 2:
        raise UsageError(
            f"{shape.name} leaves no room for KV: {weights / 2**30:.1f} GiB of weights a GPU against "
            f"{gpu_memory * utilization / 2**30:.1f} GiB; add GPUs with --tensor-parallel or memory"
        )
    note = "blocks are an upper bound: memory for activations and CUDA graphs is not subtracted; vLLM prints its own"
    return GpuBlocks(blocks, memory, weights, (note,))
