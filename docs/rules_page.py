"""Write docs/rules.md from the rules' own documentation: `python docs/rules_page.py`."""

import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "rules.md"


def page() -> str:
    """The page as Markdown: a table of all rules, then each rule in full."""
    sys.path.insert(0, str(ROOT))
    from analyzers.rules.registry import all_rules

    rules = list(all_rules().values())
    lines = [
        "# Rules",
        "",
        "A cause has one id wherever it is found: in a template, in one request, or by comparing logged requests.",
        "This page is written from the rules themselves (`python docs/rules_page.py`); `pcache rule PC101` shows one.",
        "",
        "| id | name | level | what |",
        "|---|---|---|---|",
    ]
    lines += [f"| [{r.id}](#{r.id.lower()}) | {r.name} | {r.level} | {r.title} |" for r in rules]
    for family, members in groupby(rules, key=lambda rule: rule.family):
        lines += ["", f"## {family[0].upper()}{family[1:]}"]
        for rule in members:
            title, _, body = rule.docs.partition("\n")
            lines += ["", f'<a id="{rule.id.lower()}"></a>', f"### {rule.id} {rule.name}", "", title]
            lines += ["", "```text", body.strip("\n"), "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(page(), encoding="utf-8")
