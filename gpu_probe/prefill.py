"""Measure T(new, cached) over a grid: interleaved rounds in shuffled order, fresh ids, until sure or out of time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from gpu_probe.forward import empty_cache, prefill, random_ids
from gpu_probe.kv_image import KvImage, capture, rebuild
from gpu_probe.memory import PeakMemory
from gpu_probe.models import LoadedModel
from gpu_probe.timing import (
    CONTENDED,
    Clock,
    Sample,
    compute_clock,
    estimate,
    noise,
    relative_half_width,
    spread,
)
from simulators.calibration import PrefillCell

_SHORTEST = 16
_MEANINGFUL_ROUNDS = 3
_TRIES = 3
_TRY_SHARE = 0.01
# Not in the grid, but kept for the restore stage: break-even lengths are often this short.
_SHORT_PREFIXES = (16, 64)


@dataclass(frozen=True)
class Cell:
    """One point of the grid: `new` tokens behind `cached` ones."""

    new: int
    cached: int
    holdout: bool = False


@dataclass
class Measured:
    """What a cell has so far; `cold` is the first run of that shape, `peak_bytes` its memory."""

    cold: Sample
    peak_bytes: int | None
    samples: list[Sample] = field(default_factory=list)


@dataclass
class Sweep:
    """A sweep under way: readable at any moment, so that an interruption keeps what was measured."""

    loaded: LoadedModel
    clock: Clock
    generator: torch.Generator
    prefixes: dict[int, KvImage] = field(default_factory=dict)
    cells: dict[Cell, Measured] = field(default_factory=dict)

    def noise(self) -> float | None:
        """Wall ÷ CPU time over all samples, None on CUDA."""
        if self.clock.device.type == "cuda":
            return None
        return noise([sample for measured in self.cells.values() for sample in measured.samples])

    @property
    def contended(self) -> bool:
        return (self.noise() or 1.0) > CONTENDED

    def results(self) -> list[PrefillCell]:
        """The cells with at least one sample, in grid order."""
        return [
            PrefillCell(
                new=cell.new,
                cached=cell.cached,
                holdout=cell.holdout,
                seconds=[sample.seconds for sample in measured.samples],
                estimate_s=estimate([sample.seconds for sample in measured.samples], self.contended),
                cold_s=measured.cold.seconds,
                wall_s=[sample.wall_s for sample in measured.samples],
                peak_bytes=measured.peak_bytes,
            )
            for cell, measured in sorted(self.cells.items(), key=lambda item: (item[0].cached, item[0].new))
            if measured.samples
        ]

    def spread(self) -> float:
        """How far samples of one cell scatter: the median over the cells (`timing.spread`)."""
        return float(np.median([spread(cell.seconds) for cell in self.results()]))

    def widest(self) -> float:
        """The largest relative half-width over the cells."""
        widths = [
            relative_half_width([sample.seconds for sample in measured.samples], self.contended)
            for measured in self.cells.values()
        ]
        return max(widths, default=float("inf"))


def plan_cells(longest: int) -> list[Cell]:
    """The grid up to `longest` tokens in all: powers of two from nothing, short and long suffixes behind three
    prefixes, and a hold-out of about a quarter, off the grid and with both longest corners in it."""
    cells = []
    new = _SHORTEST
    while new <= longest // 2:
        cells.append(Cell(new, 0))
        new *= 2
    cells.append(Cell(longest * 3 // 4, 0))
    prefixes = sorted({longest // 8, longest // 4, longest // 2, longest * 3 // 4})
    suffixes = sorted({_SHORTEST, longest // 32, longest // 8, longest // 4})
    for cached in prefixes:
        cells.extend(
            Cell(new, cached) for new in suffixes if new >= _SHORTEST and new + cached <= longest * 7 // 8
        )
    holdout = [
        Cell(longest, 0, True),
        Cell(longest * 3 // 16, 0, True),
        Cell(longest * 5 // 8, 0, True),
        Cell(max(_SHORTEST, longest // 16), longest // 8, True),
        Cell(longest * 3 // 16, longest // 4, True),
        Cell(longest * 3 // 16, longest // 2, True),
        Cell(longest // 8, longest * 7 // 8, True),
    ]
    return cells + [cell for cell in holdout if replace(cell, holdout=False) not in cells]


def start_sweep(loaded: LoadedModel, threads: int, seed: int) -> Sweep:
    """A sweep with nothing measured."""
    return Sweep(loaded, compute_clock(loaded.device, threads), torch.Generator().manual_seed(seed))


def affordable_length(sweep: Sweep, longest: int, seconds: float) -> int:
    """The longest length, doubling from 16, whose grid can be run `seconds` long with enough rounds to mean
    something. Runs each length four times uncached (the first is the warm-up of that length) and goes by the
    fastest, so that one pause of the machine does not end the search."""
    length, before = _SHORTEST, 0.0
    while True:
        with PeakMemory(sweep.loaded.device) as peak:
            cold = _run(sweep, Cell(length, 0))
        warm = [_run(sweep, Cell(length, 0))]
        while len(warm) < _TRIES and warm[0].wall_s < seconds * _TRY_SHARE:
            warm.append(_run(sweep, Cell(length, 0)))
        sweep.cells[Cell(length, 0)] = Measured(cold, peak.device_bytes, warm)
        cost = min(sample.wall_s for sample in warm)
        # Twice the tokens cost two to four times as much; a round of a grid costs, as measured on several shapes,
        # about five runs of its longest prompt, and the prefixes and the warm-up two rounds more.
        growth = min(max(cost / before, 2.0), 4.0) if before else 2.0
        if length * 2 > longest or 5 * cost * growth * (_MEANINGFUL_ROUNDS + 2) > seconds:
            return length
        length, before = length * 2, cost


def warm_up(sweep: Sweep, cells: Sequence[Cell]) -> None:
    """Compute the prefixes and run every cell not seen yet once, recorded as `cold`, smallest first."""
    for cached in sorted({*_SHORT_PREFIXES, *(cell.cached for cell in cells)} - {0}):
        cache = empty_cache(sweep.loaded)
        ids = random_ids(sweep.loaded, cached, sweep.generator)
        prefill(sweep.loaded, ids, cache, cached=0)
        sweep.prefixes[cached] = capture(cache)
    longest = Cell(max(cell.new + cell.cached for cell in cells), 0)
    if longest in sweep.cells:
        sweep.cells[replace(longest, holdout=True)] = sweep.cells.pop(longest)
    for cell in sorted(set(cells) - set(sweep.cells), key=lambda cell: cell.new + cell.cached):
        with PeakMemory(sweep.loaded.device) as peak:
            cold = _run(sweep, cell)
        sweep.cells[cell] = Measured(cold, peak.device_bytes)


def run_rounds(
    sweep: Sweep, deadline: float, enough: Callable[[int], bool] = lambda _: False, seed: int = 0
) -> int:
    """Rounds over all unsettled cells in shuffled order until every cell is settled, `enough(rounds)` says so
    after a round, or `deadline` (by time.perf_counter) has passed; every cell gets at least one sample.
    Returns the rounds run.

    A cell is settled when its half-width is below 2 % on CUDA, 5 % on the host, with at least 5 samples.
    """
    target = 0.02 if sweep.clock.device.type == "cuda" else 0.05
    random = np.random.default_rng(seed)
    rounds = 0
    while True:
        open_cells = [
            cell
            for cell, measured in sweep.cells.items()
            if relative_half_width([sample.seconds for sample in measured.samples], sweep.contended) > target
        ]
        if not open_cells:
            return rounds
        for index in random.permutation(len(open_cells)):
            measured = sweep.cells[open_cells[index]]
            if not measured.samples or time.perf_counter() <= deadline:
                measured.samples.append(_run(sweep, open_cells[index]))
        rounds += 1
        if enough(rounds) or time.perf_counter() > deadline:
            return rounds


def _run(sweep: Sweep, cell: Cell) -> Sample:
    """One timed prefill of fresh random ids; building the cache object from the kept prefix is not timed."""
    ids = random_ids(sweep.loaded, cell.new, sweep.generator)
    if cell.cached:
        cache = rebuild(sweep.prefixes[cell.cached], sweep.loaded.config)
    else:
        cache = empty_cache(sweep.loaded)
    return sweep.clock.time(lambda: prefill(sweep.loaded, ids, cache, cached=cell.cached))
