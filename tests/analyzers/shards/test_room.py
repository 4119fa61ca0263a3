"""Large arrays in memory or in files: the same to whoever writes and reads them."""

from pathlib import Path

import numpy as np
import pytest

from analyzers.shards.room import FolderRoom, MemoryRoom, Room, let_go


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
