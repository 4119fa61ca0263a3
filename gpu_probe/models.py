"""A model to probe: from the catalogue of shapes, a local folder, a GGUF file or a hub id."""

import hashlib
import inspect
import json
import logging
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import torch

from analyzers.errors import CannotEvaluateError, InputError, UsageError
from gpu_probe.attention import register_causal_attention
from gpu_probe.shapes import SHAPES
from simulators.calibration import Geometry, Kernel, ModelCard

Attention = Literal["sdpa", "eager", "causal"]
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_SAMPLED_PER_TENSOR = 1024
# Standard deviation of random weights times √width: at the usual 0.02 attention is almost even and greedy text
# does not change when KV is wrong; from 1 on every planted fault shows, above 2 rounding grows in recurrent layers.
WEIGHT_SPREAD = 1.6


@dataclass(frozen=True)
class ModelRequest:
    """What the user asked for; `auto` device and dtype mean CUDA in bfloat16 when there is one."""

    model: str = "tiny-llama"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: str = "auto"
    attention: Attention = "sdpa"
    seed: int = 0


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run. `kernel` names the pairs its attention computes (`simulators.latency.features`),
    `cache_argument` the argument of its forward that takes a cache."""

    model: Any
    config: Any
    tokenizer: Any | None
    card: ModelCard
    device: torch.device
    dtype: torch.dtype
    kernel: Kernel
    cache_argument: str
    weights_sha256: str
    tokenizer_sha256: str | None

    @property
    def vocabulary(self) -> int:
        return int(self.config.vocab_size)


def load_model(request: ModelRequest) -> LoadedModel:
    """Build or load the model on its device. Raises UsageError, InputError or CannotEvaluateError."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    # Its notes on every retry would bury the one sentence that says the hub cannot be reached.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    device = choose_device(request.device)
    dtype = _choose_dtype(request.dtype, device)
    if request.attention == "causal":
        register_causal_attention()
    if request.model in SHAPES:
        config = shape_config(request.model)
        model = build_from_config(config, device, dtype, request.attention, request.seed)
        return describe(model, request.model, "random", None, device, request.attention)
    model, tokenizer = _load_real(request.model, device, dtype, request.attention)
    return describe(model, request.model, "real", tokenizer, device, request.attention)


