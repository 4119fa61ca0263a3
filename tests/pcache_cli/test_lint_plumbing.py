"""The pre-commit hooks and the GitHub action call the command as it is."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from pcache_cli.app import app

ROOT = Path(__file__).resolve().parents[2]


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def help_text() -> str:
    return CliRunner().invoke(app, ["lint", "--help"], env={"COLUMNS": "200"}).stdout


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("a.j2", True),
        ("app/templates/system.jinja", True),
        ("prompts/rules.txt", True),
        ("prompts/deep/rules.md", True),
        ("my_prompt.yaml", True),
        ("models/tokenizer_config.json", True),
        ("app/agent.py", True),
        ("README.md", False),
        ("config.yaml", False),
        ("package.json", False),
    ],
)
def test_the_hook_takes_templates_and_code(path: str, taken: bool) -> None:
    (hook,) = (hook for hook in read(".pre-commit-hooks.yaml") if hook["id"] == "pcache-lint")
    assert (re.search(hook["files"], path) is not None) is taken


def test_hooks_and_action_use_options_that_exist() -> None:
    used = set(
        re.findall(r"--[a-z-]{3,}", (ROOT / "action.yml").read_text("utf-8").partition("Lint prompts")[2])
    )
    for hook in read(".pre-commit-hooks.yaml"):
        assert hook["entry"].startswith("pcache lint")
        used |= set(re.findall(r"--[a-z-]{3,}", hook["entry"]))
    assert used
    shown = help_text()
    assert not [option for option in used if option not in shown]


def test_the_action_takes_inputs_only_as_environment_variables() -> None:
    steps = read("action.yml")["runs"]["steps"]
    assert not [step for step in steps if "inputs." in step.get("run", "")]
    names = set(read("action.yml")["inputs"])
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == names


def test_the_documents_name_options_that_exist() -> None:
    text = (ROOT / "docs" / "lint.md").read_text("utf-8")
    shown = help_text()
    assert not [option for option in set(re.findall(r"`(--[a-z-]{3,})", text)) if option not in shown]
