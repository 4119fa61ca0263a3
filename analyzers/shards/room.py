"""Where arrays as large as a log lie while its pieces are merged: in memory, or in files that the system can page out."""

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class Room(Protocol):
    """Gives arrays by name; each name is used once."""

    def array(self, name: str, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """A new array of one dimension, to be written to before it is read."""
        ...

    def discard(self, name: str) -> None:
        """Give back what an array takes once nothing refers to it any more."""
        ...


class MemoryRoom:
    """Plain arrays."""

    def array(self, name: str, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.empty(length, dtype)

    def discard(self, name: str) -> None:
        """The array goes with the last reference to it."""


@dataclass(frozen=True)
class FolderRoom:
    """Arrays in files of a folder, one a name, which must outlive them."""

    path: Path

    def array(self, name: str, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        if not length:
            return np.empty(0, dtype)
        return np.asarray(np.memmap(self.path / name, dtype, "w+", shape=(length,)))

    def discard(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


def let_go(array: npt.NDArray[Any]) -> None:
    """Let the system have the memory back that a mapped file takes, if this array lies in one; its content stays.

    Not for an array mapped as a private copy, which would lose what was written to it.
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
