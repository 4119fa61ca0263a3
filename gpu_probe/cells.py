"""Measured cells as files: a Parquet table of all samples, and what an interrupted run leaves."""

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from gpu_probe.partial import Partial
from simulators.latency import Calibration


def write_cells(path: Path, calibration: Calibration) -> None:
    """One row a sample: what (prefill, store or restore), tier, new, cached, holdout, bytes, seconds."""
    rows = [
        {
            "what": "prefill",
            "tier": None,
            "new": cell.new,
            "cached": cell.cached,
            "holdout": cell.holdout,
            "bytes": None,
            "seconds": seconds,
        }
        for cell in calibration.prefill_cells
        for seconds in cell.seconds
    ] + [
        {
            "what": copied.direction,
            "tier": copied.tier,
            "new": None,
            "cached": copied.tokens,
            "holdout": False,
            "bytes": copied.size,
            "seconds": seconds,
        }
        for copied in calibration.copy_cells
        for seconds in copied.seconds
    ]
    schema = pa.schema(
        [
            ("what", pa.string()),
            ("tier", pa.string()),
            ("new", pa.int64()),
            ("cached", pa.int64()),
            ("holdout", pa.bool_()),
            ("bytes", pa.int64()),
            ("seconds", pa.float64()),
        ],
        metadata={"model": calibration.model.name, "machine": calibration.machine.name},
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def write_partial(path: Path, partial: Partial) -> None:
    """The raw cells and checks of a run that ended before a calibration could be fitted."""
    document = {
        "format": "pcache-partial-probe",
        "schema_version": 1,
        "machine": partial.machine,
        "prefill_cells": partial.prefill_cells(),
        "copy_cells": partial.restores.cells,
        "checks": partial.checks,
        "warnings": partial.warnings,
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