def choose_device(name: str) -> torch.device:
    """The device asked for. Raises UsageError when CUDA is asked for and there is none."""
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: torch finds no CUDA device here; use --device cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def _choose_dtype(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    if name not in _DTYPES:
        raise UsageError(f"--dtype {name}: choose one of auto, {', '.join(_DTYPES)}")
    return _DTYPES[name]


def shape_config(name: str) -> Any:
    """The transformers configuration of a shape of the catalogue, with weights spread so that attention
    matters: at the usual 0.02 a random model attends almost evenly and no fault in its KV shows."""
    import transformers

    shape = SHAPES[name]
    config = getattr(transformers, shape.config_class)(**shape.settings)
    config.initializer_range = WEIGHT_SPREAD / config.hidden_size**0.5
    return config


def build_from_config(
    config: Any, device: torch.device, dtype: torch.dtype, attention: str, seed: int
) -> Any:
    """A model with random weights, created straight on the device (on the host, 8 G normals take a minute)."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    try:
        with device:
            model = AutoModelForCausalLM.from_config(
                config, dtype=dtype, attn_implementation=_implementation(attention)
            )
    except ValueError as problem:
        raise CannotEvaluateError(
            f"{type(config).__name__} cannot run with {attention} attention: {problem}"
        ) from problem
    return model.eval().requires_grad_(False)


def _load_real(name: str, device: torch.device, dtype: torch.dtype, attention: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = Path(name)
    where, options = name, {}
    if path.suffix == ".gguf":
        if not path.is_file():
            raise InputError(f"{name}: no such GGUF file")
        where, options = str(path.parent or Path(".")), {"gguf_file": path.name}
    elif not path.is_dir() and (name.count("/") != 1 or path.exists() or name.startswith((".", "/"))):
        raise UsageError(
            f"--model {name}: neither a shape ({', '.join(SHAPES)}), a folder, a .gguf file nor a hub id"
        )
    # Loading a GGUF file draws its own progress bars whatever transformers is told.
    with redirect_stderr(StringIO()):
        try:
            model = AutoModelForCausalLM.from_pretrained(
                where, dtype=dtype, attn_implementation=_implementation(attention), **options
            )
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as problem:
            # A damaged or foreign file fails with whatever its parser happens to raise.
            raise InputError(f"--model {name}: cannot be loaded ({_first_line(problem)})") from problem
        try:
            tokenizer = AutoTokenizer.from_pretrained(where, **options)
        except Exception:
            tokenizer = None
    return model.to(device).eval().requires_grad_(False), tokenizer


def describe(
    model: Any,
    name: str,
    weights: Literal["random", "real"],
    tokenizer: Any | None,
    device: torch.device,
    attention: str,
) -> LoadedModel:
    """The model with its card and fingerprints."""
    config = model.config.get_text_config(decoder=True)
    card = ModelCard(
        name=name if "/" not in name or not Path(name).exists() else Path(name).name,
        weights=weights,
        dtype=str(model.dtype).removeprefix("torch."),
        attention=attention,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        config_sha256=config_sha256(config),
        geometry=geometry(config),
    )
    return LoadedModel(
        model=model,
        config=config,
        tokenizer=tokenizer,
        card=card,
        device=device,
        dtype=model.dtype,
        # On the host there is no kernel that skips pairs behind a prefix: the bias is written out as a mask.
        kernel=_kernel(attention, device),
        cache_argument=_cache_argument(model),
        weights_sha256=weights_sha256(model),
        tokenizer_sha256=tokenizer_sha256(tokenizer),
    )


def _cache_argument(model: Any) -> str:
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def _kernel(attention: str, device: torch.device) -> Kernel:
    if attention == "eager":
        return "eager"
    return "causal" if attention == "causal" and device.type == "cuda" else "sdpa"


def _implementation(attention: str) -> str:
    return "pcache_causal" if attention == "causal" else attention


def geometry(config: Any) -> Geometry:
    """How many layers keep every token, a window, or a state only: read from the cache transformers builds."""
    from transformers import DynamicCache

    full = window = recurrent = 0
    width: int | None = None
    for layer in DynamicCache(config=config).layers:
        if hasattr(layer, "sliding_window"):
            window, width = window + 1, int(layer.sliding_window)
        elif hasattr(layer, "get_mask_sizes"):
            full += 1
        else:
            recurrent += 1
    return Geometry(full, window, width, recurrent)


def config_sha256(config: Any) -> str:
    """Fingerprint of the configuration without what varies by release, path or way of running."""
    ignored = {"transformers_version", "_name_or_path", "dtype", "torch_dtype", "architectures"}
    settings = {key: value for key, value in config.to_dict().items() if key not in ignored}
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()


def weights_sha256(model: Any) -> str:
    """Fingerprint over names, shapes and up to 1024 evenly spaced values of every tensor of the model.

    Reading all weights would take longer than the probe; another checkpoint, another quantisation or a
    merged adapter changes values everywhere and so changes the sample.
    """
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        values = tensor.detach().reshape(-1)
        stride = max(1, values.numel() // _SAMPLED_PER_TENSOR)
        sample = values[::stride].to("cpu", torch.float32).contiguous()
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(sample.numpy().tobytes())
    return digest.hexdigest()


def tokenizer_sha256(tokenizer: Any | None) -> str | None:
    """Fingerprint of the tokenizer's definition, None when the model has none."""
    if tokenizer is None:
        return None
    backend = getattr(tokenizer, "backend_tokenizer", None)
    text = backend.to_str() if backend is not None else json.dumps(tokenizer.get_vocab(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
