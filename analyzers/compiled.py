"""numba's `njit`, for kernels over plain arrays.

numba loads every extension that other packages register with it before it compiles or loads its first kernel.
Kernels over plain arrays need none of them, and one that comes with the tokenizer engine (awkward) takes half a
second and 60 MB in every run, so they are left out.
"""

from numba import njit
from numba.core import entrypoints

__all__ = ["njit"]

if hasattr(entrypoints, "_already_initialized"):
    entrypoints._already_initialized = True
