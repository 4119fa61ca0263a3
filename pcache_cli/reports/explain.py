"""`pcache explain` and the pair half of `pcache diff` for people: ladder, differences, rule, fix. No arithmetic."""

from dataclasses import replace
from typing import TYPE_CHECKING

from pcache_cli.console import plain
from pcache_cli.reports.numbers import count, duration
from pcache_cli.reports.tables import FittedTable

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.explanation import Explanation, Place

_STATES = {"same": "green", "changed": "red", "equal again": "yellow", "new": "dim"}
_MOST = 12


def without_text(story: "Explanation") -> "Explanation":
    """The story without any text of a prompt."""
    findings = tuple(
        replace(finding, evidence=replace(finding.evidence, excerpt=None)) for finding in story.findings
    )
    return replace(story, findings=findings)


def print_explanation(console: "Console", story: "Explanation") -> None:
    """The whole story on a terminal."""
    console.print(plain(story.verdict), style="bold")
    facts = [f"model {story.model}"] if story.model else []
    if story.gap_s is not None:
        facts.append(f"{duration(story.gap_s)} after {story.against}")
    if story.logged_read is not None:
        written = "" if story.logged_written is None else f", {count(story.logged_written)} written"
        facts.append(
            f"the log shows {count(story.logged_read)} of {count(story.logged_prompt)} read{written}"
        )
    if facts:
        console.print(plain("; ".join(facts)) + ".", style="dim")
    console.print(f"Order: {plain(story.order)}.", style="dim")
    if story.ladder:
        table = FittedTable("What matched, in rendered order", "part", "tokens", "", text=(0, 2))
        for rung in story.ladder:
            name = rung.first if rung.first == rung.last else f"{rung.first} to {rung.last}"
            table.add_row(plain(name), count(rung.tokens), rung.state, style=_STATES[rung.state])
        console.print()
        console.print(table)
    if story.differences:
        console.print()
        console.print("Differences", style="italic")
        for place in story.differences[:_MOST]:
            _print_place(console, place)
        if len(story.differences) > _MOST:
            console.print(f"  … {len(story.differences) - _MOST} more")
    for finding in story.findings:
        console.print()
        console.print(f"{finding.rule} ({finding.level}, {finding.confidence}): {plain(finding.message)}")
        if finding.fix is not None:
            console.print(f"  Fix: {plain(finding.fix.advice)}")
            console.print(f"  pcache rule {finding.rule} tells more.", style="dim")


def _print_place(console: "Console", place: "Place") -> None:
    at = "" if place.char_offset is None else f", character {place.char_offset:,}"
    came = f" (was {place.earlier_path})" if place.earlier_path not in (None, place.path) else ""
    note = f": {place.note}" if place.note else ""
    console.print(f"  {plain(place.path)}{at}{plain(came)}: {place.change}{plain(note)}")
    for text, span, sign in (
        (place.before, place.before_span, "-"),
        (place.after, place.after_span, "+"),
    ):
        if text is not None and span is not None:
            console.print(f"    {sign} {plain(text)}", soft_wrap=True)
            console.print(
                "      " + " " * span[0] + "^" * max(1, span[1] - span[0]), soft_wrap=True, style="red"
            )
