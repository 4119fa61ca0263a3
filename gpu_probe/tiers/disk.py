"""KV kept as a file on a local disk, mapped into memory when read."""

import errno
import os
from pathlib import Path

import torch

from analyzers.errors import InputError
from gpu_probe.kv_file import Fingerprint, read_kv, write_kv
from gpu_probe.kv_image import KvImage
from gpu_probe.tiers.base import TierFailedError


class DiskTier:
    """`cold` makes the system forget the file before each restore; otherwise it comes from the file cache."""

    waits = True

    def __init__(self, folder: Path, owner: Fingerprint, *, cold: bool) -> None:
        self.name = "disk-cold" if cold else "disk-warm"
        self._path = folder / f"{self.name}.safetensors"
        self._owner = owner
        self._cold = cold
        self._staging = torch.empty(0, dtype=torch.uint8)

    def store(self, image: KvImage) -> int:
        on_host = KvImage(image.layout, image.buffer.to("cpu"))
        if self._staging.numel() != on_host.buffer.numel():
            self._staging = torch.zeros_like(on_host.buffer)
        try:
            return write_kv(self._path, on_host, self._owner, hash_payload=False)
        except OSError as problem:
            raise TierFailedError(f"tier {self.name}: {_reason(problem)}") from problem

    def prepare(self) -> None:
        if not self._cold:
            return
        with self._path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def restore(self, into: torch.Tensor) -> None:
        try:
            image = read_kv(self._path, self._owner, self._staging, check_payload=False)
        except (OSError, InputError) as problem:
            raise TierFailedError(f"tier {self.name}: {problem}") from problem
        into.copy_(image.buffer)

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        self._staging = torch.empty(0, dtype=torch.uint8)


def _reason(problem: OSError) -> str:
    if problem.errno == errno.ENOSPC or "No space left" in str(problem):
        return "the disk is full; name another place with --disk"
    return str(problem)
