"""Write the table of log formats in docs/formats.md from the registry: `python docs/formats_table.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "formats.md"
_START, _END = "<!-- table of formats -->\n", "<!-- end of table -->\n"


def table() -> str:
    """The table as Markdown, in the order in which formats are tried."""
    sys.path.insert(0, str(ROOT))
    from analyzers.logs import FORMATS

    lines = ["| `--format` | what it is | text | tools | usage | times |", "|---|---|---|---|---|---|"]
    for reader in FORMATS:
        carried = reader.carries
        cells = [f"`{reader.name}`", reader.title, carried.text, carried.tools, carried.usage, carried.times]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def with_table(text: str) -> str:
    """The document with the table of today."""
    before, rest = text.split(_START)
    after = rest.split(_END)[1]
    return before + _START + table() + _END + after


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
