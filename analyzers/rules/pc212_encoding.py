"""A prompt file starts with a byte order mark.

What: the first three bytes of the file are EF BB BF.

Why: the mark is a character of the prompt. Where one editor writes it and another does not, the two prompts
share nothing, from the first token on; and nobody sees it.

Bad: a template saved as "UTF-8 with BOM".

Good: the same saved as "UTF-8".

Must not flag: UTF-8 without the mark. (Other encodings are refused, with the place of the first wrong byte.)
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level, Location, Safety
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Source


def _source(source: Source) -> Iterator[Finding]:
    if source.had_bom:
        yield RULE.finding(
            "the file starts with a byte order mark, an invisible first character of the prompt",
            Location(source.path, 1, 1),
            subject="byte order mark",
            fix=Fix("Save the file as UTF-8 without the mark.", safety=Safety.SAFE),
        )


RULE = Rule.of(__name__, Level.WARNING, source=_source)
