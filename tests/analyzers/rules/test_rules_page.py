"""The page of rules in the documents is what the rules say."""

import importlib.util
from pathlib import Path

_PATH = Path(__file__).resolve().parents[3] / "docs" / "rules_page.py"
_spec = importlib.util.spec_from_file_location("rules_page", _PATH)
assert _spec is not None
assert _spec.loader is not None
rules_page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(rules_page)


def test_the_page_of_rules_is_current() -> None:
    assert rules_page.DOCUMENT.read_text(encoding="utf-8") == rules_page.page(), (
        "run python docs/rules_page.py"
    )
