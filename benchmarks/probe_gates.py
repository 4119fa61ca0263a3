"""Is a calibration believable? `python -m benchmarks.probe_gates calibration.json` prints each gate and exits 1
when one fails.

The limits: prefill on unseen cells within 5 % (median) on CUDA and 10 % on the host; restoring from pinned memory
(pageable on the host) at 80 % or more of the rate of a plain copy measured in the same run; no copy much faster
than that plain copy, and no multiplication faster than the machine's own rate, which would mean that something was
not measured at all; every check passed.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from simulators.latency import Calibration, load_calibration

# Multiply-adds of one token in the layers of Llama 3 8B, twice: 32 layers of 218 million weights.
_LINEAR_FLOP_PER_TOKEN = {"llama-3-8b": 2 * 32 * 218_103_808}


@dataclass(frozen=True)
class Gate:
    """One limit: what was found, and whether it holds."""

    name: str
    found: float
    least: float
    most: float

    @property
    def passed(self) -> bool:
        return self.least <= self.found <= self.most


def gates(calibration: Calibration) -> list[Gate]:
    """Every gate that applies to the calibration."""
    cuda = calibration.machine.device == "cuda"
    found = [
        Gate(
            "hold-out error of prefill, median",
            calibration.prefill.holdout.median,
            0.0,
            0.05 if cuda else 0.10,
        ),
        Gate("checks that failed", sum(not check.passed for check in calibration.checks), 0, 0),
        Gate("run to its end", float(calibration.complete), 1, 1),
    ]
    host = "pinned" if cuda else "pageable"
    plain = calibration.machine.ceilings[f"{host}_copy_bytes_per_s"]
    fastest = max(
        cell.size / cell.estimate_s
        for cell in calibration.copy_cells
        if cell.tier == host and cell.direction == "restore"
    )
    # Small states can come from a processor cache, which the plain copy is too large for.
    found.append(Gate(f"{host} restore ÷ plain copy", fastest / plain, 0.8, 1.1 if cuda else 3.0))
    flop = _LINEAR_FLOP_PER_TOKEN.get(calibration.model.name)
    if flop is not None:
        new = next(term.seconds for term in calibration.prefill.terms if term.feature == "new")
        rate = flop / new / calibration.machine.ceilings["matmul_flop_per_s"]
        found.append(Gate("linear layers ÷ plain multiplication", rate, 0.5, 1.05))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Check a calibration against its gates.")
    parser.add_argument("calibration", type=Path)
    failed = 0
    for gate in gates(load_calibration(parser.parse_args().calibration)):
        failed += not gate.passed
        state = "passed" if gate.passed else "FAILED"
        print(f"{state} {gate.name}: {gate.found:.3g} (from {gate.least:.3g} to {gate.most:.3g})")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
