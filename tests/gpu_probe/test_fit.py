"""The fit finds the costs that made the cells, never a negative one, and its error is that of unseen cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError
from gpu_probe.fit import fit_copies, fit_prefill, non_negative_least_squares, relative_weighted
from gpu_probe.prefill import plan_cells
from simulators.calibration import CopyCell, Geometry, PrefillCell
from simulators.latency import features

GEOMETRY = Geometry(4, 0, None)


def cells_of(cost, longest: int = 2048, noise: float = 0.0, geometry: Geometry = GEOMETRY):
    random = np.random.default_rng(0)
    made = []
    for cell in plan_cells(longest):
        columns = features(geometry, "sdpa", cell.new, cell.cached)
        seconds = float(cost(columns)) * (1 + noise * random.standard_normal())
        made.append(PrefillCell(cell.new, cell.cached, cell.holdout, [seconds], seconds))
    return made


@settings(max_examples=25, deadline=None)
@given(
    fixed=st.floats(1e-4, 1e-2),
    new=st.floats(1e-6, 1e-4),
    pairs=st.floats(1e-10, 1e-7),
    cached=st.floats(0, 1e-6),
)
def test_exact_cells_are_fitted_exactly(fixed, new, pairs, cached):
    fitted = fit_prefill(
        cells_of(lambda f: fixed + new * f["new"] + pairs * f["pairs"] + cached * f["cached"]),
        GEOMETRY,
        "sdpa",
    )
    assert fitted.holdout.worst < 0.03


def test_the_costs_are_found_again():
    fitted = fit_prefill(cells_of(lambda f: 2e-3 + 5e-5 * f["new"] + 8e-8 * f["pairs"]), GEOMETRY, "sdpa")
    costs = {term.feature: term.seconds for term in fitted.terms}
    assert costs == pytest.approx({"fixed": 2e-3, "new": 5e-5, "pairs": 8e-8}, rel=1e-6)
    assert fitted.holdout.worst < 1e-9
    assert fitted.longest_total == 2048


def test_a_kernel_with_two_prices_a_pair_needs_two_terms():
    cost = lambda f: 2e-3 + 5e-5 * f["new"] + 5e-8 * f["pairs_causal"] + 2e-7 * f["pairs_masked"]  # noqa: E731
    fitted = fit_prefill(cells_of(cost), GEOMETRY, "sdpa")
    costs = {term.feature: term.seconds for term in fitted.terms}
    assert costs["pairs_causal"] == pytest.approx(5e-8, rel=1e-6)
    assert costs["pairs_masked"] == pytest.approx(2e-7, rel=1e-6)


def test_a_launch_bound_floor_is_found():
    fitted = fit_prefill(cells_of(lambda f: max(2e-2, 1e-4 * f["new"] + 5e-8 * f["pairs"])), GEOMETRY, "sdpa")
    assert fitted.floor_s == pytest.approx(2e-2, rel=0.02)
    assert fitted.holdout.median < 0.03


def test_five_percent_noise_stays_about_five_percent():
    fitted = fit_prefill(
        cells_of(lambda f: 3e-3 + 6e-5 * f["new"] + 8e-8 * f["pairs"], noise=0.05), GEOMETRY, "sdpa"
    )
    assert 0 < fitted.holdout.median < 0.10
    assert all(term.seconds > 0 for term in fitted.terms)


def test_the_hold_out_never_moves_the_fit():
    cells = cells_of(lambda f: 3e-3 + 6e-5 * f["new"] + 8e-8 * f["pairs"], noise=0.05)
    spoilt = [
        PrefillCell(c.new, c.cached, True, [c.estimate_s * 2], c.estimate_s * 2) if c.holdout else c
        for c in cells
    ]
    honest, other = fit_prefill(cells, GEOMETRY, "sdpa"), fit_prefill(spoilt, GEOMETRY, "sdpa")
    assert other.terms == honest.terms
    assert other.holdout.median == pytest.approx(0.5, abs=0.05)


def test_too_few_cells_are_refused():
    cells = cells_of(lambda f: 1e-3 + 1e-5 * f["new"])
    with pytest.raises(CannotEvaluateError, match="too few to fit"):
        fit_prefill([cell for cell in cells if not cell.holdout], GEOMETRY, "sdpa")
    with pytest.raises(CannotEvaluateError, match="3 training"):
        fit_prefill([*cells[:3], *(cell for cell in cells if cell.holdout)], GEOMETRY, "sdpa")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(3, 12), columns=st.integers(1, 4))
def test_non_negative_least_squares_is_as_good_as_projected_descent(seed, rows, columns):
    random = np.random.default_rng(seed)
    table, target = random.random((rows, columns)), random.standard_normal(rows)
    found = non_negative_least_squares(table, target)
    slow, step = np.zeros(columns), 1 / np.linalg.norm(table, 2) ** 2
    for _ in range(4000):
        slow = np.maximum(slow - step * table.T @ (table @ slow - target), 0)
    assert np.all(found >= 0)
    assert np.sum((table @ found - target) ** 2) <= np.sum((table @ slow - target) ** 2) + 1e-6


def test_short_cells_count_as_much_as_long_ones():
    # One constant for 1 s and 10 s: Σ(c/y − 1)² is least at (Σ 1/y) ÷ (Σ 1/y²), not at the mean 5.5.
    assert relative_weighted(np.ones((2, 1)), np.array([1.0, 10.0])) == pytest.approx([1.1 / 1.01])


def copies(cost) -> list[CopyCell]:
    return [
        CopyCell("pageable", "restore", size // 1000, size, [cost(size)], cost(size))
        for size in (10_000, 40_000, 160_000, 640_000, 2_560_000)
    ]


def test_a_copy_is_a_fixed_time_and_a_rate():
    line = fit_copies(copies(lambda size: 1e-4 + size / 5e9))
    assert line.fixed_s == pytest.approx(1e-4, rel=1e-6)
    assert line.per_byte_s == pytest.approx(1 / 5e9, rel=1e-6)
    assert line.knot_bytes is None
    assert (line.smallest_bytes, line.largest_bytes) == (10_000, 2_560_000)


def test_the_end_of_a_cache_level_bends_the_line():
    line = fit_copies(copies(lambda size: 1e-5 + size / 10e9 + max(size - 160_000, 0) / 2e9))
    assert line.knot_bytes == 160_000
    assert line.seconds(2_560_000) == pytest.approx(1e-5 + 2_560_000 / 10e9 + 2_400_000 / 2e9, rel=1e-3)


def test_one_size_shows_no_rate():
    with pytest.raises(CannotEvaluateError, match="fewer than two sizes"):
        fit_copies(copies(lambda size: 1e-4)[:1])
