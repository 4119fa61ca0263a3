"""Restore layer by layer while the suffix is computed: layer i's tokens wait for layer i's KV only.

On CUDA the copies run on a stream of their own and each decoder layer waits for its event; on the host a
thread copies and each layer waits for its flag. A model whose state is updated in place (recurrent layers)
is restored whole before it starts, since its cache object takes copies of those states.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from analyzers.errors import CannotEvaluateError
from gpu_probe.kv_image import KvImage, KvLayout, rebuild
from gpu_probe.models import LoadedModel
from gpu_probe.tiers.memory import MemoryTier


class LayerwiseRestore:
    """Prepared once for a layout; `running()` starts the copies and yields the cache to compute with."""

    def __init__(self, loaded: LoadedModel, layout: KvLayout, tier: MemoryTier, target: torch.Tensor) -> None:
        if loaded.card.geometry.recurrent_layers:
            raise CannotEvaluateError("recurrent states are restored whole, so nothing can overlap")
        self._loaded = loaded
        self._tier = tier
        self._image = KvImage(layout, target)
        self._parts = layout.layer_slices()
        self._modules = decoder_layers(loaded.model, len(self._parts))

    @contextmanager
    def running(self) -> Iterator[Any]:
        """A cache whose layers arrive in order; every layer of the model waits for its own."""
        copying = self._on_a_stream() if self._loaded.device.type == "cuda" else self._on_a_thread()
        with copying as wait:
            hooks = [
                module.register_forward_pre_hook(lambda *_, layer=layer: wait(layer))
                for layer, module in enumerate(self._modules)
            ]
            try:
                yield rebuild(self._image, self._loaded.config)
            finally:
                for hook in hooks:
                    hook.remove()

    @contextmanager
    def _on_a_stream(self) -> Iterator[Any]:
        stream = torch.cuda.Stream(self._loaded.device)
        arrived = [torch.cuda.Event() for _ in self._parts]
        stream.wait_stream(torch.cuda.current_stream(self._loaded.device))
        with torch.cuda.stream(stream):
            for part, event in zip(self._parts, arrived, strict=True):
                self._tier.restore_part(part, self._image.buffer)
                event.record(stream)
        yield lambda layer: torch.cuda.current_stream(self._loaded.device).wait_event(arrived[layer])
        torch.cuda.current_stream(self._loaded.device).wait_stream(stream)

    @contextmanager
    def _on_a_thread(self) -> Iterator[Any]:
        arrived = [threading.Event() for _ in self._parts]

        def copy() -> None:
            for part, event in zip(self._parts, arrived, strict=True):
                self._tier.restore_part(part, self._image.buffer)
                event.set()

        thread = threading.Thread(target=copy, daemon=True)
        thread.start()
        yield lambda layer: arrived[layer].wait() and None
        thread.join()


def decoder_layers(model: Any, count: int) -> list[Any]:
    """The model's decoder layers in order. Raises CannotEvaluateError when they cannot be told."""
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return list(module)
    raise CannotEvaluateError(f"{type(model).__name__}: its {count} decoder layers were not found")
