"""Where the larger logs, cases and golden files lie, when they are at hand beside the checkout."""

import os
from pathlib import Path

import pytest

_BESIDE_CHECKOUT = Path(__file__).resolve().parents[2] / "shared"
_FOLDER = Path(os.environ.get("PCACHE_SHARED", _BESIDE_CHECKOUT))

SHARED: Path | None = _FOLDER if _FOLDER.is_dir() else None
needs_shared = pytest.mark.skipif(SHARED is None, reason="the shared folder is not beside the checkout")
