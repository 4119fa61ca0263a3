"""numba's `njit`, for kernels over plain arrays.

numba loads every extension that other packages register with it before it compiles or loads its first kernel.
Kernels over plain arrays need none of them, and one that comes with the tokenizer engine (awkward) takes half a
second and 60 MB in every run, so they are left out.

numba keeps what it compiled in a cache. A kernel that cannot be kept, because the disk is full, is compiled again in
the next run; numba alone would end the run with the error of the disk.
"""

import contextlib
from typing import Any

from numba import njit
from numba.core import entrypoints
from numba.core.caching import FunctionCache

__all__ = ["njit"]

if hasattr(entrypoints, "_already_initialized"):
    entrypoints._already_initialized = True

_keep = FunctionCache.save_overload


def _keep_if_possible(self: Any, signature: Any, compiled: Any) -> None:
    with contextlib.suppress(OSError):
        _keep(self, signature, compiled)


FunctionCache.save_overload = _keep_if_possible
