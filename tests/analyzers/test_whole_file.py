"""A file is there whole or not at all, whoever else writes it."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analyzers.errors import InputError
from analyzers.hash_export import write_hash_trace
from analyzers.trace import Trace
from analyzers.trace_file import save_trace
from analyzers.whole_file import whole_file
from tests.file_size_limit import files_of_at_most
from tests.trace_builder import trace_from_tokens


def test_two_that_write_the_same_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with whole_file(path) as first:
        first.write(b"the first, ")
        with whole_file(path) as second:
            second.write(b"the second")
        assert path.read_bytes() == b"the second"
        first.write(b"whole")
    assert path.read_bytes() == b"the first, whole"
    assert list(tmp_path.iterdir()) == [path]


def _broken_off(problem: type[BaseException]) -> Iterator[bytes]:
    yield b"new"
    raise problem


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError])
def test_a_file_that_was_not_finished_leaves_the_old_one(
    tmp_path: Path, problem: type[BaseException]
) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(problem), whole_file(path) as file:
        file.writelines(_broken_off(problem))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_permissions_that_any_file_has(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with whole_file(tmp_path / "out") as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


def test_a_file_that_was_there_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with whole_file(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "out")
    with whole_file(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "out").read_bytes() == b"new"


Write = Callable[[Trace, Path], None]
LONG = trace_from_tokens([[number, number + 1] for number in range(2000)])


def _as_parquet(trace: Trace, path: Path) -> None:
    save_trace(trace, path)


def _as_hashes(trace: Trace, path: Path) -> None:
    write_hash_trace(trace, path, 1)


@pytest.mark.parametrize("write", [_as_parquet, _as_hashes])
def test_a_trace_for_which_there_is_no_room_leaves_the_old_one(tmp_path: Path, write: Write) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with files_of_at_most(10_000), pytest.raises(InputError, match=r"cannot write .*out: File too large$"):
        write(LONG, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", [_as_parquet, _as_hashes])
def test_what_another_process_left_unfinished_is_not_touched(tmp_path: Path, write: Write) -> None:
    other = tmp_path / "out.unfinished"
    other.write_bytes(b"half of another trace")
    write(LONG, tmp_path / "out")
    assert other.read_bytes() == b"half of another trace"
