"""What `pcache analyze` says of breakers, layouts, markers and sharing."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from pcache_cli.app import app

ROOT = Path(__file__).resolve().parents[2]
CLOCK = ROOT / "sample_logs" / "support_bot_clock.jsonl"
HEALTHY = ROOT / "sample_logs" / "healthy_agent.jsonl"
MARKED = ROOT / "sample_logs" / "coding_agent_markers.jsonl"


def analyze(*words: str | Path) -> str:
    outcome = CliRunner().invoke(app, ["analyze", *map(str, words), "--quiet"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def answer(*words: str | Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(analyze(*words, "--json"))
    return value


def test_the_thing_most_worth_doing_stands_under_the_verdict_with_what_it_brings() -> None:
    lines = analyze(CLOCK).splitlines()
    assert "could have been read from cache" in lines[0]
    assert lines[1].startswith("  1. Move the time behind the fixed text")
    assert "42,836 tokens more from cache" in lines[1] + lines[2]


def test_json_gives_each_breaker_its_gain() -> None:
    told = answer(CLOCK)
    (breaker,) = told["breakers"]
    assert breaker["rule"] == "PC101"
    assert breaker["proven"] is True
    assert breaker["gain_tokens"] == breaker["marginal_gain_tokens"] == breaker["gain"]["tokens"] > 0
    together = told["fixes_together"]
    assert together["reusable_tokens_after"] == told["reusable_tokens"] + breaker["gain_tokens"]
    assert together["prompt_tokens_after"] == told["prompt_tokens"]
    assert [part["name"] for part in told["layouts"][0]["parts"]][-1] == "clock"


def test_text_of_prompts_is_quoted_only_when_asked() -> None:
    assert "excerpt" not in answer(CLOCK)["breakers"][0]
    assert answer(CLOCK, "--show-text")["breakers"][0]["excerpt"]


def test_a_healthy_log_has_no_breakers_and_no_gain() -> None:
    told = answer(HEALTHY)
    assert told["breakers"] == []
    assert told["fixes_together"]["gain_tokens"] == 0
    assert not any(layout["changed"] for layout in told["layouts"])
    assert "Nothing breaks the prefix" in analyze(HEALTHY)


def test_breakers_can_be_left_out() -> None:
    told = answer(CLOCK, "--no-breakers")
    assert "breakers" not in told
    assert told["reusable_tokens"] == answer(CLOCK)["reusable_tokens"]


def test_markers_are_placed_when_asked() -> None:
    markers = answer(MARKED, "--markers")["markers"]
    assert 1 <= len(markers["spots"]) <= 4
    assert markers["placed"]["price"] <= markers["logged"]["price"]
    assert "Where markers should stand" in analyze(MARKED, "--markers")


def test_what_keeping_sessions_apart_would_cost_is_shown() -> None:
    choices = answer(HEALTHY)["namespace_choices"]
    costs = {tuple(choice["fields"]): choice["cost_tokens"] for choice in choices}
    assert costs["model",] == 0 < costs["model", "session"]
    assert "What keeping requests apart costs" in analyze(HEALTHY)


def test_a_prefix_of_one_tenants_text_that_another_could_read_is_told(tmp_path: Path) -> None:
    rates = "The rates of [bold]Fernhill[/bold] Parts. " + " ".join(
        f"Depot {n} takes {n} days." for n in range(40)
    )
    rows = [("fern", rates), ("oak", rates), ("elm", "You help.")]
    lines = [
        json.dumps(
            {
                "id": f"r{i}\u001b[31m",
                "tenant_id": tenant,
                "request": {"model": "gpt-4.1", "messages": [{"role": "system", "content": system}]},
            }
        )
        for i, (tenant, system) in enumerate(rows)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    out = analyze(tmp_path / "log.jsonl", "--namespace", "model")
    assert "A prefix crosses the boundary of a tenant" in out
    assert "shared by 2 of 3" in out
    assert "\x1b[31m" not in out
    assert "A prefix crosses" not in analyze(tmp_path / "log.jsonl")
