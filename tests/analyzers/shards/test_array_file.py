"""Pieces on disk: what was written comes back, and half a file never passes for a whole one."""

import errno
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from analyzers.errors import InputError
from analyzers.request import Identity
from analyzers.shards.array_file import load_arrays, save_arrays
from tests.file_size_limit import files_of_at_most


@dataclass(frozen=True)
class Inner:
    lengths: npt.NDArray[np.int32]
    names: list[str]


@dataclass(frozen=True)
class Outer:
    pool: npt.NDArray[np.uint32]
    hash: npt.NDArray[np.uint64]
    empty: npt.NDArray[np.int64]
    inner: Inner
    identities: tuple[Identity, ...]
    digests: dict[bytes, int]
    noted: dict[str, set[bytes]]
    name: str | None


VALUE = Outer(
    np.arange(7, dtype=np.uint32),
    np.arange(6, dtype=np.uint64).reshape(3, 2),
    np.empty(0, np.int64),
    Inner(np.array([-1, 2], np.int32), ["ä", ""]),
    (Identity(tenant="t", labels=(("a", "b"),)), Identity()),
    {b"\xff": 3},
    {"note": {b"1", b"2"}},
    None,
)


def test_a_dataclass_comes_back_as_it_was(tmp_path: Path) -> None:
    save_arrays(VALUE, tmp_path / "value")
    back = load_arrays(Outer, tmp_path / "value")
    for name in ("pool", "hash", "empty"):
        np.testing.assert_array_equal(getattr(back, name), getattr(VALUE, name))
        assert getattr(back, name).dtype == getattr(VALUE, name).dtype
    np.testing.assert_array_equal(back.inner.lengths, VALUE.inner.lengths)
    assert back.inner.names == VALUE.inner.names
    for name in ("identities", "digests", "noted", "name"):
        assert getattr(back, name) == getattr(VALUE, name)


def test_arrays_are_read_only_views_of_the_file(tmp_path: Path) -> None:
    save_arrays(VALUE, tmp_path / "value")
    back = load_arrays(Outer, tmp_path / "value")
    with pytest.raises(ValueError, match="read-only"):
        back.pool[0] = 1


def test_a_file_cut_anywhere_is_damaged(tmp_path: Path) -> None:
    save_arrays(VALUE, tmp_path / "value")
    whole = (tmp_path / "value").read_bytes()
    for end in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:end])
        with pytest.raises(InputError, match=r"cut is (damaged|no file of arrays)"):
            load_arrays(Outer, tmp_path / "cut")


def test_a_header_that_asks_for_objects_is_refused(tmp_path: Path) -> None:
    save_arrays(VALUE, tmp_path / "value")
    whole = (tmp_path / "value").read_bytes()
    (tmp_path / "objects").write_bytes(whole.replace(b"<u4", b"|O8"))
    with pytest.raises(InputError, match="damaged"):
        load_arrays(Outer, tmp_path / "objects")


def test_writing_that_fails_leaves_no_file_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        save_arrays(Outer(**{**VALUE.__dict__, "name": object()}), tmp_path / "value")
    assert not (tmp_path / "value").exists()


def test_a_full_disk_is_told_as_such_and_no_file_is_left(tmp_path: Path) -> None:
    large = replace(VALUE, pool=np.arange(100_000, dtype=np.uint32))
    with files_of_at_most(100_000), pytest.raises(OSError, match="File too large") as caught:
        save_arrays(large, tmp_path / "value")
    assert caught.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []
