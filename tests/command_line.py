"""Run pcache in this process, as the script would: fast, with exit code and both streams."""

from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from pcache_cli import console
from pcache_cli.app import app


@dataclass(frozen=True)
class Finished:
    """What a run of the command line left: the names are those of subprocess.CompletedProcess."""

    returncode: int
    stdout: bytes
    stderr: bytes


def pcache(*words: str | Path, stdin: bytes | None = None) -> Finished:
    """Run one command. A traceback that the command line would not show is raised here."""
    console.settings = console.OutputSettings(color=False)
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Finished(result.exit_code, result.stdout_bytes, result.stderr_bytes)
