"""Good and bad examples of each rule, one YAML file a rule in `fixtures/`.

An example names its `file` (which chooses the front end), its `text`, files that lie `beside` it, and the lowest
`level` that counts (warning unless it says otherwise). `$RULES` stands for a few lines of fixed text, `$RULES_LINE`
for the same on one line, `$LONG_LINE` for about 2,000 tokens of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from analyzers.findings import Finding, Level
from analyzers.rules.checking import Checks, check_sources
from analyzers.rules.registry import select_rules
from analyzers.templates.front_ends import Readers, read_file
from pcache_cli.lint_prices import limits_of

FIXTURES = Path(__file__).with_name("fixtures")
RULES_LINE = (
    "Always answer in the language of the question. Never promise a delivery date. Quote the order number in "
    "every answer, and thank the customer for the message. Returns are free for thirty days; after that they cost "
    "five. Orders above one hundred need the manager. If something is not known, say so instead of guessing. "
    "Do not give medical or legal advice, and keep each answer below two hundred words."
)
RULES = RULES_LINE.replace(". ", ".\n") + "\n"
LONG_LINE = " ".join([RULES_LINE] * 24)


@dataclass(frozen=True)
class Example:
    """One example of a rule: `bad` must be found, a good one must be silent."""

    rule: str
    bad: bool
    file: str
    text: str
    level: Level = Level.WARNING
    select: str | None = None
    beside: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.rule}-{'bad' if self.bad else 'good'}-{self.file}"


def examples() -> Iterator[Example]:
    """All examples of all rules."""
    for path in sorted(FIXTURES.glob("pc*.yaml")):
        document = yaml.safe_load(path.read_text("utf-8"))
        for kind in ("bad", "good"):
            for entry in document[kind]:
                yield Example(
                    path.stem.upper(),
                    kind == "bad",
                    entry["file"],
                    _filled(entry["text"]),
                    Level(entry.get("level", "warning")),
                    entry.get("select"),
                    {name: _filled(text) for name, text in entry.get("beside", {}).items()},
                )


def _filled(text: str) -> str:
    return text.replace("$RULES_LINE", RULES_LINE).replace("$RULES", RULES).replace("$LONG_LINE", LONG_LINE)


def findings_of(example: Example, folder: Path) -> list[Finding]:
    """What the linter says of the example, all rules on, at its level or worse. It must be readable."""
    for name, text in {**example.beside, example.file: example.text}.items():
        (folder / name).write_bytes(text.encode())
    source = read_file(folder / example.file, Readers())
    assert not source.problems, source.problems
    rules = select_rules([example.select] if example.select else [])
    found = check_sources([source], Checks(rules, count_tokens, limits_of=limits_of))
    return [finding for finding in found if finding.level.rank <= example.level.rank]


@cache
def count_tokens(text: str) -> int:
    """Tokens of o200k."""
    return len(_tokenizer().encode(text))


@cache
def _tokenizer():
    from analyzers.tokenization import load_tokenizer

    return load_tokenizer("o200k")
