"""`pcache key`: what must take part in the key of a cached prefix, and whether two deployments may share."""

from pathlib import Path
from typing import Annotated

import typer

from pcache_cli.command import pcache_command


@pcache_command
def key(
    manifest: Annotated[
        Path, typer.Argument(metavar="MANIFEST", help="A serving manifest: JSON, YAML or TOML.")
    ],
    other: Annotated[
        Path | None, typer.Argument(metavar="[OTHER]", help="A second one: may the two share a cache?")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The answer as JSON on stdout.")] = False,
) -> int:
    """The logical cache key of a serving manifest; with two, what forbids sharing. Exit 1 when the key lacks a
    field or sharing is forbidden, 3 when it cannot be told."""
    from analyzers.serving_key import Verdict, compare_keys, read_manifest, serving_key
    from pcache_cli import console
    from pcache_cli.reports.serving_key import (
        comparison_document,
        key_document,
        print_comparison,
        print_key,
    )

    own = serving_key(read_manifest(manifest))
    if other is None:
        if json:
            console.print_json(key_document(own))
        else:
            print_key(console.stdout_console(), own)
        return int(own.digest is None)
    comparison = compare_keys(own, serving_key(read_manifest(other)))
    if json:
        console.print_json(comparison_document(comparison))
    else:
        print_comparison(console.stdout_console(), comparison)
    return {Verdict.MAY: 0, Verdict.MUST_NOT: 1, Verdict.UNKNOWN: 3}[comparison.verdict]
