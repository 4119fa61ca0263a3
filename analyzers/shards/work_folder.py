"""The folder where a run keeps its pieces, so that a run that was killed goes on where it stopped."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from analyzers.errors import InputError, UsageError
from analyzers.shards.array_file import load_arrays, save_arrays
from analyzers.shards.piece import Piece

_FINGERPRINT = "run"
_SHARD = "shard-"
_PIECE = "piece-"
_FINISHED = "finished"
_TOGETHER = "together"
_MERGE = "merge"
_LOCK = "lock"
_OURS = (_LOCK, _FINGERPRINT, _TOGETHER, _MERGE)


class WorkFolder:
    """Pieces by shard, of one run: the same inputs, unchanged, read with the same options.

    A piece appears whole or not at all. Pieces of a shard are numbered from 0 without gaps.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def has_pieces(self, shard: int) -> int:
        """How many pieces of a shard are there."""
        count = 0
        while self._piece(shard, count).exists():
            count += 1
        return count

    def is_finished(self, shard: int) -> bool:
        """Whether all pieces of a shard are there."""
        return (self._shard(shard) / _FINISHED).exists()

    def save(self, shard: int, number: int, piece: Piece) -> None:
        """Keep a piece. Raises InputError when the disk cannot hold it."""
        self._shard(shard).mkdir(exist_ok=True)
        path = self._piece(shard, number)
        try:
            save_arrays(piece, path)
        except OSError as error:
            raise InputError(f"Cannot write {path}: {error.strerror or error}.") from error

    def finish(self, shard: int) -> None:
        """Note that all pieces of a shard are there."""
        self._shard(shard).mkdir(exist_ok=True)
        (self._shard(shard) / _FINISHED).touch()

    def forget_all(self) -> None:
        """Remove every piece."""
        for folder in self.path.iterdir():
            if folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)

    def forget_damaged(self) -> None:
        """Remove the pieces of shards that a crash of the machine left damaged."""
        for shard in self.path.glob(f"{_SHARD}*"):
            try:
                for piece in shard.glob(f"{_PIECE}*[0-9]"):
                    load_arrays(Piece, piece)
            except InputError:
                shutil.rmtree(shard)

    def forget(self, shard: int) -> None:
        """Remove the pieces of a shard."""
        shutil.rmtree(self._shard(shard), ignore_errors=True)

    def pieces(self, shards: int) -> list[list[Piece]]:
        """The pieces of each of so many shards, mapped from their files."""
        return [
            [load_arrays(Piece, self._piece(shard, number)) for number in range(self.has_pieces(shard))]
            for shard in range(shards)
        ]

    def together(self) -> "WorkFolder":
        """A folder in this one for the pieces of a log that had to be read at once after all."""
        inner = WorkFolder(self.path / _TOGETHER)
        inner.path.mkdir(exist_ok=True)
        return inner

    def room(self) -> Path:
        """An empty folder for the merge."""
        room = self.path / _MERGE
        shutil.rmtree(room, ignore_errors=True)
        room.mkdir()
        return room

    def _shard(self, shard: int) -> Path:
        return self.path / f"{_SHARD}{shard:06}"

    def _piece(self, shard: int, number: int) -> Path:
        return self._shard(shard) / f"{_PIECE}{number:06}"


@contextmanager
def work_folder(path: Path, fingerprint: str) -> Iterator[WorkFolder]:
    """The folder at `path`, with what an earlier run of the same fingerprint left there; anything else it holds of
    pcache is removed. It is deleted when the work in it is done; when that fails, it is kept if there is a piece in it.

    Raises UsageError for a folder that is not pcache's or that another run works in, InputError where none can be
    made.
    """
    try:
        _check_ours(path)
        path.mkdir(exist_ok=True)
        with open(path / _LOCK, "a") as lock:
            if not _locked(lock):
                raise UsageError(f"another run works in {path}; wait for it, or write to another file")
            _begin(path, fingerprint)
            work = WorkFolder(path)
            work.forget_damaged()
            try:
                yield work
            except BaseException:
                if any(path.glob(f"{_SHARD}*")):
                    raise
                shutil.rmtree(path, ignore_errors=True)
                raise
            shutil.rmtree(path, ignore_errors=True)
    except OSError as error:
        raise InputError(f"Cannot work in {path}: {error.strerror or error}.") from error


def _check_ours(path: Path) -> None:
    """Raises UsageError if something else than an earlier run has the place."""
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(f"{path} is in the way of the pieces; move it, or write to another file")
    for old in path.iterdir():
        if old.name not in _OURS and not old.name.startswith(_SHARD):
            raise UsageError(
                f"{path} holds {old.name}, which is not pcache's; move it, or write to another file"
            )


def _locked(file: IO[str]) -> bool:
    """Whether this process has the file to itself, until it ends; always where files cannot be locked so."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _begin(path: Path, fingerprint: str) -> None:
    """Leave the pieces of a run with this fingerprint, remove those of any other."""
    noted = path / _FINGERPRINT
    if noted.exists() and noted.read_text() == fingerprint:
        return
    WorkFolder(path).forget_all()
    noted.write_text(fingerprint)
