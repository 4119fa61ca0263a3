"""Put the real output of the commands shown in README.md and docs/*.md back under them: `python docs/refresh.py`.

A shown command is a line `<!-- output of: pcache ... -->` followed by a fenced block. A test checks that every such
block is what the command prints today. `pcache ... | head -5` shows a part: what stands behind the first bar is a
shell command that gets the output.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"(<!-- output of: (pcache [^\n]*?) -->\n```[a-z]*\n)(.*?)(```\n)", re.DOTALL)


def documents() -> list[Path]:
    """The files that may show commands."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def shown_commands(text: str) -> list[tuple[str, str]]:
    """The commands of a document with the output shown under each."""
    return [(match[2], match[3]) for match in _BLOCK.finditer(text)]


def output_of(command: str) -> str:
    """What a pcache command prints on stdout, run in the root of the project, cut by what it is piped into."""
    command, _, cut = command.partition(" | ")
    words = shlex.split(command)[1:]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-m", "pcache_cli", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode not in (0, 1):
        raise RuntimeError(f"{command}: exit code {run.returncode}: {run.stderr}")
    printed = run.stdout
    if cut:
        printed = subprocess.run(
            cut, shell=True, input=printed, capture_output=True, text=True, check=True
        ).stdout
    return "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())


def main() -> None:
    """Refresh every document in place."""
    for path in documents():
        old = path.read_text(encoding="utf-8")
        new = _BLOCK.sub(lambda match: match[1] + output_of(match[2]) + match[4], old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(f"refreshed {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
