"""Write the table of provider rules in docs/providers.md from the rule files: `python docs/providers_table.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "providers.md"
_START, _END = "<!-- table of providers -->\n", "<!-- end of table -->\n"
_FACTS = {
    "matching": "how",
    "minimum_tokens": "from tokens",
    "unit_tokens": "unit",
    "lookback_blocks": "look-back",
    "marker_limit": "markers",
    "lifetimes": "lifetimes (write price)",
    "read_multiplier": "read price",
}


def table() -> str:
    """The table as Markdown: each fact by models, with the confidence of its source."""
    sys.path.insert(0, str(ROOT))
    from simulators.providers.rules import load_rule_book

    lines = [f"| rules | {' | '.join(_FACTS.values())} |", f"|---|{'---|' * len(_FACTS)}"]
    for name, file in sorted(load_rule_book().files.items()):
        cells = []
        for fact in _FACTS:
            shown = []
            for value in file.facts.get(fact, []):
                models = "" if value.models == ("*",) else f" ({', '.join(f'`{m}`' for m in value.models)})"
                confidence = file.sources[value.source].confidence if value.verified else "D"
                shown.append(f"{_shown(value.value)}{models} {confidence}")
            cells.append("; ".join(shown))
        inherited = f", else as `{file.extends}`" if file.extends else ""
        lines.append(f"| `{name}`{inherited} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} ×{times}" for key, times in value.items())
    return str(value)


def with_table(text: str) -> str:
    """The document with the table of today."""
    before, rest = text.split(_START)
    after = rest.split(_END)[1]
    return before + _START + table() + _END + after


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
