"""Rows with usage and no prompt: they count, and whatever else they say is kept as labels."""

from pathlib import Path
from typing import Any

from tests.analyzers.logs.writing import read_inputs, read_rows
from tests.shared_folder import SHARED, needs_shared

USAGE = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}


def test_a_usage_row_is_a_request_without_parts(tmp_path: Path) -> None:
    row = {
        "id": "r1",
        "timestamp": "1970-01-01T00:00:01Z",
        "session": "s",
        "provider": "openrouter",
        "upstream": "north",
        "model": "m",
        "attempt": 2,
        "prefix_hashes": {"tools": "aa", "system": "bb"},
        "reported_cost_usd": 0.125,
        "usage": USAGE,
    }
    log = read_rows(tmp_path, row)
    (request,) = log.requests
    assert request.parts == ()
    assert (request.request_id, request.model, request.provider) == ("r1", "m", "openrouter")
    assert request.identity.session == "s"
    assert request.identity.labels == (
        ("attempt", "2"),
        ("prefix_hashes.system", "bb"),
        ("prefix_hashes.tools", "aa"),
        ("upstream", "north"),
    )
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.read_tokens) == (9, 4)
    assert str(request.usage.reported_cost) == "0.125"
    assert any("hold usage but no prompts" in note for note in log.notes)


def test_a_row_whose_usage_is_null_counts_as_unknown_and_not_as_zero(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "model": "m", "usage": USAGE},
        {"id": "b", "model": "m", "usage": None},
    ]
    log = read_rows(tmp_path, *rows)
    assert [request.usage is None for request in log.requests] == [False, True]


def test_bare_responses_are_usage_with_an_answer(tmp_path: Path) -> None:
    row = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 5,
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "ok"}}],
        "usage": USAGE,
    }
    (request,) = read_rows(tmp_path, row).requests
    assert request.time_ns == 5 * 10**9
    assert request.output is not None
    assert request.usage is not None
    assert request.identity.labels == ()


def test_csv_counters_are_numbers_and_empty_cells_unknown(tmp_path: Path) -> None:
    text = "request_id,ts,model,prompt_tokens,cached_tokens,team_id\na,5,m,9,4,x\nb,6,m,9,,x\n"
    (tmp_path / "u.csv").write_text(text)
    first, second = read_inputs(tmp_path / "u.csv").requests
    assert first.usage is not None
    assert second.usage is not None
    assert (first.usage.prompt_tokens, first.usage.read_tokens) == (9, 4)
    assert second.usage.read_tokens is None
    assert first.identity.workspace == "x"
    assert second.time_ns == 6 * 10**9


def test_a_csv_row_of_another_width_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("request_id,model,prompt_tokens\na,m,9\nb,m\nc,m,9,9\n")
    log = read_inputs(tmp_path / "u.csv")
    assert len(log.requests) == 1
    assert log.skipped == {"wrong number of cells": 2}


@needs_shared
def test_every_row_of_the_usage_files_at_hand_is_a_request() -> None:
    assert SHARED is not None
    counts = {}
    for path in sorted(SHARED.glob("cases/*/usage.jsonl")):
        log = read_inputs(path)
        assert not log.skipped
        counts[path.parent.name[:2]] = len(log.requests)
    assert counts == {"24": 7, "25": 24, "28": 2, "29": 2, "31": 1, "32": 4, "39": 5, "40": 7}
