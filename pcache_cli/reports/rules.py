"""The rules and their documentation, on a terminal and as JSON."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from analyzers.rules.registry import Rule
from pcache_cli.console import plain
from pcache_cli.reports.as_json import document

if TYPE_CHECKING:
    from rich.console import Console


def rules_document(rules: Sequence[Rule]) -> dict[str, Any]:
    """The rules as a JSON value."""
    return document(
        "rule",
        rules=[
            {
                "id": rule.id,
                "name": rule.name,
                "family": rule.family,
                "level": rule.level,
                "title": rule.title,
                "documentation": rule.docs,
            }
            for rule in rules
        ],
    )


def print_rule(rule: Rule, console: "Console") -> None:
    """One rule's documentation as it is written."""
    console.print(f"[bold]{rule.id}[/] {plain(rule.name)} ({rule.family}; {rule.level})", soft_wrap=True)
    console.print()
    for line in rule.docs.splitlines():
        console.print(plain(line), soft_wrap=True)


def print_rules(rules: Sequence[Rule], console: "Console") -> None:
    """All rules by family, one line each."""
    for family, members in groupby(rules, key=lambda rule: rule.family):
        console.print(f"[bold]{family}[/]", soft_wrap=True)
        for rule in members:
            console.print(f"  {rule.id}  {rule.name:<26} {rule.level:<8} {plain(rule.title)}", soft_wrap=True)
    console.print()
    console.print("One rule in full: pcache rule PC101", style="dim")
