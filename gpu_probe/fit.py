"""From measured cells to a latency model: non-negative, relatively weighted least squares.

Times span three orders of magnitude and their noise is proportional, so every cell is weighted by 1/time:
the sum of squared relative errors is what is minimised. Costs cannot be negative; a free fit uses negative
ones to bend the curve, and is then wrong outside the grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analyzers.errors import CannotEvaluateError
from simulators.calibration import (
    CopyCell,
    CopyLine,
    FitError,
    Floats,
    Geometry,
    Kernel,
    PrefillCell,
    PrefillFit,
    Term,
)
from simulators.latency import features

# What prefill time may be made of, from plain to detailed; the cells decide (see `fit_prefill`).
_CANDIDATES = [
    ("fixed", "new", "pairs"),
    ("fixed", "new", "pairs", "cached"),
    ("fixed", "new", "pairs", "warm"),
    ("fixed", "new", "pairs_causal", "pairs_masked", "cached"),
    ("fixed", "new", "pairs_causal", "pairs_masked", "warm"),
]
_MOST_TERMS = max(len(names) for names in _CANDIDATES)
_FEWEST_CELLS = 4


@dataclass(frozen=True)
class _Fitted:
    floor: float
    names: tuple[str, ...]
    weights: Floats


def non_negative_least_squares(columns: Floats, target: Floats) -> Floats:
    """x ≥ 0 minimising ‖columns·x − target‖ (columns [rows, k], k small; the result [k]).

    Exact: the optimum is the ordinary solution on some subset of the columns, so the subsets are tried,
    the largest first; when all columns come out non-negative that is the optimum already.
    """
    count = columns.shape[1]
    gram, projected = columns.T @ columns, columns.T @ target
    best, lowest = np.zeros(count), 0.0
    for size in range(count, 0, -1):
        for chosen in combinations(range(count), size):
            kept = list(chosen)
            try:
                solution = np.linalg.solve(gram[np.ix_(kept, kept)], projected[kept])
            except np.linalg.LinAlgError:
                continue
            if np.any(solution < 0):
                continue
            # ‖columns·x − target‖² less ‖target‖², at the solution of the normal equations.
            error = -float(solution @ projected[kept])
            if error < lowest:
                best, lowest = np.zeros(count), error
                best[kept] = solution
            if size == count:
                return best
    return best


def relative_weighted(columns: Floats, seconds: Floats) -> Floats:
    """Non-negative weights minimising the relative errors against `seconds` [rows], all above 0."""
    scale = np.max(np.abs(columns), axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    rows = columns / scale / seconds[:, None]
    return non_negative_least_squares(rows, np.ones_like(seconds)) / scale


def fit_prefill(cells: Sequence[PrefillCell], geometry: Geometry, kernel: Kernel) -> PrefillFit:
    """The latency model of the cells that are not held out, with its error on those that are.

    Which terms, and how many of the shortest cells lie on the launch-bound floor, is chosen by
    leave-one-out error on the training cells alone; the hold-out is used for nothing but the error.
    Raises CannotEvaluateError with fewer than 4 training cells or no hold-out.
    """
    training = [cell for cell in cells if not cell.holdout]
    holdout = [cell for cell in cells if cell.holdout]
    if len(training) < _FEWEST_CELLS or not holdout:
        raise CannotEvaluateError(
            f"{len(training)} training and {len(holdout)} hold-out cells are too few to fit; "
            "give the probe a larger --budget"
        )
    table, seconds = _table(training, geometry, kernel)
    chosen, lowest = None, np.inf
    for names in _CANDIDATES:
        for on_floor in range(_floors(len(training))):
            error = _leave_one_out(table, seconds, names, on_floor)
            # A longer model must be clearly better, or it only follows the noise.
            if error < lowest * 0.9:
                chosen, lowest = _fit(table, seconds, names, on_floor), error
    assert chosen is not None
    held_table, held_seconds = _table(holdout, geometry, kernel)
    return PrefillFit(
        kernel=kernel,
        floor_s=chosen.floor,
        terms=[
            Term(name, float(weight))
            for name, weight in zip(chosen.names, chosen.weights, strict=True)
            if weight > 0
        ],
        training=_error(_predict(chosen, table), seconds),
        holdout=_error(_predict(chosen, held_table), held_seconds),
        longest_total=max(cell.new + cell.cached for cell in cells),
        longest_cached=max(cell.cached for cell in cells),
    )


def fit_copies(cells: Sequence[CopyCell]) -> CopyLine:
    """Seconds against bytes: a fixed part, a slope, and a second slope where a cache level ends.

    Raises CannotEvaluateError with fewer than 2 sizes.
    """
    size = np.array([cell.size for cell in cells], dtype=np.float64)
    seconds = np.array([cell.estimate_s for cell in cells])
    if np.unique(size).size < 2:
        raise CannotEvaluateError("fewer than two sizes were measured, so no bandwidth can be told apart")
    best, knot = relative_weighted(np.stack([np.ones_like(size), size], axis=1), seconds), None
    error = _error(np.stack([np.ones_like(size), size], axis=1) @ best, seconds)
    for candidate in np.unique(size)[1:-1] if size.size >= 4 else []:
        columns = np.stack([np.ones_like(size), size, np.maximum(size - candidate, 0)], axis=1)
        weights = relative_weighted(columns, seconds)
        bent = _error(columns @ weights, seconds)
        if weights[2] > 0 and bent.median < error.median * 0.8:
            best, knot, error = weights, float(candidate), bent
    return CopyLine(
        fixed_s=float(best[0]),
        per_byte_s=float(best[1]),
        knot_bytes=knot,
        beyond_knot_per_byte_s=float(best[2]) if knot is not None else 0.0,
        median_error=error.median,
        smallest_bytes=int(size.min()),
        largest_bytes=int(size.max()),
    )


def _table(
    cells: Sequence[PrefillCell], geometry: Geometry, kernel: Kernel
) -> tuple[dict[str, Floats], Floats]:
    new = np.array([cell.new for cell in cells])
    cached = np.array([cell.cached for cell in cells])
    return features(geometry, kernel, new, cached), np.array([cell.estimate_s for cell in cells])


def _floors(cells: int) -> int:
    """How many of the shortest cells may lie on the floor: all but enough to fit the terms twice over. On a
    fast device most suffixes of a few dozen tokens do."""
    return max(1, cells - 2 * _MOST_TERMS)


def _fit(table: dict[str, Floats], seconds: Floats, names: tuple[str, ...], on_floor: int) -> _Fitted:
    order = np.argsort(seconds)
    lowest, rest = order[:on_floor], order[on_floor:]
    # The relatively weighted mean: minimises the relative errors of the cells on the floor.
    floor = float(np.sum(1 / seconds[lowest]) / np.sum(1 / seconds[lowest] ** 2)) if on_floor else 0.0
    columns = np.stack([table[name] for name in names], axis=1)
    return _Fitted(floor, names, relative_weighted(columns[rest], seconds[rest]))


def _predict(fitted: _Fitted, table: dict[str, Floats]) -> Floats:
    columns = np.stack([table[name] for name in fitted.names], axis=1)
    return np.maximum(columns @ fitted.weights, fitted.floor)


def _leave_one_out(table: dict[str, Floats], seconds: Floats, names: tuple[str, ...], on_floor: int) -> float:
    """Mean relative error at each cell of the model fitted without it."""
    errors = []
    for left in range(seconds.size):
        kept: NDArray[np.bool_] = np.arange(seconds.size) != left
        fitted = _fit({name: table[name][kept] for name in names}, seconds[kept], names, on_floor)
        predicted = _predict(fitted, {name: table[name][[left]] for name in names})[0]
        errors.append(abs(predicted / seconds[left] - 1))
    return float(np.mean(errors))


def _error(predicted: Floats, seconds: Floats) -> FitError:
    relative = predicted / seconds - 1
    return FitError(
        median=float(np.median(np.abs(relative))),
        worst=float(np.max(np.abs(relative))),
        bias=float(np.mean(relative)),
        cells=int(seconds.size),
    )
