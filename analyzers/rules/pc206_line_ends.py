"""A prompt file has Windows line ends, or mixes two kinds.

What: some lines of the file end in CR LF (or CR alone).

Why: the same file gives another text where git or an editor converts it: a prompt sent from Windows shares
nothing behind its first line with one sent from Linux. Mixed line ends change with the next save.

Bad: `You are helpful.\\r\\nBe brief.\\n`

Good: `You are helpful.\\nBe brief.\\n`

Must not flag: files whose lines all end in LF.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Finding, Fix, Level, Location, Safety
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    changes,
    in_head,
)
from analyzers.templates.parts import Source

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _source(source: Source) -> Iterator[Finding]:
    if source.windows_lines and source.prompts and source.prompts[0].kind != "request":
        mixed = source.windows_lines < source.line_count
        what = f"{source.windows_lines:,} of {source.line_count:,} lines end" if mixed else "every line ends"
        yield RULE.finding(
            f"{what} in CR LF; the prompt differs from one sent where the file has LF",
            Location(source.path, 1, 1),
            level=Level.WARNING if mixed else Level.INFO,
            subject="line ends",
            fix=Fix("Save the file with LF line ends.", safety=Safety.SAFE),
        )


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if in_head(slot):
        yield from changes(
            RULE,
            slot,
            log,
            {Change.LINE_ENDS: "other line ends"},
            "Send the same line ends always.",
            safety=Safety.SAFE,
        )


RULE = Rule.of(__name__, Level.WARNING, source=_source, pair=_pair)
