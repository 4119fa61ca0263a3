"""The KV state of a prefix as one packed buffer and a plain description, apart from transformers' objects.

A cache of transformers is a list of layer objects; everything a layer knows is in its instance attributes.
`capture` walks them all: tensors go into the buffer, plain values into the description, and an attribute
of a kind it does not know is refused, so that nothing a future release adds can be dropped in silence.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch

from analyzers.errors import CannotEvaluateError, InputError

_ALIGNMENT = 256
# Set by a layer on its first update; a fresh layer does not have them yet.
_SET_LATER = {"device", "dtype"}
# These states are updated in place by later tokens, so a kept one must never be handed out itself.
_IN_PLACE = ("conv_states", "recurrent_states")

Scalar = bool | int | float | str | None | list[Any]


class KvMismatchError(InputError):
    """Kept KV that does not belong to this model, prefix or release; names the field that differs."""

    def __init__(self, where: str, field: str, found: object, expected: object) -> None:
        super().__init__(f"{where}: '{field}' differs: found {found}, expected {expected}")
        self.field = field


@dataclass(frozen=True)
class TensorSpec:
    """Where one tensor of the state lies: `attribute` of layer `layer`, entry `index` if it is a dict."""

    layer: int
    attribute: str
    index: int | None
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int

    @property
    def key(self) -> str:
        return f"{self.layer}.{self.attribute}" + ("" if self.index is None else f"/{self.index}")


@dataclass(frozen=True)
class LayerSpec:
    """A layer's class and its plain attributes, each as a tagged JSON value (see `_plain`)."""

    class_name: str
    plain: dict[str, Scalar]


@dataclass(frozen=True)
class KvLayout:
    """What is needed besides the bytes to build the cache again."""

    layers: tuple[LayerSpec, ...]
    tensors: tuple[TensorSpec, ...]
    buffer_bytes: int

    @property
    def nbytes(self) -> int:
        """Bytes of state, without the padding between tensors."""
        return sum(tensor.nbytes for tensor in self.tensors)

    def layer_slices(self) -> list[slice]:
        """The part of the buffer each layer occupies, in layer order; empty slices for layers without state."""
        starts = [self.buffer_bytes] * (len(self.layers) + 1)
        for spec in reversed(self.tensors):
            starts[spec.layer] = spec.offset
        for layer in reversed(range(len(self.layers))):
            starts[layer] = min(starts[layer], starts[layer + 1])
        return [slice(starts[layer], starts[layer + 1]) for layer in range(len(self.layers))]


@dataclass(frozen=True)
class KvImage:
    """A layout and its bytes: a uint8 tensor of `layout.buffer_bytes` on any device."""

    layout: KvLayout
    buffer: torch.Tensor

    def tensors(self) -> dict[str, torch.Tensor]:
        """Views into the buffer by key; writing to one writes to the image."""
        return {spec.key: view(self.buffer, spec) for spec in self.layout.tensors}

    def clone(self) -> "KvImage":
        return replace(self, buffer=self.buffer.clone())


def view(buffer: torch.Tensor, spec: TensorSpec) -> torch.Tensor:
    """The tensor of that spec as a view into the buffer."""
    flat = buffer[spec.offset : spec.offset + spec.nbytes]
    return flat.view(getattr(torch, spec.dtype)).view(spec.shape)


