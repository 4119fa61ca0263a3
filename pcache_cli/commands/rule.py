"""`pcache rule`: what each rule finds, why it matters, and what it must not flag."""

from typing import Annotated

import typer

from pcache_cli.command import pcache_command


@pcache_command
def rule(
    word: Annotated[
        str | None, typer.Argument(metavar="[RULE]", help="Id or name; all when left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The rules as JSON.")] = False,
) -> int:
    """Show one rule's documentation, or list all rules."""
    from analyzers.rules.registry import all_rules, find_rule
    from pcache_cli import console
    from pcache_cli.reports.rules import print_rule, print_rules, rules_document

    chosen = [find_rule(word)] if word else list(all_rules().values())
    if as_json:
        console.print_json(rules_document(chosen))
    elif word:
        print_rule(chosen[0], console.stdout_console())
    else:
        print_rules(chosen, console.stdout_console())
    return 0
