"""Which clock, how often, and which statistic: a sample is one run of an action, an estimate is of a cell."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Literal

import numpy as np
import torch

ClockName = Literal["CUDA events", "process CPU time", "wall clock"]
CONTENDED = 1.2
"""Wall ÷ CPU time above which other work on the machine is taking turns with ours."""


@dataclass(frozen=True)
class Sample:
    """One run. `seconds` is by the chosen clock; `wall_s` always includes waiting for the device."""

    seconds: float
    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Clock:
    """Times actions. With one thread on the host, process CPU time is what wall time would be on an idle
    machine, so it is used there; on CUDA, events around the action; otherwise the wall."""

    name: ClockName
    device: torch.device

    def time(self, action: Callable[[], object]) -> Sample:
        """Run the action once and wait for the device."""
        cuda = self.device.type == "cuda"
        if cuda:
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize(self.device)
        wall, cpu = time.perf_counter(), time.process_time()
        if cuda:
            begin.record()
        action()
        if cuda:
            end.record()
            torch.cuda.synchronize(self.device)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if self.name == "CUDA events":
            seconds = begin.elapsed_time(end) / 1e3
        else:
            seconds = cpu if self.name == "process CPU time" else wall
        return Sample(seconds, wall, cpu)


def compute_clock(device: torch.device, threads: int) -> Clock:
    """The clock for forward passes."""
    if device.type == "cuda":
        return Clock("CUDA events", device)
    return Clock("process CPU time" if threads == 1 else "wall clock", device)


def copy_clock(device: torch.device, threads: int) -> Clock:
    """The clock for copies in memory: the wall on CUDA, where a copy ends when the host knows it has."""
    if device.type == "cuda":
        return Clock("wall clock", device)
    return compute_clock(device, threads)


def wall_clock(device: torch.device) -> Clock:
    """The clock for what waits on a disk, a network or another process."""
    return Clock("wall clock", device)


def noise(samples: Sequence[Sample]) -> float | None:
    """Wall ÷ CPU time over all samples; None when no CPU time was taken (the work was the device's)."""
    cpu = sum(sample.cpu_s for sample in samples)
    return sum(sample.wall_s for sample in samples) / cpu if cpu > 0 else None


def estimate(seconds: Sequence[float], contended: bool) -> float:
    """The cell's time: the median, or the fastest sample when the machine is contended (interference only
    ever adds time, so the fastest run is the least disturbed)."""
    return float(np.min(seconds)) if contended else float(np.median(seconds))


def relative_half_width(seconds: Sequence[float], contended: bool) -> float:
    """How uncertain the estimate is, as a fraction; infinite below 5 samples.

    The 94 % interval of the median by order statistics, or, for the minimum, how far the third fastest
    sample lies above the fastest.
    """
    if len(seconds) < 5:
        return float("inf")
    ordered = np.sort(np.asarray(seconds, dtype=np.float64))
    if contended:
        return float((ordered[2] - ordered[0]) / (2 * ordered[0]))
    rank = _median_rank(len(ordered))
    return float((ordered[-1 - rank] - ordered[rank]) / (2 * np.median(ordered)))


def spread(seconds: Sequence[float]) -> float:
    """Half the distance between the lower and upper quartile, as a fraction of the median; 0.0 for one sample."""
    low, middle, high = np.quantile(np.asarray(seconds, dtype=np.float64), [0.25, 0.5, 0.75])
    return float((high - low) / (2 * middle))


def _median_rank(count: int) -> int:
    """The largest r such that the median lies between the r-th lowest and r-th highest of `count` samples
    (counted from 0) with at least 93 % probability."""
    missed, rank = 0.0, 0
    while True:
        missed += 2 * comb(count, rank) / 2**count
        if missed > 0.07 or rank >= (count - 1) // 2:
            return max(rank - 1, 0) if missed > 0.07 else rank
        rank += 1
