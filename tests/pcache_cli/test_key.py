"""`pcache key` as a person and a script use it."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from pcache_cli.app import app
from tests.analyzers.test_serving_key import WHOLE


def key(*words: str | Path) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, ["key", *map(str, words)], env={"COLUMNS": "200"})
    return outcome.exit_code, outcome.output


def manifest(folder: Path, name: str, **changed: Any) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(WHOLE | changed))
    return path


def test_a_whole_manifest_shows_its_key_and_why(tmp_path: Path) -> None:
    code, out = key(manifest(tmp_path, "a"))
    assert code == 0
    assert out.startswith("Logical key: ")
    assert "other weights give other keys and values" in out
    assert "Need not take part" in out


def test_what_is_missing_is_named_and_is_1(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("tenant: fernhill\ntemperature: 0.2\n")
    code, out = key(path)
    assert code == 1
    assert out.startswith("No key yet: the manifest does not say authorization_scope, weights")


def test_two_that_may_share_are_0_and_two_that_must_not_1(tmp_path: Path) -> None:
    own = manifest(tmp_path, "a")
    assert key(own, manifest(tmp_path, "b", sampling={"temperature": 1}))[0] == 0
    code, out = key(own, manifest(tmp_path, "c", tenant="oakdale"))
    assert code == 1
    assert out.startswith("They must not share a cache: they differ in tenant.")


def test_what_cannot_be_told_is_3(tmp_path: Path) -> None:
    code, out = key(manifest(tmp_path, "a"), manifest(tmp_path, "b", steering="calm"))
    assert code == 3
    assert "steering" in out


def test_json_has_what_scripts_rely_on(tmp_path: Path) -> None:
    code, out = key(manifest(tmp_path, "a"), manifest(tmp_path, "b", tenant="oakdale"), "--json")
    answer = json.loads(out)
    assert code == 1
    assert answer["may_share"] is False
    assert answer["differences"][0]["name"] == "tenant"
    assert answer["key"]["key"] != answer["other"]["key"]
    assert "fernhill" not in out


def test_a_file_that_is_not_there_is_2(tmp_path: Path) -> None:
    code, out = key(tmp_path / "none.json")
    assert code == 2
    assert "Traceback" not in out


def test_markup_and_escapes_in_a_manifest_reach_no_terminal(tmp_path: Path) -> None:
    _, out = key(manifest(tmp_path, "a", **{"[bold]x\x1b[31m": 1}))
    assert "\x1b[31m" not in out
    assert "[bold]x" in out
