"""How fast `pcache lint` is: 1,000 made-up templates of seven kinds, the whole command and its parts.

Run: python benchmarks/lint.py [--templates 1000]. Prints wall and CPU seconds, what start-up costs, and whether a
heavy library was imported.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RULES = "\n".join(
    f"{number}. In case number {number} answer with the short form, quote the order and name the department."
    for number in range(1, 40)
)

KINDS = {
    "chat{}.j2": "You are {{{{ bot_name }}}}.\n{rules}\n{{% for p in passages %}}- {{{{ p }}}}\n{{% endfor %}}\n",
    "clock{}.j2": "It is {{{{ now() }}}}.\n{{% if user.plan == 'pro' %}}Be thorough.{{% endif %}}\n{rules}\n",
    "include{}.j2": "{{% include 'shared.j2' %}}\nQuestion: {{{{ question }}}}\nAnswer:",
    "plain{}.prompt": "{rules}\nQuestion: {{question}}\n",
    "bars{}.hbs": "{rules}\n{{{{#each passages}}}}- {{{{this}}}}\n{{{{/each}}}}\n",
    "file{}.prompty": "---\nname: Answer\nmodel:\n  api: chat\n---\nsystem:\n{rules}\nuser:\n{{{{question}}}}\n",
    "fn{}.baml": 'function F{n}(q: string) -> string {{\n  client G\n  prompt #"\n{rules}\n{{{{ q }}}}\n"#\n}}\n',
}


def write_templates(folder: Path, count: int) -> int:
    """Write the templates; how many bytes they have."""
    size = 0
    (folder / "shared.j2").write_text(RULES + "\n")
    for number in range(count):
        name, body = list(KINDS.items())[number % len(KINDS)]
        text = body.format(n=number, rules=RULES.replace("case", f"case {number}"))
        path = folder / name.format(number)
        path.write_text(text)
        size += len(text)
    return size


def timed(command: list[str]) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """Wall and CPU seconds of a command, and what it said."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--templates", type=int, default=1000)
    count = parser.parse_args().templates
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_templates(folder, count)
        print(f"{count:,} templates, {size / 1e6:.1f} MB")
        python = [sys.executable, "-m", "pcache_cli"]
        for label, command in (
            ("start-up (lint --help)", [*python, "lint", "--help"]),
            ("one clean template", [*python, "lint", str(folder / "plain3.prompt")]),
            ("all templates", [*python, "lint", str(folder), "--json"]),
        ):
            wall, cpu, done = timed(command)
            print(f"{label:26} {wall:6.2f} s wall  {cpu:6.2f} s CPU  exit {done.returncode}")
        heavy = (
            "import sys; from pcache_cli.linting import LintOptions, run_lint; "
            f"run_lint(LintOptions(({str(folder)!r},), output_format='json', output=__import__('pathlib').Path({name!r}, 'o.json'))); "
            "print([m for m in ('numba', 'torch', 'transformers') if m in sys.modules])"
        )
        print("heavy libraries imported:", timed([sys.executable, "-c", heavy])[2].stdout.strip())


if __name__ == "__main__":
    main()
