"""The grid, the choice of its length, and rounds that can stop at any moment."""

import time

import pytest
import torch

from gpu_probe.prefill import (
    Cell,
    affordable_length,
    plan_cells,
    run_rounds,
    start_sweep,
    warm_up,
)


@pytest.mark.parametrize("longest", [128, 256, 1000, 2048, 32768])
def test_the_grid_holds_out_a_quarter_with_the_longest_corners(longest: int):
    cells = plan_cells(longest)
    holdout = [cell for cell in cells if cell.holdout]
    places = [(cell.new, cell.cached) for cell in cells]
    assert len(set(places)) == len(places)
    assert all(new + cached <= longest for new, cached in places)
    assert Cell(longest, 0, True) in cells
    assert max(cell.cached for cell in holdout) > max(cell.cached for cell in cells if not cell.holdout)
    assert 0.15 < len(holdout) / len(cells) < 0.4


def test_the_budget_decides_the_length(model):
    rich = start_sweep(model("tiny-llama"), threads=1, seed=0)
    assert affordable_length(rich, 512, seconds=1e9) == 512
    poor = start_sweep(model("tiny-llama"), threads=1, seed=0)
    assert affordable_length(poor, 512, seconds=1e-9) == 16
    assert set(poor.cells) == {Cell(16, 0)}


def test_a_sweep_measures_every_cell_and_keeps_every_sample(model):
    sweep = start_sweep(model("tiny-llama"), threads=1, seed=0)
    cells = plan_cells(128)
    affordable_length(sweep, 128, seconds=1e9)
    warm_up(sweep, cells)
    run_rounds(sweep, deadline=time.perf_counter())
    results = sweep.results()
    assert {(cell.new, cell.cached, cell.holdout) for cell in results} == {
        (cell.new, cell.cached, cell.holdout) for cell in cells
    }
    assert all(cell.estimate_s in cell.seconds or len(cell.seconds) % 2 == 0 for cell in results)
    assert all(cell.cold_s > 0 and len(cell.wall_s) == len(cell.seconds) for cell in results)


def test_settled_cells_are_left_alone(model, monkeypatch):
    sweep = start_sweep(model("tiny-llama"), threads=1, seed=0)
    warm_up(sweep, [Cell(16, 0), Cell(32, 0)])
    monkeypatch.setattr(
        "gpu_probe.prefill.relative_half_width", lambda seconds, _: 0.0 if len(seconds) > 2 else 1.0
    )
    assert run_rounds(sweep, deadline=time.perf_counter() + 60) == 3
    assert [len(cell.seconds) for cell in sweep.results()] == [3, 3]


def test_rounds_end_when_they_are_enough(model):
    sweep = start_sweep(model("tiny-llama"), threads=1, seed=0)
    warm_up(sweep, [Cell(16, 0)])
    assert run_rounds(sweep, time.perf_counter() + 60, lambda rounds: rounds == 2) == 2


def test_an_interruption_keeps_the_samples(model, monkeypatch):
    sweep = start_sweep(model("tiny-llama"), threads=1, seed=0)
    warm_up(sweep, [Cell(16, 0), Cell(32, 0)])

    def interrupted(rounds: int) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_rounds(sweep, time.perf_counter() + 60, interrupted)
    assert [len(cell.seconds) for cell in sweep.results()] == [1, 1]


def test_cached_cells_continue_the_kept_prefix(model):
    sweep = start_sweep(model("tiny-llama"), threads=1, seed=0)
    warm_up(sweep, [Cell(16, 64)])
    before = sweep.prefixes[64].buffer.clone()
    run_rounds(sweep, time.perf_counter())
    assert torch.equal(sweep.prefixes[64].buffer, before)