def capture(cache: Any) -> KvImage:
    """The whole state of a DynamicCache, copied into one buffer on the cache's device.

    Raises CannotEvaluateError for a cache class or an attribute that is not understood.
    """
    if type(cache).__name__ != "DynamicCache":
        raise CannotEvaluateError(
            f"cannot keep the KV of a {type(cache).__name__}; only DynamicCache is known"
        )
    layers, specs, sources, offset = [], [], [], 0
    for number, layer in enumerate(cache.layers):
        plain: dict[str, Scalar] = {}
        for attribute, value in sorted(vars(layer).items()):
            for index, tensor in _tensors(value):
                size = tensor.numel() * tensor.element_size()
                name = str(tensor.dtype).removeprefix("torch.")
                specs.append(TensorSpec(number, attribute, index, name, tuple(tensor.shape), offset, size))
                sources.append(tensor)
                offset += -(-size // _ALIGNMENT) * _ALIGNMENT
            if attribute != "device":
                plain[attribute] = _plain(value, f"{type(layer).__name__}.{attribute}")
        layers.append(LayerSpec(type(layer).__name__, plain))
    device = sources[0].device if sources else torch.device("cpu")
    buffer = torch.zeros(offset, dtype=torch.uint8, device=device)
    for spec, source in zip(specs, sources, strict=True):
        view(buffer, spec).copy_(source)
    return KvImage(KvLayout(tuple(layers), tuple(specs), offset), buffer)


def _tensors(value: Any) -> list[tuple[int | None, torch.Tensor]]:
    """The state tensors in an attribute: itself, or the entries of a dict; counters are not state."""
    if isinstance(value, torch.Tensor) and not _is_counter(value):
        return [(None, value)]
    if isinstance(value, dict):
        return [(index, entry) for index, entry in value.items() if isinstance(entry, torch.Tensor)]
    return []


def _is_counter(tensor: torch.Tensor) -> bool:
    return tensor.dim() == 0 and not tensor.is_floating_point()


def _plain(value: Any, where: str) -> Scalar:
    """A JSON value for a plain attribute: itself, or ["kind", content] for what JSON cannot say."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.dtype):
        return ["dtype", str(value).removeprefix("torch.")]
    if isinstance(value, torch.Tensor):
        return ["counter", int(value)] if _is_counter(value) else ["tensor"]
    if isinstance(value, dict) and all(isinstance(key, int) for key in value):
        return ["dict", [[key, _plain(entry, where)] for key, entry in value.items()]]
    raise CannotEvaluateError(
        f"{where} is a {type(value).__name__}, which pcache cannot keep; this release of transformers is newer "
        "than this pcache knows"
    )


def rebuild(image: KvImage, config: Any, where: str = "kept KV") -> Any:
    """A DynamicCache holding the image's state; its tensors are views of the buffer, except states that later
    tokens update in place, which are copied. Raises KvMismatchError when the layers are not those of `config`.
    """
    from transformers import DynamicCache

    cache = DynamicCache(config=config)
    check_layout(image.layout, cache, where)
    tensors = image.tensors()
    for number, (layer, spec) in enumerate(zip(cache.layers, image.layout.layers, strict=True)):
        for attribute, value in spec.plain.items():
            restored = _restored(value, f"{number}.{attribute}", tensors, image.buffer.device)
            setattr(layer, attribute, restored)
        if hasattr(layer, "device") or "is_initialized" in spec.plain:
            layer.device = image.buffer.device
    return cache


def check_layout(layout: KvLayout, cache: Any, where: str) -> None:
    """Raise KvMismatchError unless the layout's layers are the cache's: count, classes and attributes."""
    if len(layout.layers) != len(cache.layers):
        raise KvMismatchError(where, "layers", len(layout.layers), len(cache.layers))
    for number, (layer, spec) in enumerate(zip(cache.layers, layout.layers, strict=True)):
        if type(layer).__name__ != spec.class_name:
            raise KvMismatchError(where, f"layer {number} class", spec.class_name, type(layer).__name__)
        known, found = set(vars(layer)) - _SET_LATER, set(spec.plain) - _SET_LATER
        if known != found:
            raise KvMismatchError(where, f"layer {number} attributes", sorted(found), sorted(known))


def _restored(value: Scalar, key: str, tensors: dict[str, torch.Tensor], device: torch.device) -> Any:
    if not isinstance(value, list):
        return value
    kind = value[0]
    if kind == "dtype":
        return getattr(torch, value[1])
    if kind == "counter":
        return torch.tensor(value[1], dtype=torch.long, device=device)
    if kind == "tensor":
        tensor = tensors[key]
        return tensor.clone() if key.split(".", 1)[1].startswith(_IN_PLACE) else tensor
    return {index: _restored(entry, f"{key}/{index}", tensors, device) for index, entry in value[1]}
