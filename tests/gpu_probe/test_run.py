"""The whole probe on a tiny model: a document that can be used, and nothing lost or left behind on a bad day."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from analyzers.errors import CannotEvaluateError, UsageError
from gpu_probe import run as run_module
from gpu_probe.cells import write_cells, write_partial
from gpu_probe.models import ModelRequest
from gpu_probe.partial import Partial, finish
from gpu_probe.run import ProbeOptions, run_probe
from gpu_probe.tiers.base import TierFailedError
from gpu_probe.tiers.disk import DiskTier
from simulators.latency import Calibration, dump_calibration, load_calibration

TINY = ModelRequest("tiny-llama", "cpu")


def options(folder: Path, **changes: object) -> ProbeOptions:
    return replace(ProbeOptions(TINY, budget_s=60.0, longest=128, disk_folder=folder), **changes)


@pytest.fixture(scope="module")
def calibration(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    # Room enough for a machine that does other things besides; a quiet one needs a tenth of it.
    return run_probe(options(tmp_path_factory.mktemp("disk"), budget_s=300.0, longest=512), Partial())


def test_a_run_measures_every_tier_and_passes_every_check(calibration: Calibration):
    assert calibration.complete
    assert [tier.name for tier in calibration.tiers] == [
        "pageable",
        "pageable:per-layer",
        "pageable:fp8",
        "pageable:int8",
        "disk-warm",
        "disk-cold",
    ]
    assert all(check.passed for check in calibration.checks)
    assert any(check.planted for check in calibration.checks)
    assert calibration.model.weights == "random"
    assert calibration.kv.formula_agrees
    fewest, most = [cell.new for cell in calibration.overlap_cells]
    assert fewest == 16 < most


def test_lossy_tiers_carry_their_error_and_exact_ones_none(calibration: Calibration):
    for tier in calibration.tiers:
        assert (tier.logit_error == 0.0) == (tier.name.partition(":")[2] in ("", "per-layer"))
        assert (tier.stored_bytes_ratio < 0.5) == (tier.name.endswith(("int8", "fp8")))


def test_the_document_answers_what_simulate_and_cost_ask(calibration: Calibration, tmp_path: Path):
    path = tmp_path / "calibration.json"
    path.write_bytes(dump_calibration(calibration))
    loaded = load_calibration(path)
    assert loaded == calibration
    assert loaded.prefill_seconds(400) > loaded.prefill_seconds(100) > 0
    longest = max(cell.cached for cell in loaded.prefill_cells)
    assert loaded.ttft_saved_seconds(16, longest, "pageable") > 0
    assert loaded.provenance(16, longest) == "measured"
    assert loaded.provenance(16, 2 * longest + 1) == "projected"
    assert loaded.break_even("pageable", new=16).tokens is not None


def test_every_sample_is_a_row_of_the_table(calibration: Calibration, tmp_path: Path):
    write_cells(tmp_path / "cells.parquet", calibration)
    table = pq.read_table(tmp_path / "cells.parquet")
    prefill = sum(len(cell.seconds) for cell in calibration.prefill_cells)
    copied = sum(len(cell.seconds) for cell in calibration.copy_cells)
    assert table.num_rows == prefill + copied
    assert set(table["what"].to_pylist()) == {"prefill", "store", "restore"}
    assert table.schema.metadata[b"model"] == b"tiny-llama"


def interrupt_at(stage: str) -> Callable[[str], None]:
    def progress(message: str) -> None:
        if message.startswith(stage):
            raise KeyboardInterrupt

    return progress


def test_an_interruption_during_restore_keeps_the_calibration_so_far(tmp_path: Path):
    partial = Partial()
    with pytest.raises(KeyboardInterrupt):
        run_probe(options(tmp_path), partial, interrupt_at("measuring restore: disk-warm"))
    kept = finish(partial)
    assert not kept.complete
    assert [tier.name for tier in kept.tiers][:2] == ["pageable", "pageable:per-layer"]
    assert "disk-warm" not in kept.tier_names()
    assert kept.prefill_seconds(100) > 0
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_before_there_is_enough_keeps_the_cells(tmp_path: Path, monkeypatch):
    partial = Partial()

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "warm_up", stop)
    with pytest.raises(KeyboardInterrupt):
        run_probe(options(tmp_path), partial)
    with pytest.raises(CannotEvaluateError, match="ended before prefill was measured"):
        finish(partial)
    write_partial(tmp_path / "kept.json", partial)
    assert '"pcache-partial-probe"' in (tmp_path / "kept.json").read_text()
    assert len(partial.prefill_cells()) >= 4


@pytest.mark.parametrize(
    "problem",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB"),
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:114] DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_running_out_of_memory_is_one_sentence(tmp_path: Path, monkeypatch, problem: Exception):
    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr(run_module, "load_model", fail)
    with pytest.raises(CannotEvaluateError, match="out of memory; take a smaller --model"):
        run_probe(options(tmp_path), Partial())


def test_another_error_is_not_mistaken_for_it(tmp_path: Path, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(run_module, "load_model", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        run_probe(options(tmp_path), Partial())


def test_a_tier_that_fails_is_left_out_and_named(tmp_path: Path, monkeypatch):
    def full(*_: object) -> None:
        raise TierFailedError("tier disk: the disk is full")

    monkeypatch.setattr(DiskTier, "store", full)
    made = run_probe(options(tmp_path), Partial())
    assert made.complete
    assert not any(name.startswith("disk") for name in made.tier_names())
    assert "tier disk: the disk is full" in made.warnings


def test_a_restore_that_changes_bytes_fails_its_check(tmp_path: Path, monkeypatch):
    honest = DiskTier.restore

    def dishonest(self: DiskTier, into: torch.Tensor) -> None:
        honest(self, into)
        into[3] += 1

    monkeypatch.setattr(DiskTier, "restore", dishonest)
    made = run_probe(options(tmp_path), Partial())
    failed = [check.name for check in made.checks if not check.passed]
    assert list(tmp_path.iterdir()) == [], "temporary files are left"
    assert failed == ["tier disk-warm: bytes equal", "tier disk-cold: bytes equal"]
    assert not made.trusted


def test_a_noisy_machine_is_said_and_not_trusted(tmp_path: Path, monkeypatch):
    partial = Partial()
    run_probe(options(tmp_path), partial)
    monkeypatch.setattr("gpu_probe.prefill.Sweep.spread", lambda self: 0.3)
    made = finish(partial)
    assert not made.trusted
    assert any("too noisy to trust the times" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"longest": 100}, "--max-tokens: at least 128"),
        ({"disk_folder": Path("/absent")}, "--disk /absent: cannot write there"),
        ({"redis_url": "redis://127.0.0.1:1"}, "no Redis server answers there"),
    ],
)
def test_wrong_options_are_one_sentence(tmp_path: Path, changes: dict, message: str):
    with pytest.raises(UsageError, match=message):
        run_probe(options(tmp_path, **changes), Partial())


def test_a_model_too_slow_for_the_budget_is_one_sentence(tmp_path: Path):
    with pytest.raises(CannotEvaluateError, match="give a larger --budget"):
        run_probe(options(tmp_path, budget_s=0.01), Partial())
