"""What a place to keep KV does. All tiers move the same packed buffer; only where it waits differs."""

from typing import Protocol

import torch

from gpu_probe.kv_image import KvImage


class TierFailedError(Exception):
    """The tier stopped working (disk full, server gone); the probe goes on without it. One sentence."""


class Tier(Protocol):
    """Keeps one image at a time and brings it back into a buffer on the model's device."""

    name: str
    waits: bool
    """True when restoring waits on a disk or another process, so that only wall time means anything."""

    def store(self, image: KvImage) -> int:
        """Keep the image, replacing the last one; returns the bytes kept. Raises TierFailedError."""
        ...

    def prepare(self) -> None:
        """Untimed work before a restore, such as making the system forget its file cache."""
        ...

    def restore(self, into: torch.Tensor) -> None:
        """Write the kept bytes to `into`, a uint8 buffer of the image's length. Raises TierFailedError."""
        ...

    def close(self) -> None:
        """Free what was kept."""
        ...
