"""`pcache simulate --provider … --what-if layout=fixed`, end to end."""

import json
from pathlib import Path

from typer.testing import CliRunner

from pcache_cli.app import app

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
CLOCK = SAMPLES / "support_bot_clock.jsonl"
HEALTHY = SAMPLES / "healthy_agent.jsonl"


def _run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["simulate", *map(str, words), "--what-if", "layout=fixed"])
    assert result.exit_code == code, result.output
    return " ".join((result.output if code == 3 else result.stdout).split())


def _document(*words: object) -> dict[str, object]:
    return json.loads(_run(*words, "--provider", "auto", "--json"))


def test_the_fixed_log_stands_beside_the_log_as_it_is() -> None:
    said = _run(CLOCK, "--provider", "auto")
    assert "With the change 89.6 % of the prompt tokens are read from cache instead of 0.0 %." in said
    assert "fixed at messages[0].content (35 requests differ there)" in said
    assert "read 49,664 0" in said
    assert "cost $0.04267 $0.1171" in said


def test_money_and_tokens_of_the_fixed_log_add_up() -> None:
    found = _document(CLOCK)
    fixed, logged = found["provider"], found["as_logged"]
    assert fixed["prompt_tokens"] == fixed["read_tokens"] + fixed["uncached_tokens"]
    # A token for each request at most, where the clock stands behind other text than before.
    assert 0 <= fixed["prompt_tokens"] - logged["prompt_tokens"] <= fixed["requests"]
    # gpt-4.1 at 2 in, 0.5 read: the bills differ by what is read at a quarter of the price, and by the seams.
    saved = float(logged["bills"]["USD"]["paid"]) - float(fixed["bills"]["USD"]["paid"])
    seams = fixed["prompt_tokens"] - logged["prompt_tokens"]
    assert abs(saved - (fixed["read_tokens"] * 1.5 - seams * 2) / 1e6) < 1e-9


def test_it_goes_with_other_changes() -> None:
    alone = _document(CLOCK)["provider"]
    other = _document(CLOCK, "--what-if", "model=gpt-4o")["provider"]
    assert other["read_tokens"] == alone["read_tokens"]
    assert [rules["model"] for rules in other["rules"]] == ["gpt-4o"]


def test_where_only_markers_can_be_read_they_are_asked_for() -> None:
    # From GPT-5.6 on an entry ends with the newest message, which now holds the clock.
    newer = _run(CLOCK, "--provider", "openai", "--what-if", "model=gpt-5.6")
    assert "instead of 0.0 %" in newer
    assert "add --what-if markers=best" in newer
    both = _run(CLOCK, "--provider", "openai", "--what-if", "model=gpt-5.6", "--what-if", "markers=best")
    assert "With the change 93." in both
    assert "add --what-if" not in both


def test_a_log_without_breakers_gets_one_sentence() -> None:
    said = _run(HEALTHY, "--provider", "auto")
    assert said.startswith("Nothing to fix: ")
    assert said.count(". ") == 0


def test_a_log_without_breakers_keeps_its_figures_in_the_document() -> None:
    found = _document(HEALTHY)
    assert found["provider"]["read_tokens"] == found["as_logged"]["read_tokens"]
    assert any(note.startswith("Nothing to fix") for note in found["provider"]["notes"])


def test_a_trace_holds_no_text_to_move(tmp_path: Path) -> None:
    trace = tmp_path / "trace.parquet"
    made = CliRunner().invoke(app, ["trace", str(CLOCK), "-o", str(trace)])
    assert made.exit_code == 0, made.output
    assert "needs the log it was made from" in _run(trace, "--provider", "auto", code=3)
