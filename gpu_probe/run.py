"""The whole probe: verify, prefill, restore, fit, in the time budget, keeping what was measured whatever happens."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from analyzers.errors import CannotEvaluateError, UsageError
from gpu_probe import machine
from gpu_probe.fit import fit_prefill
from gpu_probe.kv_file import fingerprint, read_kv, write_kv
from gpu_probe.kv_image import KvImage
from gpu_probe.memory import KvSize, kv_bytes, out_of_memory_as_a_sentence
from gpu_probe.models import LoadedModel, ModelRequest, load_model
from gpu_probe.partial import Partial, finish
from gpu_probe.prefill import Sweep, affordable_length, plan_cells, run_rounds, start_sweep, warm_up
from gpu_probe.restore import TierPlan, make_tiers, measure_lossy, measure_overlap, measure_tiers
from gpu_probe.tiers.redis import connect
from gpu_probe.verify import exam_ids, examine, failed, verify
from simulators.calibration import KvBytes
from simulators.latency import Calibration

_SWEEP_SHARE = 0.7
_FEWEST_ROUNDS = 5
_STEADY = 0.005
# The rest is for the last copy under way, the fit and writing the files.
_USED_SHARE = 0.96
SHORTEST_GRID = 128
Progress = Callable[[str], None]


@dataclass(frozen=True)
class ProbeOptions:
    """What to probe. `budget_s` is for the whole run, from loading the model on; `longest` None chooses the
    longest prompt by device (2048 on the host, 32768 on CUDA), and the budget may shorten it."""

    request: ModelRequest
    budget_s: float = 60.0
    longest: int | None = None
    threads: int = 1
    redis_url: str | None = None
    disk_folder: Path | None = None


def run_probe(options: ProbeOptions, partial: Partial, progress: Progress = lambda _: None) -> Calibration:
    """Run all stages and fit. `partial` is filled as they go: after any exception, `finish(partial)` gives the
    calibration of what was measured. Raises UsageError, InputError or CannotEvaluateError."""
    began = time.perf_counter()
    deadline = began + options.budget_s * _USED_SHARE
    redis_client = connect(options.redis_url) if options.redis_url else None
    with out_of_memory_as_a_sentence(), _threads(options.threads), _scratch(options.disk_folder) as folder:
        progress("loading the model")
        loaded = load_model(options.request)
        if options.longest is not None and options.longest < SHORTEST_GRID:
            raise UsageError(f"--max-tokens: at least {SHORTEST_GRID} are needed to tell the costs apart")
        ceilings = machine.measure_ceilings(loaded.device, loaded.dtype)
        sweep = start_sweep(loaded, options.threads, options.request.seed)
        partial.sweep = sweep
        partial.machine = machine.describe_machine(loaded.device, options.threads, sweep.clock.name, ceilings)
        progress("verifying restored KV")
        ids = exam_ids(loaded, options.request.seed)
        _verify(partial, loaded, ids, folder, options.request.seed)
        progress("measuring prefill")
        _measure_prefill(partial, options, sweep, deadline, progress)
        progress("measuring restore")
        plan = TierPlan(folder, redis_client, options.threads, machine.last_level_cache_bytes())
        _measure_restore(partial, sweep, ids, plan, deadline, progress)
        partial.complete = True
        return finish(partial)


def _verify(partial: Partial, loaded: LoadedModel, ids: torch.Tensor, folder: Path, seed: int) -> None:
    path = folder / "exam.safetensors"

    def through_a_file(image: KvImage) -> KvImage:
        owner = fingerprint(loaded, torch.zeros(1))
        write_kv(path, KvImage(image.layout, image.buffer.to("cpu")), owner)
        back = read_kv(path, owner)
        return KvImage(back.layout, back.buffer.to(image.buffer.device))

    partial.checks += verify(loaded, through_a_file, ids, seed)
    path.unlink(missing_ok=True)
    for check in failed(partial.checks):
        partial.warnings.append(
            f"check failed: {check.name} (error {check.error}, allowed {check.tolerance})"
        )


def _measure_prefill(
    partial: Partial, options: ProbeOptions, sweep: Sweep, deadline: float, progress: Progress
) -> None:
    loaded = sweep.loaded
    longest = options.longest or (32768 if loaded.device.type == "cuda" else 2048)
    limit = getattr(loaded.config, "max_position_embeddings", None)
    longest = min(longest, limit) if isinstance(limit, int) else longest
    sweep_time = (deadline - time.perf_counter()) * _SWEEP_SHARE
    affordable = affordable_length(sweep, longest, sweep_time)
    if affordable < longest // 2 + 1:
        partial.warnings.append(
            f"the budget reached {affordable} tokens, not {longest}; give a larger --budget for longer prompts"
        )
    if affordable < SHORTEST_GRID:
        raise CannotEvaluateError(
            f"{loaded.card.name} is too slow here: {options.budget_s:.0f} s are not enough for prompts of "
            f"{SHORTEST_GRID} tokens; give a larger --budget"
        )
    warm_up(sweep, plan_cells(affordable))
    partial.kv = _kv_bytes(partial, sweep)
    until = time.perf_counter() + _SWEEP_SHARE * (deadline - time.perf_counter())
    watch = _HoldoutWatch(sweep, progress)
    run_rounds(sweep, until, watch.steady, options.request.seed)


class _HoldoutWatch:
    """Ends the sweep when more samples no longer change what the fit is worth: the hold-out error moved by
    less than half a percentage point in two rounds running, with at least 5 samples a cell."""

    def __init__(self, sweep: Sweep, progress: Progress) -> None:
        self._sweep = sweep
        self._progress = progress
        self._errors: list[float] = []

    def steady(self, rounds: int) -> bool:
        fitted = fit_prefill(
            self._sweep.results(), self._sweep.loaded.card.geometry, self._sweep.loaded.kernel
        )
        self._errors.append(fitted.holdout.median)
        self._progress(f"measuring prefill: round {rounds}, hold-out error {fitted.holdout.median:.1%}")
        last = self._errors[-3:]
        return rounds >= _FEWEST_ROUNDS and max(last) - min(last) < _STEADY


def _kv_bytes(partial: Partial, sweep: Sweep) -> KvBytes:
    sizes = [KvSize(tokens, image.layout) for tokens, image in sweep.prefixes.items()]
    try:
        return kv_bytes(sizes, sweep.loaded.config)
    except ValueError as problem:
        raise CannotEvaluateError(f"{sweep.loaded.card.name}: {problem}") from problem


def _measure_restore(
    partial: Partial, sweep: Sweep, ids: torch.Tensor, plan: TierPlan, deadline: float, progress: Progress
) -> None:
    loaded, found = sweep.loaded, partial.restores
    owner = fingerprint(loaded, torch.zeros(1))
    longest = max(sweep.prefixes)
    try:
        measure_overlap(
            found,
            loaded,
            sweep.prefixes[longest],
            longest,
            sorted({16, max(16, longest // 8)}),
            sweep.generator,
        )
    except CannotEvaluateError as problem:
        partial.warnings.append(f"no overlapped restore: {problem}")
    largest = max(image.buffer.numel() for image in sweep.prefixes.values())
    tiers = make_tiers(loaded, plan, owner, largest)
    measure_lossy(found, loaded, examine(loaded, ids), tiers)
    if machine.lies_in_memory(plan.folder):
        partial.warnings.append(
            f"{plan.folder.parent} lies in memory, so the disk tiers measured no disk; name one with --disk"
        )
    measure_tiers(
        found,
        loaded,
        sweep.prefixes,
        tiers,
        plan,
        deadline,
        lambda name: progress(f"measuring restore: {name}"),
    )


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    tf32 = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.backends.cuda.matmul.allow_tf32 = tf32


@contextmanager
def _scratch(folder: Path | None) -> Iterator[Path]:
    """A folder for the disk tier that is gone afterwards, however the run ends."""
    try:
        path = Path(tempfile.mkdtemp(prefix="pcache-probe-", dir=folder))
    except OSError as problem:
        raise UsageError(f"--disk {folder}: cannot write there ({problem.strerror})") from problem
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
