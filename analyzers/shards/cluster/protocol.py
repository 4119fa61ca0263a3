"""What is asked of a cluster, whatever runs it."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class TaskError(Exception):
    """A task failed whenever it was tried. Says why, in half a sentence."""


class Cluster(Protocol):
    """Runs tasks somewhere. A result is a handle; given as an argument to a task, the task gets what it stands for."""

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        ...

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Begin a task and return the handle of its result."""
        ...

    def submit_split(self, task: Callable[..., Any], results: int, *arguments: Any) -> list[Any]:
        """Begin a task that returns a list of so many results, each with a handle of its own."""
        ...

    def get(self, result: Any) -> Any:
        """Wait for what a handle stands for. Raises TaskError, or the PcacheError that its task raised."""
        ...

    def cancel(self, results: Sequence[Any]) -> None:
        """Begin no more of the tasks that have these results."""
        ...
