"""A cluster without machines, for tests of what is computed on one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from analyzers.errors import PcacheError
from analyzers.shards.cluster.protocol import TaskError


@dataclass(frozen=True)
class InlineCluster:
    """Does every task at once. Like a real cluster it hands out arrays that cannot be written to, and a task that
    fails is told of when its result is asked for."""

    workers: int

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return sealed(task(*arguments))
        except Exception as problem:
            return problem

    def submit_split(self, task: Callable[..., Any], results: int, *arguments: Any) -> list[Any]:
        done = self.submit(task, *arguments)
        if isinstance(done, Exception):
            return [done] * results
        assert len(done) == results
        return list(done)

    def get(self, result: Any) -> Any:
        if isinstance(result, PcacheError):
            raise result
        if isinstance(result, Exception):
            raise TaskError(f"it failed: {result}")
        return result

    def cancel(self, results: Sequence[Any]) -> None:
        """Nothing is still to be done."""


def sealed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, list | tuple):
        for item in value:
            sealed(item)
    elif is_dataclass(value):
        for field in fields(value):
            sealed(getattr(value, field.name))
    return value
