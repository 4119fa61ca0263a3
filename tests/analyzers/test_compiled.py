"""Kernels work where nothing can be kept of them."""

import importlib.util
from pathlib import Path

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
        spec = importlib.util.spec_from_file_location("kernel", source)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with files_of_at_most(room):
            assert module.double(21) == 42
        assert any(tmp_path.rglob("*.nbc")) is kept
