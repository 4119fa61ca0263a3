"""The constants behind the tables of docs/scale.md, measured on the agents' log.

    python -m benchmarks.scale [--requests 40000] [--save docs/measured/scale.json]

Makes the log, reads it in slices, makes pieces of them, merges them as a cluster does (every task in this process, what
would travel is counted) and on one machine, takes touch records of the trace, merges and saves them, and takes stack
distances from the file. CPU seconds throughout, the least of two runs; kernels are compiled before anything is timed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from analyzers.pipeline import TraceOptions
from analyzers.shards.cluster.engine import trace_on_cluster
from analyzers.shards.cluster.tree_tasks import grow_share
from analyzers.shards.piece_maker import PieceMaker
from analyzers.shards.plan import Plan, plan_shards
from analyzers.shards.slices import read_slices
from analyzers.shards.work_folder import WorkFolder
from analyzers.trace import Trace
from analyzers.trace_file import save_trace
from benchmarks.agent_log import write_agent_log
from benchmarks.cluster import CountingCluster, size_of
from simulators.blocks import CachedSequences, cached_sequences
from simulators.stack_records import hits_in_pieces
from simulators.sweep import least_blocks
from simulators.touch_records import (
    TouchedRequests,
    TouchRecords,
    merge_touches,
    open_touches,
    save_touches,
    touched_requests,
    touches,
)

_ROWS = 1 << 14
"""Requests a row group of the touch file."""


@dataclass(frozen=True)
class Constants:
    """Of one log. Seconds are CPU seconds of one core; what is not called a request's is the whole log's."""

    measured: str
    machine: str
    requests: int
    log_bytes: int
    prompt_tokens: int
    unique_tokens: int
    """Tokens of the distinct texts of each slice: what was tokenized."""
    slices: int
    read_s: float
    """Bytes to requests: decompress, parse, account."""
    piece_s: float
    """Requests to pieces: render, tokenize, cut, hash."""
    piece_bytes: int
    merge_worker_s: float
    """What workers of a cluster do after their pieces are made."""
    merge_driver_s: float
    save_s: float
    """Writing the Trace to a file."""
    from_workers_bytes: int
    """What travels from worker to worker."""
    largest_share: float
    """Bytes sent to the worker, of 8, that was sent most, over an even load."""
    largest_share_one_root: float
    """The same where all requests have one system prompt and one list of tools."""
    to_driver_bytes: int
    trace_bytes: int
    """The Trace in memory, as it would travel."""
    trace_file_bytes: int
    nodes: int
    one_machine_bytes: int
    """Largest resident memory of `pcache trace` on one process."""
    touch_records: int
    touch_file_bytes: int
    touch_s: float
    touch_merge_s: float
    """Records of 8 parts to those of the whole, saved."""
    stack_s: float
    """Stack distances of one block size, 64 capacities and 8 lifetimes, from the file."""


class SharingCluster(CountingCluster):
    """Keeps also what each worker was sent to build trees from (bytes)."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.shares: list[int] = []

    def _run(self, task: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        before = self.costs[task.__name__].from_workers if task.__name__ in self.costs else 0
        result = super()._run(task, arguments)
        if task is grow_share:
            self.shares.append(self.costs[task.__name__].from_workers - before)
        return result

    def largest_share(self) -> float:
        """Of the worker that was sent most, over that of an even load."""
        return max(self.shares) / (sum(self.shares) / self.workers)


def measure(requests: int, folder: Path) -> Constants:
    """All constants; writes into the folder."""
    log = folder / "agents.jsonl"
    write_agent_log(log, requests)
    plan = plan_shards([str(log)])
    trace_on_cluster(CountingCluster(1), replace(plan, shards=plan.shards[:1]), TraceOptions())
    read_s, piece_s, piece_bytes, unique, slices = min(
        _pieces(plan, folder / "pieces"), _pieces(plan, folder / "again")
    )
    merged = []
    for _ in range(2):
        cluster = SharingCluster(8)
        begun = time.process_time()
        trace = trace_on_cluster(cluster, plan, TraceOptions()).trace
        total = time.process_time() - begun
        tasks = sum(cost.cpu_s for cost in cluster.costs.values())
        merged.append((tasks - cluster.costs["make_pieces"].cpu_s, total - tasks))
    merge_worker_s, merge_driver_s = min(merged)
    save_trace(trace, folder / "trace.parquet")  # loads pyarrow
    begun = time.process_time()
    save_trace(trace, folder / "trace.parquet")
    save_s = time.process_time() - begun
    one_root = folder / "one_root.jsonl"
    _write_one_root(log, one_root)
    skewed = SharingCluster(8)
    trace_on_cluster(skewed, plan_shards([str(one_root)]), TraceOptions())
    touched = _touches(trace, folder / "touches.parquet")
    return Constants(
        measured=datetime.now(UTC).date().isoformat(),
        machine=_machine(),
        requests=len(trace),
        log_bytes=log.stat().st_size,
        prompt_tokens=int(trace.requests.prompt_tokens.sum()),
        unique_tokens=unique,
        slices=slices,
        read_s=read_s,
        piece_s=piece_s,
        piece_bytes=piece_bytes,
        merge_worker_s=merge_worker_s,
        merge_driver_s=merge_driver_s,
        save_s=save_s,
        from_workers_bytes=sum(cost.from_workers for cost in cluster.costs.values()),
        largest_share=cluster.largest_share(),
        largest_share_one_root=skewed.largest_share(),
        to_driver_bytes=sum(cost.to_driver for cost in cluster.costs.values()),
        trace_bytes=size_of(trace),
        trace_file_bytes=(folder / "trace.parquet").stat().st_size,
        nodes=len(trace.tree),
        one_machine_bytes=_resident(log, folder),
        touch_records=int(touched["touch_records"]),
        touch_file_bytes=int(touched["touch_file_bytes"]),
        touch_s=touched["touch_s"],
        touch_merge_s=touched["touch_merge_s"],
        stack_s=touched["stack_s"],
    )


def _write_one_root(log: Path, out: Path) -> None:
    """The same log, but the system prompt and the tools of all requests are those of the first that has tools."""
    system = tools = None
    with log.open() as lines, out.open("w") as file:
        records = [json.loads(line) for line in lines]
        for record in records:
            if record["request"].get("tools"):
                system, tools = record["request"]["messages"][0], record["request"]["tools"]
                break
        for record in records:
            record["request"] |= {"messages": [system, *record["request"]["messages"][1:]], "tools": tools}
            file.write(json.dumps(record) + "\n")


def _pieces(plan: Plan, folder: Path) -> tuple[float, float, int, int, int]:
    """Seconds to read, seconds to make pieces, their bytes on disk, their tokens, how many."""
    folder.mkdir()
    maker, work = PieceMaker(TraceOptions()), WorkFolder(folder)
    read_s = piece_s = 0.0
    unique = slices = 0
    for shard in plan.shards:
        begun = time.process_time()
        for one in read_slices(shard, plan.options):
            read_s += time.process_time() - begun
            begun = time.process_time()
            piece = maker.piece(one, None)
            piece_s += time.process_time() - begun
            unique += len(piece.runs.pool)
            work.save(shard.number, one.number, piece)
            slices += 1
            begun = time.process_time()
    written = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return read_s, piece_s, written, unique, slices


def _resident(log: Path, folder: Path) -> int:
    """Largest resident memory of `pcache trace` on a log, as the kernel last knew it before the end."""
    command = [sys.executable, "-m", "pcache_cli", "trace", str(log), "-o", str(folder / "out.parquet"), "-q"]
    process = subprocess.Popen(command)
    most = 0
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        most = max(
            [most, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))]
        )
        time.sleep(0.02)
    if process.returncode:
        raise RuntimeError(f"{command} ended with status {process.returncode}")
    return most * 1024


