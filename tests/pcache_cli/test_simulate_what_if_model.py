"""`pcache simulate --what-if model=NAME` plays models that somebody knows."""

from pathlib import Path

import pytest

from tests.command_line import Finished, pcache

LOG = Path(__file__).resolve().parents[2] / "sample_logs" / "coding_agent_markers.jsonl"


def _play(model: str, *words: str | Path) -> Finished:
    return pcache("simulate", LOG, "--provider", "auto", "--what-if", f"model={model}", "-q", *words)


def test_a_slip_in_the_name_is_refused_with_the_names_near_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("analyzers.pipeline.trace_log", _never_read)
    done = _play("claude-sonet-5")
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"near it are claude-sonnet-5," in done.stderr


def test_a_name_that_is_like_no_other_is_refused_with_what_to_give():
    done = _play("zzzz")
    assert done.returncode == 2
    assert b"--prices FILE" in done.stderr
    assert b"near" not in done.stderr


def test_a_known_model_is_played_and_priced():
    done = _play("claude-opus-5")
    assert done.returncode == 0
    assert b"The cost is $" in done.stdout


def test_a_model_that_only_another_seller_has_is_refused():
    done = _play("llama-3.3-70b-versatile")
    assert done.returncode == 2
    assert b"no known price here" in done.stderr


def test_rules_that_are_not_those_of_the_models_maker_are_named():
    note = b"gpt-5 is played under the rules of Anthropic; for those of OpenAI ask with --provider openai"
    assert note in b" ".join(_play("gpt-5").stdout.split())
    assert b"is played under" not in _play("claude-opus-5").stdout
    done = pcache("simulate", LOG, "--provider", "openai", "--what-if", "model=gpt-5", "-q")
    assert b"is played under" not in done.stdout


def test_the_prices_of_a_file_make_a_model_known(tmp_path: Path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("our-own-model: {input: 3, output: 15, read: 0.3, write5m: 3.75}\n")
    assert b"The cost is $0.04" in _play("our-own-model", "--prices", prices).stdout
    assert b"near it are our-own-model;" in _play("our-own-modle", "--prices", prices).stderr


def _never_read(*_: object) -> None:
    raise AssertionError("the log was read before the names were checked")
