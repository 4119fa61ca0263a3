"""The shards of a log on the machines of a Ray cluster.

Ray keeps pieces and what is exchanged in its object store, spills them to disk, begins a task again when its worker
dies, and makes pieces anew that were lost with a machine.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

from analyzers.errors import PcacheError, UsageError
from analyzers.pipeline import TraceOptions
from analyzers.shards.cluster.engine import Progress, ShardedResult, trace_on_cluster
from analyzers.shards.cluster.protocol import TaskError
from analyzers.shards.plan import Plan

RETRIES = 2
"""How often a task is tried again: when its worker dies, when it runs out of memory, when it raises."""

_LONGEST_REASON = 200
_PATIENCE_S = 10


def trace_with_ray(
    plan: Plan, options: TraceOptions, address: str | None = None, progress: Progress | None = None
) -> ShardedResult:
    """The Trace of a log, made on the Ray cluster at `address` (default: RAY_ADDRESS, else one on this machine).

    Machines of the cluster need pcache of the same version and must reach the files by the same names. Raises
    UsageError without Ray or a cluster and for standard input, and what `trace_on_cluster` raises.
    """
    if plan.has_stdin:
        raise UsageError(
            "--engine ray cannot read standard input, which other machines do not see; name files"
        )
    with _ray(address) as cluster:
        return trace_on_cluster(cluster, plan, options, progress)


class RayCluster:
    """A `Cluster`; ray must have been initialised. A task is an importable function."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._remote: dict[Callable[..., Any], Any] = {}

    @property
    def workers(self) -> int:
        """One a CPU."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self._begin(task, 1, _result, arguments)

    def submit_split(self, task: Callable[..., Any], results: int, *arguments: Any) -> list[Any]:
        if results == 1:  # Ray then takes the list itself for the result
            return [self._begin(task, 1, _only_result, arguments)]
        split: list[Any] = self._begin(task, results, _result, arguments)
        return split

    def get(self, result: Any) -> Any:
        from ray.exceptions import RayError

        try:
            return self._ray.get(result)
        except RayError as problem:
            cause = getattr(problem, "cause", None)
            if isinstance(cause, PcacheError):
                raise cause from problem
            raise TaskError(_reason(problem)) from problem

    def cancel(self, results: Sequence[Any]) -> None:
        for result in results:
            self._ray.cancel(result)

    def _begin(
        self, task: Callable[..., Any], results: int, run: Callable[..., Any], arguments: Sequence[Any]
    ) -> Any:
        if run not in self._remote:
            remote = self._ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=True)
            self._remote[run] = remote(run)
        return self._remote[run].options(name=task.__name__, num_returns=results).remote(task, *arguments)


def _result(task: Callable[..., Any], *arguments: Any) -> Any:
    # A task has one processor, and others run beside it; tokenizers would else take all there are.
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    return task(*arguments)


def _only_result(task: Callable[..., Any], *arguments: Any) -> Any:
    (result,) = _result(task, *arguments)
    return result


def _reason(problem: Exception) -> str:
    from ray import exceptions

    tries = f"each of {RETRIES + 1} times"
    if isinstance(problem, exceptions.RayTaskError):
        cause = problem.cause
        said = str(cause).partition("\n")[0][:_LONGEST_REASON]
        return f"it failed {tries}: {type(cause).__name__}{': ' if said else ''}{said}"
    if isinstance(problem, exceptions.OutOfMemoryError):
        return f"its worker ran out of memory {tries}"
    if isinstance(problem, exceptions.WorkerCrashedError):
        return f"its worker process died {tries}"
    if isinstance(problem, exceptions.NodeDiedError | exceptions.ObjectLostError):
        return f"the machine it was on was lost ({type(problem).__name__})"
    return f"Ray gave it up ({type(problem).__name__})"


@contextmanager
def _ray(address: str | None) -> Iterator[RayCluster]:
    """Connect to a cluster, or start one; leave a connection that is there already as it is.

    Ray tells of retries on standard output, which belongs to the command's own results: that is kept from it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_task_oom_retries", str(RETRIES))  # else without end
    try:
        import ray
    except ImportError as problem:
        raise UsageError("--engine ray needs Ray: pip install 'pcache-cli[scale]'") from problem
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        if ray.is_initialized():
            yield RayCluster(ray)
            return
        address = address or os.environ.get("RAY_ADDRESS")
        _connect(ray, address)
        try:
            yield RayCluster(ray)
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    try:
        if address is None:
            ray.init(address="local", include_dashboard=False, **quiet)
        else:
            _check_that_it_answers(address)
            ray.init(address=address, **quiet)
    except (OSError, RuntimeError, ValueError) as problem:
        where = f"at {address}" if address else "on this machine"
        said = getattr(problem, "strerror", None) or str(problem).partition("\n")[0][:_LONGEST_REASON]
        raise UsageError(f"no Ray cluster {where} can be used: {said}") from problem


def _check_that_it_answers(address: str) -> None:
    """Ray itself tries for minutes. Raises OSError."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), _PATIENCE_S).close()
