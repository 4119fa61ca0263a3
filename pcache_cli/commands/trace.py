"""`pcache trace`: read a log once, keep what every other command needs, without its text."""

from pathlib import Path
from typing import Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, takes_log


@pcache_command
@takes_log
def trace(
    source: LogSource,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .parquet, or .jsonl for hashes.")
    ],
    block_size: Annotated[
        int, typer.Option("--block-size", help="Tokens a block of the exported hash trace.")
    ] = 16,
    salt: Annotated[
        str | None,
        typer.Option("--salt", help="Mix into the order of block ids; the same salt gives the same ids."),
    ] = None,
) -> int:
    """Turn logs into a trace: the prefix tree and the request table, no text. Every command reads it.

    A name that ends in .jsonl gives an anonymised hash trace (Mooncake style) for other simulators.
    """
    from analyzers.errors import UsageError
    from analyzers.hash_export import write_hash_trace
    from analyzers.trace_file import save_trace
    from pcache_cli import console
    from pcache_cli.reports.numbers import counted

    if output.suffix.lower() not in (".parquet", ".jsonl"):
        raise UsageError(f"'{output}' must end in .parquet (a trace) or .jsonl (a hash trace)")
    built = source.trace()
    if output.suffix.lower() == ".jsonl":
        write_hash_trace(built, output, block_size, salt)
    else:
        save_trace(built, output)
    console.note(f"wrote {output}: {counted(len(built), 'request')}, {counted(len(built.tree), 'node')}")
    return 0
