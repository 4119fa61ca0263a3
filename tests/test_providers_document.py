"""The table of provider rules in the documents is what the rule files say."""

import importlib.util
from pathlib import Path

_PATH = Path(__file__).resolve().parents[1] / "docs" / "providers_table.py"
_spec = importlib.util.spec_from_file_location("providers_table", _PATH)
assert _spec is not None
assert _spec.loader is not None
providers_table = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(providers_table)


def test_the_table_of_providers_is_current() -> None:
    text = providers_table.DOCUMENT.read_text(encoding="utf-8")
    assert providers_table.with_table(text) == text, "run python docs/providers_table.py"
