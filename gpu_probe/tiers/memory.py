"""KV kept in memory: on the device itself, in pinned or in pageable host memory."""

from collections.abc import Sequence

import torch

from gpu_probe.kv_image import KvImage

_MOST_COPIES = 64


class MemoryTier:
    """One pool, allocated and touched before anything is timed, so that no copy pays for page faults; several
    copies of a small image rotate through it, so that none is read from a processor cache."""

    waits = False

    def __init__(self, name: str, device: torch.device, *, pinned: bool, pool_bytes: int) -> None:
        self.name = name
        self._device = device
        self._pinned = pinned
        self._pool_bytes = pool_bytes
        self._pool = torch.empty(0, dtype=torch.uint8)
        self._kept: list[torch.Tensor] = []
        self._turn = 0
        self._spread = True

    def store(self, image: KvImage) -> int:
        size = int(image.buffer.numel())
        if not self._kept or self._kept[0].numel() != size:
            self._divide(size)
        self._turn = (self._turn + 1) % len(self._kept)
        self._kept[self._turn].copy_(image.buffer)
        self._spread = False
        return size

    def prepare(self) -> None:
        """Take the next of the rotating copies; after a store, first give all of them the new image."""
        if not self._spread:
            for number, kept in enumerate(self._kept):
                if number != self._turn:
                    kept.copy_(self._kept[self._turn])
            self._spread = True
        self._turn = (self._turn + 1) % len(self._kept)

    def restore(self, into: torch.Tensor) -> None:
        into.copy_(self._kept[self._turn], non_blocking=self._pinned)

    def restore_part(self, part: slice, into: torch.Tensor) -> None:
        """Copy one part of the buffer, in the order of the current stream."""
        into[part].copy_(self._kept[self._turn][part], non_blocking=self._pinned)

    def close(self) -> None:
        self._kept = []
        self._pool = torch.empty(0, dtype=torch.uint8)

    def _divide(self, size: int) -> None:
        if self._pool.numel() < size:
            length = max(size, self._pool_bytes)
            self._pool = torch.zeros(length, dtype=torch.uint8, device=self._device, pin_memory=self._pinned)
        copies = max(1, min(_MOST_COPIES, self._pool.numel() // max(size, 1)))
        self._kept = [self._pool[number * size : (number + 1) * size] for number in range(copies)]


class PerLayerTier:
    """The same memory, copied layer by layer: what an engine that keeps layers apart does."""

    waits = False

    def __init__(self, memory: MemoryTier) -> None:
        self.name = f"{memory.name}:per-layer"
        self._memory = memory
        self._parts: Sequence[slice] = ()

    def store(self, image: KvImage) -> int:
        self._parts = [part for part in image.layout.layer_slices() if part.stop > part.start]
        return self._memory.store(image)

    def prepare(self) -> None:
        self._memory.prepare()

    def restore(self, into: torch.Tensor) -> None:
        for part in self._parts:
            self._memory.restore_part(part, into)

    def close(self) -> None:
        """The memory belongs to the tier it was given by."""