def _touches(trace: Trace, path: Path) -> dict[str, float]:
    sequences = cached_sequences(trace)
    touches(sequences, trace.requests)  # compiles
    begun = time.process_time()
    whole = touches(sequences, trace.requests).records(np.arange(len(trace), dtype=np.int32))
    touch_s = time.process_time() - begun
    parts = [_only(whole, whole.request % 8 == part) for part in range(8)]
    save_touches(path, _blocks(trace, sequences, parts, _ROWS))
    begun = time.process_time()
    save_touches(path, _blocks(trace, sequences, parts, _ROWS))
    merge_s = time.process_time() - begun
    least = least_blocks(sequences, 16)
    rooms = np.geomspace(least, 1000 * least, 64).astype(np.int64).tolist()
    ttls = [1.0, 10.0, 60.0, 300.0, 1800.0, 3600.0, 7200.0, None]
    file = open_touches(path)
    hits_in_pieces(file, file.requests, 16, rooms, ttls)
    begun = time.process_time()
    hits_in_pieces(file, file.requests, 16, rooms, ttls)
    return {
        "touch_records": len(whole),
        "touch_file_bytes": path.stat().st_size,
        "touch_s": touch_s,
        "touch_merge_s": merge_s,
        "stack_s": time.process_time() - begun,
    }


def _only(records: TouchRecords, chosen: np.ndarray) -> TouchRecords:
    return TouchRecords(
        records.request[chosen], records.last[chosen], records.start[chosen], records.end[chosen]
    )


def _blocks(
    trace: Trace, sequences: CachedSequences, parts: list[TouchRecords], rows: int
) -> list[TouchedRequests]:
    blocks = []
    for first in range(0, len(trace), rows):
        some = slice(first, first + rows)
        blocks.append(
            touched_requests(
                merge_touches(parts, first, first + rows),
                first,
                sequences.prompt_tokens[some],
                sequences.total_tokens[some],
                trace.requests.time_ns[some],
            )
        )
    return blocks


def _machine() -> str:
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else "unknown processor"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=40_000)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        constants = measure(options.requests, Path(folder))
    text = json.dumps(asdict(constants), indent=1) + "\n"
    print(text, end="")
    if options.save is not None:
        options.save.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
