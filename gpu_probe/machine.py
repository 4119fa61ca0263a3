"""The machine the numbers come from, and rates no model on it can exceed."""

import os
import platform
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import psutil
import torch

from simulators.calibration import Machine

_DEFAULT_CACHE_BYTES = 32 * 2**20
_LIBRARIES = ("torch", "transformers", "safetensors", "numpy", "redis")


def describe_machine(device: torch.device, threads: int, clock: str, ceilings: dict[str, float]) -> Machine:
    """The machine before anything ran; `noise` is filled in afterwards."""
    return Machine(
        name=f"{platform.system()} {platform.machine()}, {processor_name()}",
        device=device.type,
        device_name=torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name(),
        cores=os.cpu_count() or 1,
        threads=threads,
        memory_bytes=int(psutil.virtual_memory().total),
        clock=clock,
        noise=None,
        ceilings=ceilings,
    )


def processor_name() -> str:
    """The processor as the system calls it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return platform.processor() or "unknown processor"
    return platform.processor() or "unknown processor"


def last_level_cache_bytes() -> int:
    """Size of the processor's largest cache; 32 MiB when the system does not tell."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        if text.endswith("K") and text[:-1].isdigit():
            sizes.append(int(text[:-1]) * 1024)
    return max(sizes, default=_DEFAULT_CACHE_BYTES)


def lies_in_memory(folder: Path) -> bool:
    """True when the folder's file system keeps its files in memory (tmpfs), by the system's mount table."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return False
    place = folder.resolve()
    holding = [mount for mount in mounts if place.is_relative_to(mount[1])]
    return bool(holding) and max(holding, key=lambda mount: len(mount[1]))[2] in ("tmpfs", "ramfs")


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that decide the numbers."""
    found = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    if torch.version.cuda:
        found["cuda"] = str(torch.version.cuda)
    return found


def measure_ceilings(device: torch.device, dtype: torch.dtype) -> dict[str, float]:
    """Matrix multiplication rate (FLOP/s) and copy rates (bytes/s), each the best of five, on random data
    (zeros draw less power and run faster than any model can). A few seconds on CUDA, well under one on the host."""
    cuda = device.type == "cuda"
    width, copied = (8192, 2**30) if cuda else (512, 2**24)
    generator = torch.Generator(device).manual_seed(0)

    def matrix() -> torch.Tensor:
        return torch.randn(width, width, dtype=dtype, device=device, generator=generator)

    rates = {"matmul_flop_per_s": 2.0 * width**3 / _fastest(_product(matrix(), matrix()), device)}
    names = {"device_copy": (device, False), "pageable_copy": (torch.device("cpu"), False)}
    if cuda:
        names["pinned_copy"] = (torch.device("cpu"), True)
    target = torch.ones(copied, dtype=torch.uint8, device=device)
    for name, (place, pinned) in names.items():
        source = torch.ones(copied, dtype=torch.uint8, device=place, pin_memory=pinned)
        rates[f"{name}_bytes_per_s"] = copied / _fastest(_copy(target, source, pinned), device)
    return rates


def _product(left: torch.Tensor, right: torch.Tensor) -> Callable[[], object]:
    return lambda: left @ right


def _copy(target: torch.Tensor, source: torch.Tensor, pinned: bool) -> Callable[[], object]:
    return lambda: target.copy_(source, non_blocking=pinned)


def _fastest(action: Callable[[], object], device: torch.device) -> float:
    seconds = []
    for _ in range(6):
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        began = time.perf_counter()
        action()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])
