"""Where arrays as large as a log lie while its pieces are merged: in memory, or in files that the system can page out."""

import errno
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from analyzers.errors import InputError


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
    """Arrays in files of a folder, one a name, which must outlive them.

    Raises InputError for an array that the disk has no room for.
    """

    path: Path

    def array(self, name: str, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        if not length:
            return np.empty(0, dtype)
        path = self.path / name
        try:
            with open(path, "w+b") as file:
                _allocate(file, length * np.dtype(dtype).itemsize)
                return np.asarray(np.memmap(file, dtype, "r+", shape=(length,)))
        except OSError as error:
            path.unlink(missing_ok=True)
            raise InputError(f"Cannot write {path}: {error.strerror or error}.") from error

    def discard(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


def _allocate(file: IO[bytes], size: int) -> None:
    """Take the disk space of an empty file: writing to a mapped file for which there is none kills the process."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
    zeros = bytes(min(size, 1 << 20))
    for start in range(0, size, len(zeros)):
        file.write(zeros[: size - start])
    file.flush()


def let_go(array: npt.NDArray[Any]) -> None:
    """Let the system have the memory back that a mapped file takes, if this array lies in one; its content stays.

    Not for an array mapped as a private copy, which would lose what was written to it.
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
