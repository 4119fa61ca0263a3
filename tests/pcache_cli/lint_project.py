"""A small project to lint, and a way to run the command in it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pcache_cli.app import app
from tests.analyzers.rules.fixture_files import RULES

CLOCK_FIRST = f"Time: {{{{ now() }}}}\n{RULES}"
CLEAN = f"{RULES}\nQuestion: {{{{ question }}}}\n"


@dataclass(frozen=True)
class Outcome:
    """What one run printed and returned."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as JSON."""
        value: dict[str, Any] = json.loads(self.out)
        return value

    @property
    def rules(self) -> list[str]:
        """The rules of the findings in order."""
        return [finding["rule"] for finding in self.document["findings"]]


class Project:
    """A folder with files in it, which is the working folder of every run."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("NO_COLOR", "1")

    def write(self, **files: str) -> None:
        """Write files; `__` in a name stands for `/` and a trailing `_j2` for `.j2`."""
        for name, text in files.items():
            stem, _, suffix = name.replace("__", "/").rpartition("_")
            self.put(f"{stem}.{suffix}", text)

    def put(self, name: str, text: str) -> Path:
        """Write one file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def lint(self, *arguments: str, input: bytes | None = None) -> Outcome:
        """Run `pcache lint`."""
        return self.run("lint", *arguments, input=input)

    def run(self, *arguments: str, input: bytes | None = None) -> Outcome:
        """Run any command."""
        result = CliRunner().invoke(app, list(arguments), input=input)
        return Outcome(result.exit_code, result.stdout, result.stderr)
