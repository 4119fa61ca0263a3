"""Kernels work where nothing can be kept of them."""

import errno
import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import _CacheLocator

from tests.file_size_limit import files_of_at_most

KERNEL = """
from analyzers.compiled import njit

@njit(cache=True)
def double(number):
    return 2 * number
"""


def test_a_kernel_that_cannot_be_kept_runs_all_the_same(tmp_path: Path) -> None:
    source = tmp_path / "kernel.py"
    source.write_text(KERNEL)
    for room, kept in ((1000, False), (10**9, True)):
        module = _imported(source)
        with files_of_at_most(room):
            assert module.double(21) == 42
        assert any(tmp_path.rglob("*.nbc")) is kept


def test_a_kernel_for_which_there_is_no_folder_runs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "kernel.py"
    source.write_text(KERNEL)
    monkeypatch.setattr(_CacheLocator, "ensure_cache_path", _read_only)
    assert _imported(source).double(21) == 42
    assert not any(tmp_path.rglob("*.nbc"))


def _read_only(_: _CacheLocator) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def _imported(source: Path) -> Any:
    spec = importlib.util.spec_from_file_location("kernel", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
