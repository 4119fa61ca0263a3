"""What the documents show is what the commands print."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_spec = importlib.util.spec_from_file_location("refresh", ROOT / "docs" / "refresh.py")
assert _spec is not None
assert _spec.loader is not None
refresh = importlib.util.module_from_spec(_spec)
sys.modules["refresh"] = refresh
_spec.loader.exec_module(refresh)

SHOWN = [
    (path.relative_to(ROOT).as_posix(), command, output)
    for path in refresh.documents()
    for command, output in refresh.shown_commands(path.read_text(encoding="utf-8"))
]


def test_the_readme_shows_a_real_output() -> None:
    assert any(path == "README.md" for path, _, _ in SHOWN)


@pytest.mark.parametrize(("path", "command", "output"), SHOWN, ids=[f"{p}: {c}" for p, c, _ in SHOWN])
def test_a_shown_output_is_current(path: str, command: str, output: str) -> None:
    assert refresh.output_of(command) == output, f"run python docs/refresh.py ({path})"
