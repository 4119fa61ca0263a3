"""Memory: the peak while something runs, and the bytes of KV a token keeps, counted from tensors."""

import ctypes
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import psutil
import torch

from analyzers.errors import CannotEvaluateError
from gpu_probe.kv_image import KvLayout
from simulators.calibration import KvBytes

_OUT_OF_MEMORY = "out of memory; take a smaller --model or --max-tokens, or --dtype bfloat16"
_POLL_S = 0.005
_AGREEMENT = 0.001


class PeakMemory:
    """Context manager: `device_bytes` is the peak of torch's allocator on CUDA, None on the host."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.device_bytes: int | None = None

    def __enter__(self) -> "PeakMemory":
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._device.type == "cuda":
            self.device_bytes = int(torch.cuda.max_memory_allocated(self._device))


class PeakResident(PeakMemory):
    """As PeakMemory, and on the host the highest resident size of this process, sampled by a thread; free
    memory is given back to the system first. For runs that are not timed: the thread costs time."""

    def __enter__(self) -> "PeakResident":
        super().__enter__()
        self.resident_bytes = 0
        _return_free_memory()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        super().__exit__(kind, error, trace)

    def _watch(self) -> None:
        process = psutil.Process()
        while True:
            self.resident_bytes = max(self.resident_bytes, process.memory_info().rss)
            if self._done.wait(_POLL_S):
                return


def _return_free_memory() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@dataclass(frozen=True)
class KvSize:
    """The state of one prefix length, as counted."""

    tokens: int
    layout: KvLayout


def kv_bytes(sizes: Sequence[KvSize], config: Any) -> KvBytes:
    """Bytes a token, from the state's tensors at three or more lengths, layer by layer.

    A layer grows with every token, up to a window, or not at all; its kind is told from the attributes it
    keeps, its slope from the counted bytes. Raises ValueError when the counted bytes do not lie on the
    resulting line within 0.1 %.
    """
    shortest, longest = min(sizes, key=_tokens), max(sizes, key=_tokens)
    window = next(
        (spec.plain["sliding_window"] for spec in longest.layout.layers if "sliding_window" in spec.plain),
        None,
    )
    width = int(window) if isinstance(window, int) else None
    full = windowed = fixed = 0.0
    for number, spec in enumerate(longest.layout.layers):
        low, high = _layer_bytes(shortest, number), _layer_bytes(longest, number)
        if "sliding_window" in spec.plain and width is not None:
            windowed += high / min(longest.tokens, width - 1)
        else:
            slope = (high - low) / (longest.tokens - shortest.tokens)
            full += slope
            fixed += high - slope * longest.tokens
    formula = formula_bytes_per_token(config, longest.layout)
    measured = KvBytes(
        per_token_full=full,
        per_token_window=windowed,
        fixed=fixed,
        window=width,
        formula_per_token=formula,
        formula_agrees=None if formula is None else abs(full + windowed - formula) <= _AGREEMENT * formula,
    )
    for size in sizes:
        kept = size.tokens if width is None else min(size.tokens, width - 1)
        predicted = full * size.tokens + windowed * kept + fixed
        if abs(predicted - size.layout.nbytes) > _AGREEMENT * size.layout.nbytes:
            raise ValueError(
                f"the state of {size.tokens} tokens has {size.layout.nbytes} bytes, not {predicted:.0f}: "
                "it does not grow by a fixed amount a token"
            )
    return measured


def formula_bytes_per_token(config: Any, layout: KvLayout) -> float | None:
    """Bytes a token by the configuration: 2·KV heads·head width a layer, or latent + rotary width for
    multi-head latent attention; None for layers the formula does not cover."""
    width = {"float32": 4, "bfloat16": 2, "float16": 2}
    attending = [number for number, spec in enumerate(layout.layers) if spec.plain.get("keys") == ["tensor"]]
    if not attending:
        return None
    element = width.get(next(spec.dtype for spec in layout.tensors if spec.attribute == "keys"))
    if element is None:
        return None
    latent = getattr(config, "kv_lora_rank", None)
    if latent:
        return float(len(attending) * (latent + config.qk_rope_head_dim) * element)
    heads = config.num_key_value_heads
    head_width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return float(len(attending) * 2 * heads * head_width * element)


def _tokens(size: KvSize) -> int:
    return size.tokens


def _layer_bytes(size: KvSize, number: int) -> int:
    return sum(spec.nbytes for spec in size.layout.tensors if spec.layer == number)


@contextmanager
def out_of_memory_as_a_sentence() -> Iterator[None]:
    """Running out of memory, whatever torch calls it, becomes a CannotEvaluateError."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as problem:
        raise CannotEvaluateError(_OUT_OF_MEMORY) from problem
    except RuntimeError as problem:
        if "can't allocate memory" not in str(problem):
            raise
        raise CannotEvaluateError(_OUT_OF_MEMORY) from problem
