"""The gates of the benchmark pass a believable calibration and stop an unbelievable one."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.probe_gates import gates
from simulators.calibration import Check, CopyCell, FitError, Term
from simulators.latency import Calibration, load_calibration
from tests.simulators.sample_calibration import sample_calibration

CALIBRATIONS = sorted((Path(__file__).resolve().parents[2] / "benchmarks" / "calibrations").glob("*.json"))


def believable() -> Calibration:
    sample = sample_calibration([Term("new", 25e-6)])
    return replace(
        sample,
        machine=replace(
            sample.machine,
            device="cuda",
            ceilings={"pinned_copy_bytes_per_s": 55e9, "matmul_flop_per_s": 750e12},
        ),
        model=replace(sample.model, name="llama-3-8b"),
        copy_cells=[CopyCell("pinned", "restore", 8192, 2**30, [0.021], 0.021)],
    )


def failing(calibration: Calibration) -> list[str]:
    return [gate.name for gate in gates(calibration) if not gate.passed]


def test_a_believable_calibration_passes():
    assert failing(believable()) == []
    assert len(gates(believable())) == 5


def test_what_cannot_be_is_stopped():
    good = believable()
    slow = CopyCell("pinned", "restore", 8192, 2**30, [0.030], 0.030)
    assert failing(replace(good, copy_cells=[slow])) == ["pinned restore ÷ plain copy"]
    instant = CopyCell("pinned", "restore", 8192, 2**30, [0.001], 0.001)
    assert failing(replace(good, copy_cells=[instant])) == ["pinned restore ÷ plain copy"]
    faster_than_the_device = replace(good.prefill, terms=[Term("new", 5e-6)])
    assert failing(replace(good, prefill=faster_than_the_device)) == ["linear layers ÷ plain multiplication"]
    wild = replace(good.prefill, holdout=FitError(0.06, 0.2, 0.0, 7))
    assert failing(replace(good, prefill=wild)) == ["hold-out error of prefill, median"]
    assert failing(replace(good, checks=[Check("x", False, 1.0, 0.0)])) == ["checks that failed"]
    assert failing(replace(good, complete=False)) == ["run to its end"]


@pytest.mark.parametrize("path", CALIBRATIONS, ids=lambda path: path.stem)
def test_the_calibrations_kept_here_pass_their_gates(path: Path):
    assert failing(load_calibration(path)) == []
