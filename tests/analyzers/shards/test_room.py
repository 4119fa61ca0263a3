"""Large arrays in memory or in files: the same to whoever writes and reads them."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from analyzers.errors import InputError
from analyzers.shards.room import FolderRoom, MemoryRoom, Room, let_go
from tests.file_size_limit import files_of_at_most


@pytest.mark.parametrize("in_folder", [False, True], ids=["memory", "folder"])
def test_what_was_written_is_still_there_when_its_memory_was_let_go(in_folder: bool, tmp_path: Path) -> None:
    room: Room = FolderRoom(tmp_path) if in_folder else MemoryRoom()
    array = room.array("numbers", 5000, np.int32)
    array[:] = np.arange(5000)
    part = array[100:200]
    let_go(array)
    let_go(part)
    assert array.tolist() == list(range(5000))
    assert part.tolist() == list(range(100, 200))
    assert array.dtype == np.int32


def test_an_empty_array_needs_no_file(tmp_path: Path) -> None:
    assert len(FolderRoom(tmp_path).array("nothing", 0, np.int64)) == 0
    FolderRoom(tmp_path).discard("nothing")
    assert list(tmp_path.iterdir()) == []


def test_a_discarded_array_leaves_the_folder(tmp_path: Path) -> None:
    room = FolderRoom(tmp_path)
    array = room.array("numbers", 10, np.int64)
    array[:] = 7
    assert [path.name for path in tmp_path.iterdir()] == ["numbers"]
    room.discard("numbers")
    assert list(tmp_path.iterdir()) == []
    assert array.tolist() == [7] * 10


def test_the_disk_space_of_an_array_is_taken_before_it_is_written_to(tmp_path: Path) -> None:
    FolderRoom(tmp_path).array("numbers", 100_000, np.int64)
    about = (tmp_path / "numbers").stat()
    assert about.st_size == 800_000
    assert about.st_blocks * 512 >= 800_000


def test_an_array_that_the_disk_has_no_room_for_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(InputError, match=r"Cannot write .*numbers: No space left on device\."):
        FolderRoom(tmp_path).array("numbers", 100_000, np.int64)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lacking", ["no function", "no support"])
def test_where_space_cannot_be_taken_ahead_zeros_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    def unsupported(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    if lacking == "no function":
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    else:
        monkeypatch.setattr(os, "posix_fallocate", unsupported, raising=False)
    array = FolderRoom(tmp_path).array("numbers", 400_001, np.int64)
    assert not array.any()
    assert (tmp_path / "numbers").stat().st_blocks * 512 >= array.nbytes
    with files_of_at_most(10_000), pytest.raises(InputError, match=r"Cannot write .*more: File too large"):
        FolderRoom(tmp_path).array("more", 400_001, np.int64)
