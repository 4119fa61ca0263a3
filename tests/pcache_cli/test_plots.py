"""The axes of time are in a unit that fits the span of the log."""

import json
from pathlib import Path
from typing import Any

import pytest

from pcache_cli.reports.plotting import time_unit
from tests.command_line import pcache

SECOND = 10**9


@pytest.mark.parametrize(
    ("span_s", "unit"),
    [
        (0, "seconds"),
        (0.5, "seconds"),
        (179, "seconds"),
        (180, "minutes"),
        (3 * 3600 - 1, "minutes"),
        (3 * 3600, "hours"),
        (3 * 86400 - 1, "hours"),
        (30 * 86400, "days"),
    ],
)
def test_a_span_is_drawn_in_the_largest_unit_that_it_has_three_of(span_s: float, unit: str):
    assert time_unit(round(span_s * SECOND))[0] == unit


@pytest.fixture
def drawings(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is drawn is kept here instead of being saved."""
    kept: list[Any] = []
    monkeypatch.setattr("pcache_cli.reports.plotting.save", lambda drawing, path: kept.append(drawing))
    return kept


@pytest.mark.parametrize(
    ("step_s", "unit", "last"),
    [(10, "seconds", 90.0), (60, "minutes", 9.0), (3600, "hours", 9.0), (86400, "days", 9.0)],
)
def test_every_plot_over_time_fits_the_log(
    tmp_path: Path, drawings: list[Any], step_s: int, unit: str, last: float
):
    log = tmp_path / "log.jsonl"
    rows = [
        {"id": f"r{n}", "timestamp": 1_790_000_000 + n * step_s, "tokens": list(range(100, 140))}
        for n in range(10)
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in (
        ["simulate", log, "--block-size", "16", "--capacity", "none"],
        ["simulate", log, "--block-size", "16"],
        ["analyze", log],
    ):
        assert pcache(*words, "--plot", tmp_path / "p.png", "-q").returncode == 0
    classes, sweep, reuse = drawings
    (axes,) = classes.axes
    assert axes.get_xlabel() == unit
    right = max(bar.get_x() + bar.get_width() for bar in axes.patches)
    assert right == pytest.approx(last)
    heights = [bar.get_height() for bar in axes.patches if bar.get_x() == 0]
    assert sum(heights) == pytest.approx(1.0)
    assert sweep.axes[2].get_xlabel() == unit
    assert reuse.axes[1].get_xlabel() == f"{unit} since the first request"


def test_a_log_without_times_is_drawn_by_requests(tmp_path: Path, drawings: list[Any]):
    log = tmp_path / "log.jsonl"
    log.write_text(
        "".join(json.dumps({"id": f"r{n}", "tokens": list(range(100, 140))}) + "\n" for n in range(4))
    )
    words = ["simulate", log, "--block-size", "16", "--capacity", "none", "--plot", tmp_path / "p.png"]
    assert pcache(*words, "-q").returncode == 0
    (axes,) = drawings[0].axes
    assert axes.get_xlabel() == "requests"
    assert max(bar.get_x() + bar.get_width() for bar in axes.patches) == 4
