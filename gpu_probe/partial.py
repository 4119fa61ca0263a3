"""What a run has measured so far, and the calibration that can be made of it at any moment."""

import resource
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from analyzers.errors import CannotEvaluateError
from gpu_probe import machine
from gpu_probe.fit import fit_copies, fit_prefill
from gpu_probe.prefill import Sweep
from gpu_probe.restore import Restores
from gpu_probe.verify import failed
from simulators.calibration import Check, CopyLine, KvBytes, Machine, PrefillCell, Tier
from simulators.latency import SCHEMA_VERSION, Calibration

TRUSTED_HOLDOUT_ERROR = 0.10
"""Median hold-out error above which a calibration is not to be trusted."""
_NOISY_SPREAD = 0.10


@dataclass
class Partial:
    """What a run has so far. `calibration` needs at least the prefill sweep; the cells are there before."""

    sweep: Sweep | None = None
    restores: Restores = field(default_factory=Restores)
    checks: list[Check] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kv: KvBytes | None = None
    machine: Machine | None = None
    complete: bool = False

    def prefill_cells(self) -> list[PrefillCell]:
        return self.sweep.results() if self.sweep is not None else []


def finish(partial: Partial) -> Calibration:
    """The calibration of what was measured. Raises CannotEvaluateError when that is too little to fit."""
    sweep = partial.sweep
    if sweep is None or partial.machine is None or partial.kv is None:
        raise CannotEvaluateError("the probe ended before prefill was measured")
    cells = sweep.results()
    fitted = fit_prefill(cells, sweep.loaded.card.geometry, sweep.loaded.kernel)
    warnings = [*partial.warnings, *partial.restores.failures]
    noisy = sweep.spread() > _NOISY_SPREAD
    if noisy:
        warnings.append(
            f"the machine was too noisy to trust the times (samples of one cell scatter by ±{sweep.spread():.0%}, "
            f"median over the cells); run again on an idle one"
        )
    if fitted.holdout.median > TRUSTED_HOLDOUT_ERROR:
        warnings.append(
            f"the model of prefill time misses unseen cells by {fitted.holdout.median:.0%} (median); "
            "do not trust it"
        )
    if partial.kv.formula_agrees is False:
        warnings.append(
            "the counted bytes of KV a token are not those of the formula; the counted ones are used"
        )
    checks = [*partial.checks, *partial.restores.checks]
    return Calibration(
        schema_version=SCHEMA_VERSION,
        format="pcache-calibration",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        complete=partial.complete,
        trusted=not noisy and fitted.holdout.median <= TRUSTED_HOLDOUT_ERROR and not failed(checks),
        machine=replace(partial.machine, noise=sweep.noise()),
        versions=machine.versions(),
        model=sweep.loaded.card,
        kv=partial.kv,
        prefill=fitted,
        tiers=_fit_tiers(partial.restores, sweep),
        prefill_cells=cells,
        copy_cells=partial.restores.cells,
        overlap_cells=partial.restores.overlaps,
        checks=checks,
        warnings=warnings,
        peak_memory_bytes=_peak_memory(cells),
    )


def _fit_tiers(found: Restores, sweep: Sweep) -> list[Tier]:
    tiers = []
    for name in dict.fromkeys(cell.tier for cell in found.cells):
        lines: dict[str, CopyLine] = {}
        for direction in ("restore", "store"):
            cells = [cell for cell in found.cells if (cell.tier, cell.direction) == (name, direction)]
            if len({cell.size for cell in cells}) >= 2:
                lines[direction] = fit_copies(cells)
        if "restore" in lines:
            longest = max((cell for cell in found.cells if cell.tier == name), key=lambda cell: cell.tokens)
            tiers.append(
                Tier(
                    name=name,
                    restore=lines["restore"],
                    store=lines.get("store"),
                    stored_bytes_ratio=longest.size / sweep.prefixes[longest.tokens].layout.nbytes,
                    logit_error=found.logit_errors.get(name, 0.0),
                )
            )
    return tiers


def _peak_memory(cells: list[PrefillCell]) -> int:
    """The largest peak of torch's allocator on CUDA, the process's peak resident size on the host."""
    peaks = [cell.peak_bytes for cell in cells if cell.peak_bytes is not None]
    return max(peaks) if peaks else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
