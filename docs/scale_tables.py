"""Write the tables of docs/scale.md from measured constants: `python docs/scale_tables.py`.

docs/measured/scale.json comes from `python -m benchmarks.scale --save …`, docs/measured/sampling.json from
`python -m benchmarks.sampling --save …`.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "scale.md"
MEASURED = ROOT / "docs" / "measured"
sys.path.insert(0, str(ROOT))

from benchmarks.sampling import Accuracy  # noqa: E402
from benchmarks.sampling import table as sampling_table  # noqa: E402
from benchmarks.scale import Constants  # noqa: E402

CORES = 256
EFFICIENCY = 0.7
DOLLARS_A_CORE_HOUR = 0.04
BIGGEST_TRACE = 2**31
"""Requests are numbered in 32 bits."""
MACHINE_CORES = 16
STACK_STATE_BYTES = 16
"""A request: its place in the Fenwick tree and its time."""
_TB = 1e12


@dataclass(frozen=True)
class Model:
    """What a log of some size takes on the cluster; hours, bytes and dollars."""

    log_bytes: float
    requests: float
    core_hours: float
    driver_hours: float
    wall_hours: float
    dollars: float
    piece_bytes: float
    shuffle_bytes: float
    driver_bytes: float
    touch_bytes: float
    stack_state_bytes: float
    stack_core_hours: float
    sampled_bytes: float
    traces: int
    machine_hours: float
    machine_bytes: float


def model(c: Constants, log_bytes: float) -> Model:
    """The arithmetic of the page: everything is in proportion to the requests."""
    requests = log_bytes / (c.log_bytes / c.requests)
    core_hours = requests * (c.read_s + c.piece_s + c.merge_worker_s) / c.requests / 3600
    driver_hours = requests * (c.merge_driver_s + c.save_s) / c.requests / 3600
    wall_hours = core_hours / (CORES * EFFICIENCY) + driver_hours
    shuffle = requests * c.from_workers_bytes / c.requests
    records = requests * c.touch_records / c.requests
    return Model(
        log_bytes=log_bytes,
        requests=requests,
        core_hours=core_hours,
        driver_hours=driver_hours,
        wall_hours=wall_hours,
        dollars=wall_hours * CORES * DOLLARS_A_CORE_HOUR,
        piece_bytes=requests * c.piece_bytes / c.requests,
        shuffle_bytes=shuffle,
        driver_bytes=requests * bytes_a_request(c),
        touch_bytes=16 * records,
        stack_state_bytes=STACK_STATE_BYTES * requests,
        stack_core_hours=requests * c.stack_s / c.requests / 3600,
        sampled_bytes=0.01 * (records + requests) * 25,
        traces=int(-(-requests // BIGGEST_TRACE)),
        machine_hours=core_hours / MACHINE_CORES / EFFICIENCY + driver_hours,
        machine_bytes=MACHINE_CORES * fixed_bytes(c) + requests * bytes_a_request(c),
    )


def bytes_a_request(c: Constants) -> float:
    """Rows and Trace, where they are merged."""
    return (c.to_driver_bytes + c.trace_bytes) / c.requests


def fixed_bytes(c: Constants) -> float:
    """What a process takes besides: the program, a tokenizer, a slice."""
    return c.one_machine_bytes - c.requests * bytes_a_request(c)


def constants_table(c: Constants) -> str:
    """One row a constant, as measured and by request."""
    each = c.requests
    rows = [
        ("bytes of log a request", f"{c.log_bytes / each:,.0f}"),
        ("prompt tokens a request", f"{c.prompt_tokens / each:,.0f}"),
        (
            "of them tokenized (distinct in a slice of 64 MiB)",
            f"{100 * c.unique_tokens / c.prompt_tokens:.1f} %",
        ),
        ("reading", f"{c.log_bytes / c.read_s / 1e6:,.0f} MB/s a core"),
        ("rendering, tokenizing, cutting, hashing", f"{c.log_bytes / c.piece_s / 1e6:,.0f} MB/s a core"),
        ("bytes of a piece a request", f"{c.piece_bytes / each:,.0f}"),
        ("merge, workers", f"{1e6 * c.merge_worker_s / each:,.0f} µs a request"),
        ("merge, driver", f"{1e6 * c.merge_driver_s / each:.1f} µs a request"),
        ("writing the Trace", f"{1e6 * c.save_s / each:.1f} µs a request"),
        ("from worker to worker", f"{c.from_workers_bytes / each:,.0f} bytes a request"),
        ("most sent to one of 8 workers, over an even load", f"{c.largest_share:.2f}"),
        ("the same where all requests have one system prompt", f"{c.largest_share_one_root:.2f}"),
        ("rows and block ends, to the driver", f"{c.to_driver_bytes / each:,.0f} bytes a request"),
        ("the Trace in memory", f"{c.trace_bytes / each:,.0f} bytes a request"),
        ("the Trace as a file", f"{c.trace_file_bytes / each:,.0f} bytes a request"),
        ("tree nodes a request", f"{c.nodes / each:.2f}"),
        ("touch records a request", f"{c.touch_records / each:.2f}"),
        (
            "bytes a touch record",
            "16, on disk " + f"{c.touch_file_bytes / c.touch_records:.1f} with its request's lengths",
        ),
        ("taking touch records", f"{1e6 * c.touch_s / each:.2f} µs a request"),
        ("merging and saving them", f"{1e6 * c.touch_merge_s / each:.2f} µs a request"),
        ("stack distances, a block size", f"{1e6 * c.stack_s / each:.2f} µs a request"),
        (
            "`pcache trace` on one process, besides rows and Trace",
            f"{fixed_bytes(c) / 1e6:,.0f} MB",
        ),
    ]
    head = f"| constant | {c.measured}, {c.machine}, {c.requests:,} requests |\n|---|---|\n"
    return head + "".join(f"| {name} | {value} |\n" for name, value in rows)


def model_table(models: list[Model]) -> str:
    """One column a size of log."""
    rows: list[tuple[str, Callable[[Model], str]]] = [
        ("requests", lambda m: f"{m.requests / 1e6:,.0f} million"),
        ("traces (a trace numbers at most 2.1 billion requests)", lambda m: str(m.traces)),
        ("worker core-hours", lambda m: f"{m.core_hours:,.1f}"),
        ("driver, one core, after the workers", lambda m: _hours(m.driver_hours)),
        (f"time on {CORES} cores", lambda m: _hours(m.wall_hours)),
        ("storage must give", lambda m: f"{_bytes(m.log_bytes / (m.wall_hours - m.driver_hours) / 3600)}/s"),
        ("cost", lambda m: f"{m.dollars:,.2f} USD"),
        (f"instead, time on one machine of {MACHINE_CORES} cores", lambda m: _hours(m.machine_hours)),
        ("its memory, a trace", lambda m: _bytes(m.machine_bytes / m.traces)),
        ("pieces, on the workers' disks", lambda m: _bytes(m.piece_bytes)),
        ("shuffled between workers", lambda m: _bytes(m.shuffle_bytes)),
        ("driver's memory, a trace", lambda m: _bytes(m.driver_bytes / m.traces)),
        ("touch records", lambda m: _bytes(m.touch_bytes)),
        ("state of the stack pass", lambda m: _bytes(m.stack_state_bytes)),
        ("stack pass, a block size, one core", lambda m: _hours(m.stack_core_hours)),
        ("touch records of a sample of 1 in 100", lambda m: _bytes(m.sampled_bytes)),
    ]  # fmt: skip
    head = "| | " + " | ".join(f"{m.log_bytes / _TB:,.0f} TB" for m in models) + " |\n"
    lines = [f"| {name} | {' | '.join(show(m) for m in models)} |\n" for name, show in rows]
    return head + "|---|" + "---|" * len(models) + "\n" + "".join(lines)


def _hours(hours: float) -> str:
    if hours >= 1:
        return f"{hours:,.1f} h"
    return f"{60 * hours:.0f} min" if hours >= 1 / 60 else f"{3600 * hours:.0f} s"


def _bytes(size: float) -> str:
    for limit, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= limit:
            return f"{size / limit:,.3g} {unit}"
    return f"{size:,.0f} B"


def tables() -> dict[str, str]:
    """The tables by name."""
    constants = Constants(**json.loads((MEASURED / "scale.json").read_text(encoding="utf-8")))
    rows = [Accuracy(**row) for row in json.loads((MEASURED / "sampling.json").read_text(encoding="utf-8"))]
    return {
        "constants": constants_table(constants),
        "model": model_table([model(constants, size) for size in (_TB, 100 * _TB)]),
        "sampling": sampling_table(rows),
    }


def with_tables(text: str) -> str:
    """The document with its tables renewed: each stands between `<!-- table: NAME -->` and `<!-- end of table -->`."""
    for name, table in tables().items():
        before, start, rest = text.partition(f"<!-- table: {name} -->\n")
        _old, end, after = rest.partition("<!-- end of table -->\n")
        if not start or not end:
            raise ValueError(f"docs/scale.md has no place for the table {name}")
        text = before + start + table + end + after
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
