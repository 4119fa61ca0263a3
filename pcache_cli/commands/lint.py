"""`pcache lint`: prompt templates, prompt-building code and request bodies checked before they ship."""

from pathlib import Path
from typing import Annotated

import typer

from pcache_cli.command import pcache_command

_TARGETS = "Files, folders or globs; - for standard input. The current folder when left out."


@pcache_command
def lint(
    inputs: Annotated[list[str] | None, typer.Argument(metavar="PATH", help=_TARGETS)] = None,
    select: Annotated[
        list[str] | None,
        typer.Option("--select", help="Only these rules: ids, names or families (PC1,clock)."),
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", help="Leave these rules out.")] = None,
    per_file_ignores: Annotated[
        list[str] | None, typer.Option("--per-file-ignores", help="GLOB:RULES left out in some files.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", help="Globs of files to leave out.")
    ] = None,
    output_format: Annotated[
        str, typer.Option("--output-format", help="text, json, sarif, github or junit.")
    ] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --output-format json.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the report to a file.")] = None,
    level: Annotated[
        str,
        typer.Option(
            "--level", help="Lowest level reported: error, warning, info; what is lower fails nothing either."
        ),
    ] = "info",
    fail_level: Annotated[
        str | None, typer.Option("--fail-level", help="Exit 1 from this level on (warning), or never.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Model whose limits and prices hold for the prompts.")
    ] = None,
    requests_per_day: Annotated[
        int | None, typer.Option("--requests-per-day", min=1, help="Price findings for so many requests.")
    ] = None,
    logs: Annotated[
        list[str] | None, typer.Option("--logs", help="Request logs that show which variables really change.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="Findings to accept; only new ones are reported.")
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the baseline from this run's findings.")
    ] = False,
    changed: Annotated[
        str | None, typer.Option("--changed", metavar="REF", help="Only lines changed since a git revision.")
    ] = None,
    lock: Annotated[
        bool, typer.Option("--lock", help="Compare fixed beginnings with the lock file.")
    ] = False,
    update_lock: Annotated[bool, typer.Option("--update-lock", help="Write the lock file.")] = False,
    lock_file: Annotated[Path | None, typer.Option("--lock-file", help="pcache.lock unless given.")] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the safe fixes.")] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="Apply fixes that move text as well.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what the fixes would change; write nothing.")
    ] = False,
    stdin_filename: Annotated[
        str, typer.Option("--stdin-filename", help="Name that says how to read standard input.")
    ] = "stdin.j2",
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="Tokenizer that counts (o200k).")
    ] = None,
    show_text: Annotated[bool, typer.Option("--show-text", help="Quote prompt text in the report.")] = False,
) -> int:
    """Find what keeps prompts out of the cache: in templates, prompt-building code and request bodies."""
    from pcache_cli.linting import LintOptions, run_lint

    return run_lint(
        LintOptions(
            inputs=tuple(inputs or ["."]),
            select=_words(select),
            ignore=_words(ignore),
            per_file_ignores=tuple(per_file_ignores or ()),
            exclude=tuple(exclude or ()),
            output_format="json" if as_json else output_format,
            output=output,
            level=level,
            fail_level=fail_level,
            model=model,
            requests_per_day=requests_per_day,
            logs=tuple(logs or ()),
            baseline=baseline,
            update_baseline=update_baseline,
            changed=changed,
            lock=lock,
            update_lock=update_lock,
            lock_file=lock_file,
            fix=fix,
            unsafe_fixes=unsafe_fixes,
            diff=diff,
            stdin_filename=stdin_filename,
            tokenizer=tokenizer,
            show_text=show_text,
        )
    )


def _words(options: list[str] | None) -> tuple[str, ...]:
    return tuple(word.strip() for option in options or () for word in option.split(",") if word.strip())
