"""Every pcache command that the documents show exists with all its options, and runs where its files are at hand.

Commands whose output is shown are run by test_documents.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command_line import pcache
from tests.shown_inputs import lay_out

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import cli_reference  # noqa: E402
import refresh  # noqa: E402

COMMANDS = {command.name: command for command in cli_reference.commands()}
_FENCE = re.compile(r"^( *)```([a-z]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_IN_PROSE = re.compile(r"`(pcache [^`]+)`")
_SHELL = {"", "sh", "bash", "yaml"}
_PLACEHOLDER = re.compile(r"[A-Z_]+|…|\.\.\.")
_NOT_RUN = {
    "probe": "measures this machine for a minute or more; tests/gpu_probe runs it with small budgets",
    "ray": "needs a cluster and a bucket; tests/analyzers/shards has a cluster of its own",
    "--changed": "needs a git history with the revision",
    "--rules": "the extending page's rule file, which test_site loads",
}
_OPERATORS = {"|", "||", "&&", ";", ">", ">>", "<", "2>"}


@dataclass(frozen=True)
class Shown:
    """A command line of a document, cut into words. `whole` says that it can be typed as it stands."""

    path: str
    words: tuple[str, ...]
    output: str | None
    whole: bool

    def __str__(self) -> str:
        return f"{self.path}: {shlex.join(self.words)}"


def shown_in(path: str, text: str) -> Iterator[Shown]:
    """The commands of a document in their order: in fences that are no output, and in backticks."""
    text = re.sub(r"(<!-- output of: [^\n]* -->\n)```.*?\n```\n", r"\1", text, flags=re.DOTALL)
    for match in _FENCE.finditer(text):
        if match[2] in _SHELL:
            for line in match[3].replace("\\\n", " ").splitlines():
                bare = re.sub(r"^\s*(- )?(run: )?(\$ )?", "", line)
                for start in re.finditer(r"(?:^|(?<=[\s/]))pcache (?=[a-z-])", bare):
                    yield _cut(path, bare[start.start() :], whole=True)
    for match in _IN_PROSE.finditer(_FENCE.sub("", text)):
        yield _cut(path, " ".join(match[1].split()), whole=False)


def _cut(path: str, line: str, whole: bool) -> Shown:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words = list(lexer)
    end = next((i for i, word in enumerate(words) if word in _OPERATORS), len(words))
    output = words[end + 1] if words[end : end + 1] == [">"] else None
    return Shown(path, tuple(words[1:end]), output, whole)


def problem_of(shown: Shown) -> str | None:
    """What is wrong with a command line: no such command or option, a value or an argument missing."""
    name, *rest = shown.words
    if name.startswith("-"):
        return None if name in ("--help", "-h", "--version") else f"pcache has no option {name}"
    if name not in COMMANDS:
        return f"there is no command {name}"
    places, _, problem = _read(name, rest)
    needed = sum(one.required for one in COMMANDS[name].arguments)
    if problem is None and shown.whole and len(places) < needed:
        return f"{name} needs {needed} argument(s)"
    return problem


def _read(name: str, words: list[str]) -> tuple[list[str], dict[str, str], str | None]:
    """The words in their places, the values by option, and what is wrong."""
    options = {n: one for one in COMMANDS[name].options for n in (*one.names, *one.off_names)}
    places: list[str] = []
    values: dict[str, str] = {}
    left = iter(words)
    for word in left:
        if not word.startswith("-") or word == "-":
            places.append(word)
            continue
        option, equals, value = word.partition("=")
        if option in ("--help", "-h"):
            continue
        if option not in options:
            return places, values, f"{name} has no option {option}"
        if options[option].value:
            given = value if equals else next(left, None)
            if given is None and len(words) > 1:
                return places, values, f"{option} needs a value"
            values[option] = given or ""
    return places, values, None


SHOWN = [
    shown
    for path in refresh.documents()
    for shown in shown_in(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    if shown.words and not shown.words[0].isupper()
]


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_a_shown_command_and_its_options_exist(shown: Shown) -> None:
    assert problem_of(shown) is None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("pcache analyse logs.jsonl", "there is no command analyse"),
        ("pcache analyze logs.jsonl --fail-under 0.5", "analyze has no option --fail-under"),
        ("pcache analyze", "analyze needs 1 argument(s)"),
        ("pcache diff before.jsonl", "diff needs 2 argument(s)"),
        ("pcache simulate log.jsonl --ttl", "--ttl needs a value"),
        ("pcache --verbose", "pcache has no option --verbose"),
        ("- run: pcache lint prompts --changed=origin/main | tee out", None),
    ],
)
def test_a_wrong_command_is_noticed(line: str, problem: str | None) -> None:
    (shown,) = shown_in("page.md", f"```sh\n{line}\n```\n")
    assert problem_of(shown) == problem


def test_output_is_no_command() -> None:
    page = "<!-- output of: pcache rule PC101 | head -1 -->\n```text\npcache nothing\n```\n"
    assert list(shown_in("page.md", page)) == []


WITH_OUTPUT = {
    tuple(shlex.split(command.partition(" | ")[0])[1:])
    for path in refresh.documents()
    for command, _ in refresh.shown_commands(path.read_text(encoding="utf-8"))
}


def _to_run(shown: Shown) -> bool:
    """Whether a command line is complete, is not left out for a reason, and is not run by test_documents."""
    name, *rest = shown.words
    if name not in COMMANDS or any(word in _NOT_RUN for word in shown.words):
        return False
    if shown.words in WITH_OUTPUT or (*shown.words, "--quiet") in WITH_OUTPUT:
        return False
    if any(_PLACEHOLDER.fullmatch(word) for word in rest):
        return False
    # A command in prose may be no more than its name.
    return shown.whole or bool(_read(name, rest)[0])


PAGES = sorted({shown.path for shown in SHOWN if _to_run(shown)})


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_one_after_the_other(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    for shown in SHOWN:
        if shown.path == page and _to_run(shown):
            run = pcache(*shown.words)
            assert run.returncode in (0, 1), f"{shown}: {run.stderr.decode()}"
            if shown.output is not None:
                Path(shown.output).write_bytes(run.stdout)
