"""numba's `njit`, for kernels over plain arrays.

numba loads every extension that other packages register with it before it compiles or loads its first kernel.
Kernels over plain arrays need none of them, and one that comes with the tokenizer engine (awkward) takes half a
second and 60 MB in every run, so they are left out.

numba keeps what it compiled in a cache. Where it cannot, because the disk is full or neither the package's folder nor
the user's may be written to, a kernel is compiled again in every run; numba alone would end the run with an error.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import numba
from numba.core import entrypoints
from numba.core.caching import FunctionCache

if hasattr(entrypoints, "_already_initialized"):
    entrypoints._already_initialized = True

_keep = FunctionCache.save_overload


def _keep_if_possible(self: Any, signature: Any, compiled: Any) -> None:
    with contextlib.suppress(OSError):
        _keep(self, signature, compiled)


FunctionCache.save_overload = _keep_if_possible


def njit(**options: Any) -> Callable[[Any], Any]:
    """numba's, by keywords alone."""

    def compiled(function: Any) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError:  # numba found no folder for its cache
            return numba.njit(**{**options, "cache": False})(function)

    return compiled
