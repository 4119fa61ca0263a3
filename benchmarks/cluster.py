"""What a trace on a cluster costs: CPU by task, and bytes that travel, a request and a GB of log.

    python -m benchmarks.cluster LOG... [--shard-size 64MB] [--workers 8] [--ray]

Does the tasks of `--engine ray` one after the other in this process and counts, by task: how often it runs, its CPU
seconds, the bytes it gets from the driver, the bytes that workers send it, and the bytes that it sends the driver.
Pieces are not counted: tasks go where their shard's pieces are. With --ray the same log then runs on a Ray cluster
of this machine's CPUs, twice, and on as many processes without Ray, which tells what Ray itself costs.
"""

import argparse
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analyzers.pipeline import TraceOptions
from analyzers.shards.cluster.engine import trace_on_cluster
from analyzers.shards.cluster.on_ray import trace_with_ray
from analyzers.shards.cluster.shard_tasks import make_pieces
from analyzers.shards.local_engine import trace_in_shards
from analyzers.shards.plan import Plan, plan_shards
from pcache_cli.units import parse_size

_GB = 1e9


@dataclass
class Cost:
    """What all runs of a task took together: CPU seconds and bytes."""

    runs: int = 0
    cpu_s: float = 0.0
    from_driver: int = 0
    from_workers: int = 0
    to_driver: int = 0


@dataclass(frozen=True)
class Handle:
    """A result, the task it is of, and whether it stays where it was made."""

    value: Any
    task: str
    stays: bool


@dataclass
class CountingCluster:
    """Does every task at once, in this process, and counts."""

    workers: int
    costs: dict[str, Cost] = field(default_factory=dict)

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return Handle(self._run(task, arguments), task.__name__, stays=False)

    def submit_split(self, task: Callable[..., Any], results: int, *arguments: Any) -> list[Any]:
        parts = self._run(task, arguments)
        return [
            Handle(part, task.__name__, stays=task is make_pieces and number == 1)
            for number, part in enumerate(parts)
        ]

    def get(self, result: Any) -> Any:
        self.costs[result.task].to_driver += size_of(result.value)
        return result.value

    def cancel(self, results: Sequence[Any]) -> None:
        """Nothing is still to be done."""

    def _run(self, task: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        cost = self.costs.setdefault(task.__name__, Cost())
        values = []
        for argument in arguments:
            if not isinstance(argument, Handle):
                cost.from_driver += size_of(argument)
            elif not argument.stays:
                cost.from_workers += size_of(argument.value)
            values.append(argument.value if isinstance(argument, Handle) else argument)
        begun = time.process_time()
        result = task(*values)
        cost.cpu_s += time.process_time() - begun
        cost.runs += 1
        return result


def size_of(value: Any) -> int:
    """Bytes as they travel."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("log", nargs="+")
    parser.add_argument("--shard-size", default="64MB")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--ray", action="store_true")
    asked = parser.parse_args()
    plan = plan_shards(asked.log, shard_bytes=parse_size(asked.shard_size) or 1)
    log_bytes = sum(shard.size or 0 for shard in plan.shards)
    trace_on_cluster(CountingCluster(1), replace_shards(plan, 1), TraceOptions())  # compiles the kernels
    cluster = CountingCluster(asked.workers)
    begun = time.process_time()
    result = trace_on_cluster(cluster, plan, TraceOptions())
    total = time.process_time() - begun
    requests = len(result.trace)
    print(
        f"{log_bytes / _GB:.3f} GB, {requests:,} requests, {len(plan.shards)} shards, {asked.workers} workers"
    )
    print(
        f"{'':16}{'runs':>6}{'CPU s':>9}{'CPU s/GB':>10}{'from driver':>13}{'from workers':>14}{'to driver':>11}"
    )
    print(f"{'':41}{'bytes a request':>38}")
    for task, cost in cluster.costs.items():
        sent = (cost.from_driver, cost.from_workers, cost.to_driver)
        figures = "".join(f"{n / requests:>{w},.0f}" for n, w in zip(sent, (13, 14, 11), strict=True))
        print(f"{task:16}{cost.runs:>6}{cost.cpu_s:>9.2f}{cost.cpu_s / log_bytes * _GB:>10.2f}{figures}")
    driver = total - sum(cost.cpu_s for cost in cluster.costs.values())
    print(f"{'driver':16}{'':>6}{driver:>9.2f}{driver / log_bytes * _GB:>10.2f}")
    if asked.ray:
        compare(plan)


def replace_shards(plan: Plan, shards: int) -> Plan:
    """The plan's first shards alone."""
    return replace(plan, shards=plan.shards[:shards])


def compare(plan: Plan) -> None:
    """Wall seconds on Ray, and on as many processes without it."""
    import ray

    def timed(what: str, run: Callable[[], Any]) -> None:
        begun = time.perf_counter()
        run()
        print(f"{what}: {time.perf_counter() - begun:.1f} s")

    def on_processes() -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            trace_in_shards(plan, TraceOptions(), Path(folder) / "parts", os.cpu_count() or 1),
        ):
            pass

    timed("Ray begins", lambda: ray.init(address="local", include_dashboard=False, log_to_driver=False))
    timed("on Ray, new workers", lambda: trace_with_ray(plan, TraceOptions()))
    timed("on Ray, the same workers", lambda: trace_with_ray(plan, TraceOptions()))
    ray.shutdown()
    timed("on processes", on_processes)


if __name__ == "__main__":
    main()
