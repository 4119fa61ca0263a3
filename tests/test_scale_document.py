"""The tables of the page on large logs are what the measured constants give, and the arithmetic is what it says."""

import importlib.util
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.sampling import Accuracy
from benchmarks.scale import Constants

_PATH = Path(__file__).resolve().parents[1] / "docs" / "scale_tables.py"


@pytest.fixture(scope="module")
def scale_tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scale_tables", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def round_constants() -> Constants:
    """A log of 1,000 requests of 10 kB: 36 ms of workers a request, 3.6 ms of the driver."""
    numbers = {field.name: 0 for field in fields(Constants)}
    return replace(
        Constants(**{**numbers, "measured": "2026-01-01", "machine": "none"}),
        requests=1000,
        log_bytes=10_000_000,
        read_s=6.0,
        piece_s=20.0,
        merge_worker_s=10.0,
        merge_driver_s=2.6,
        save_s=1.0,
        from_workers_bytes=2_000_000,
        to_driver_bytes=300_000,
        trace_bytes=200_000,
        touch_records=2500,
        stack_s=0.36,
        one_machine_bytes=400_000_000 + 500_000,
    )


def test_the_tables_are_current(scale_tables: ModuleType) -> None:
    text = scale_tables.DOCUMENT.read_text(encoding="utf-8")
    assert scale_tables.with_tables(text) == text, "run python docs/scale_tables.py"


def test_everything_is_in_proportion_to_the_requests(
    scale_tables: ModuleType, round_constants: Constants
) -> None:
    model = scale_tables.model(round_constants, 1e12)
    assert model.requests == 1e8
    assert model.core_hours == pytest.approx(1e8 * 0.036 / 3600) == 1000
    assert model.driver_hours == pytest.approx(100)
    assert model.wall_hours == pytest.approx(1000 / (256 * 0.7) + 100)
    assert model.dollars == pytest.approx(model.wall_hours * 256 * 0.04)
    assert model.shuffle_bytes == pytest.approx(1e8 * 2000)
    assert model.driver_bytes == pytest.approx(1e8 * 500)
    assert model.touch_bytes == pytest.approx(1e8 * 2.5 * 16)
    assert model.stack_core_hours == pytest.approx(10)
    assert model.machine_bytes == pytest.approx(16 * 4e8 + 1e8 * 500)
    assert (model.traces, scale_tables.model(round_constants, 1e14).traces) == (1, 5)


def test_the_stated_errors_held_what_they_promise(scale_tables: ModuleType) -> None:
    import json

    rows = [Accuracy(**row) for row in json.loads((scale_tables.MEASURED / "sampling.json").read_text())]
    measured = [row for row in rows if row.within is not None]
    assert {row.rate for row in measured} == {0.1, 0.01, 0.001}
    assert all((row.within or 0) >= 0.95 for row in measured)
    assert all((row.mean or 0) <= (row.stated_mean or 0) for row in measured)
