"""`pcache trace`: read a log once, keep what every other command needs, without its text."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcache_cli.command import pcache_command
from pcache_cli.log_source import LogSource, takes_log

if TYPE_CHECKING:
    from analyzers.request import Log
    from analyzers.trace import Trace


class Engine(StrEnum):
    """Where the shards of a log are read."""

    LOCAL = "local"
    RAY = "ray"


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
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Processes that read at the same time.")
    ] = 1,
    shard_size: Annotated[
        str,
        typer.Option(
            "--shard-size", help="Log that a process holds at a time: less, and it needs less memory."
        ),
    ] = "64MiB",
    engine: Annotated[
        Engine, typer.Option("--engine", help="local, or ray: on the machines of a Ray cluster.")
    ] = Engine.LOCAL,
    address: Annotated[
        str | None, typer.Option("--address", help="The Ray cluster to use; one on this machine by default.")
    ] = None,
) -> int:
    """Turn logs into a trace: the prefix tree and the request table, no text. Every command reads it.

    The log may be larger than memory, and may lie on s3://, gs:// or az://. A run that was killed goes on where it
    stopped when the same command is given again: until it ends, what it has read lies in OUTPUT.parts. With
    --engine ray, shards at which workers fail are named and left out, and the exit code is 2.

    A name that ends in .jsonl gives an anonymised hash trace (Mooncake style) for other simulators.
    """
    from analyzers.errors import UsageError
    from analyzers.hash_export import write_hash_trace
    from analyzers.trace_file import is_trace_file, save_trace
    from pcache_cli import console
    from pcache_cli.reports.analyze import account_of, print_account
    from pcache_cli.reports.numbers import counted
    from pcache_cli.targets import check_target
    from pcache_cli.units import parse_size

    check_target("--output", output, ".parquet", ".jsonl", beside=True)
    if block_size < 1:
        raise UsageError(f"--block-size {block_size} is no number of tokens; write for example 16")
    if engine is Engine.LOCAL and address is not None:
        raise UsageError("--address names a Ray cluster; give --engine ray with it")
    if engine is Engine.RAY and jobs != 1:
        raise UsageError("--jobs is for this machine; a Ray cluster uses all its processors")
    shard_bytes = parse_size(shard_size)
    if not shard_bytes:
        raise UsageError("--shard-size 0 leaves nothing to read; write for example 64MiB")

    def write(built: "Trace", log: "Log | None" = None) -> None:
        if log is not None:
            print_account(console.stderr_console(), account_of(log, len(built)), built.info)
        if output.suffix.lower() == ".jsonl":
            write_hash_trace(built, output, block_size, salt)
        else:
            save_trace(built, output)
        console.note(f"wrote {output}: {counted(len(built), 'request')}, {counted(len(built.tree), 'node')}")

    if source.is_trace():
        write(source.trace())
        return 0
    # A trace may be made anew in the folder of its logs; a log is never written over.
    plan = source.plan(shard_bytes, frozenset({output.resolve()} if is_trace_file(output) else ()))
    if any(file.path is not None and file.path.resolve() == output.resolve() for file, _ in plan.versions):
        raise UsageError(f"{output} is among the files to read; write to another file")
    if engine is Engine.RAY:
        result = source.trace_with_ray(plan, address)
        write(result.trace, result.log)
        for shard in result.poisoned:
            console.error(f"{shard}; the trace is that of the rest")
        return 2 if result.poisoned else 0
    with source.trace_in_shards(plan, output.with_name(output.name + ".parts"), jobs) as merged:
        write(merged.trace, merged.log)
    return 0
