"""KV kept with one byte an element: fp8 (e4m3) or int8, in host memory, decoded on the device.

fp8 has one scale a tensor, int8 one scale a token and head. Recurrent states and counters stay as they are:
they are small, fixed, and errors in them do not fade.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from gpu_probe.kv_image import KvImage, TensorSpec, view
from gpu_probe.tiers.memory import MemoryTier

Encoding = Literal["fp8", "int8"]
_FP8_MAX = 448.0
_INT8_MAX = 127.0


@dataclass(frozen=True)
class _Encoded:
    """Where a tensor's codes and scales lie in the encoded buffer; `scales` None when it is kept as it is."""

    spec: TensorSpec
    codes: TensorSpec
    scales: TensorSpec | None


class QuantisedTier:
    """Wraps a memory tier, which it does not own: encodes on the device, keeps the codes, decodes on the way back."""

    waits = False

    def __init__(self, memory: MemoryTier, encoding: Encoding) -> None:
        self.name = f"{memory.name}:{encoding}"
        self._memory = memory
        self._encode, self._decode = _CODECS[encoding]
        self._plan: list[_Encoded] = []
        self._arrived = torch.empty(0, dtype=torch.uint8)
        self._encoding = encoding

    def store(self, image: KvImage) -> int:
        self._plan, size = _plan(image, self._encoding)
        encoded = torch.zeros(size, dtype=torch.uint8, device=image.buffer.device)
        for part in self._plan:
            source = view(image.buffer, part.spec)
            if part.scales is None:
                view(encoded, part.codes).copy_(source)
            else:
                codes, scales = self._encode(source)
                view(encoded, part.codes).copy_(codes)
                view(encoded, part.scales).copy_(scales)
        if self._arrived.numel() != size:
            self._arrived = torch.zeros_like(encoded)
        return self._memory.store(KvImage(image.layout, encoded))

    def prepare(self) -> None:
        self._memory.prepare()

    def restore(self, into: torch.Tensor) -> None:
        self._memory.restore(self._arrived)
        for part in self._plan:
            target = view(into, part.spec)
            codes = view(self._arrived, part.codes)
            if part.scales is None:
                target.copy_(codes)
            else:
                target.copy_(self._decode(codes, view(self._arrived, part.scales)).to(target.dtype))

    def close(self) -> None:
        self._arrived = torch.empty(0, dtype=torch.uint8)


def _encode_fp8(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = tensor.float().abs().amax().clamp(min=1e-12) / _FP8_MAX
    return (tensor.float() / scale).to(torch.float8_e4m3fn), scale.reshape(1)


def _encode_int8(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = tensor.float().abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / _INT8_MAX
    return (tensor.float() / scale).round().to(torch.int8), scale


def _decode(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return codes.float() * scales


_Encode = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
_Decode = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
_CODECS: dict[str, tuple[_Encode, _Decode]] = {
    "fp8": (_encode_fp8, _decode),
    "int8": (_encode_int8, _decode),
}


def _plan(image: KvImage, encoding: Encoding) -> tuple[list[_Encoded], int]:
    """Codes and scales of every tensor one after the other, each aligned to 16 bytes, and the total size."""
    plan, offset = [], 0

    def place(spec: TensorSpec, dtype: str, shape: tuple[int, ...], width: int) -> TensorSpec:
        nonlocal offset
        count = 1
        for extent in shape:
            count *= extent
        placed = TensorSpec(spec.layer, spec.attribute, spec.index, dtype, shape, offset, count * width)
        offset += -(-count * width // 16) * 16
        return placed

    for spec in image.layout.tensors:
        if spec.attribute not in ("keys", "values") or spec.dtype not in ("float32", "bfloat16", "float16"):
            width = spec.nbytes // max(1, view(image.buffer, spec).numel())
            plan.append(_Encoded(spec, place(spec, spec.dtype, spec.shape, width), None))
            continue
        code = "float8_e4m3fn" if encoding == "fp8" else "int8"
        scales = (1,) if encoding == "fp8" else (*spec.shape[:-1], 1)
        codes = place(spec, code, spec.shape, 1)
        plan.append(_Encoded(spec, codes, place(spec, "float32", scales, 4)))
    return plan, offset
