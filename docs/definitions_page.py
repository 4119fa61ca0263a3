"""Write docs/definitions.md from the definitions that reports print: `python docs/definitions_page.py`."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "definitions.md"
SECTIONS = (
    ("analyzers.reuse", "Reuse", "`pcache analyze`, `pcache report`"),
    ("simulators.runs", "Simulation", "`pcache simulate`, sweep and one configuration"),
    ("simulators.providers.summary", "Replay of a provider's rules", "`pcache simulate --provider`"),
    ("simulators.cost", "Money", "`pcache cost`, `pcache report`"),
    ("simulators.self_hosted", "Self-hosted balance", "`pcache cost --gpu-hour`"),
    ("simulators.validation", "Validation", "`pcache validate`"),
)
_HEAD = """# Definitions

What every figure means: what is divided by what, how it is weighted, and what is left out. The same words come with
each `--json` document under `definitions`; this page is written from them (`python docs/definitions_page.py`).

In all of them

- ratios are weighted by tokens over the whole log, unless they say *requests*: one long prompt counts more than ten
  short ones;
- the first requests count like all others: no warm-up is left out;
- in blocks, what stands behind the last whole block of a prompt, and its last token, is never a hit but stays in the
  denominator;
- percentiles of lengths, intervals and stack distances are the least value with at least that share of the weight at or
  below it; times to first token are interpolated between requests;
- *prompt tokens* are all tokens of the input: uncached, read from cache and written to cache;
- what a log does not say is unknown (`null`), never 0; estimates are called estimates.
"""


def page() -> str:
    """The page as Markdown: one table for each module that defines figures."""
    sys.path.insert(0, str(ROOT))
    lines = [_HEAD.rstrip()]
    for module, title, where in SECTIONS:
        definitions: dict[str, str] = importlib.import_module(module).DEFINITIONS
        lines += ["", f"## {title}", "", f"Shown by {where}.", "", "| figure | definition |", "|---|---|"]
        lines += [f"| `{name}` | {_cell(text)} |" for name, text in definitions.items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace(" * ", " \\* ").replace("<", "&lt;")


if __name__ == "__main__":
    DOCUMENT.write_text(page(), encoding="utf-8")
