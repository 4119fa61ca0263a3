"""The table of log formats in the documents is what the registry says."""

import importlib.util
from pathlib import Path

_PATH = Path(__file__).resolve().parents[1] / "docs" / "formats_table.py"
_spec = importlib.util.spec_from_file_location("formats_table", _PATH)
assert _spec is not None
assert _spec.loader is not None
formats_table = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(formats_table)


def test_the_table_of_formats_is_current() -> None:
    text = formats_table.DOCUMENT.read_text(encoding="utf-8")
    assert formats_table.with_table(text) == text, "run python docs/formats_table.py"
