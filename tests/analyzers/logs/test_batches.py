"""Batch files of OpenAI and Anthropic: requests and answers joined on custom_id."""

import json
from pathlib import Path
from typing import Any

from tests.analyzers.logs.writing import read_inputs, read_rows, user


def asked(custom_id: str) -> dict[str, Any]:
    body = {"model": "gpt-4.1", "messages": [user(custom_id)]}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}


def answered(custom_id: str, prompt_tokens: int) -> dict[str, Any]:
    body = {
        "created": 100,
        "model": "gpt-4.1",
        "choices": [{"message": {"role": "assistant", "content": "ok"}}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1},
    }
    return {"id": "b", "custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None}


def failed(custom_id: str) -> dict[str, Any]:
    return {"id": "b", "custom_id": custom_id, "response": {"status_code": 400, "body": {}}, "error": None}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_input_and_output_are_joined_in_either_order(tmp_path: Path) -> None:
    questions = write(tmp_path / "in.jsonl", asked("a"), asked("b"))
    answers = write(tmp_path / "out.jsonl", answered("b", 20), answered("a", 10))
    for files in ((questions, answers), (answers, questions)):
        log = read_inputs(*files)
        assert [request.request_id for request in log.requests] == ["a", "b"]
        assert [request.usage and request.usage.prompt_tokens for request in log.requests] == [10, 20]
        assert (log.records, log.merged) == (4, 2)
        assert log.requests[0].time_ns == 100 * 10**9


def test_one_custom_id_used_twice_is_joined_in_order(tmp_path: Path) -> None:
    log = read_rows(tmp_path, asked("a"), asked("a"), answered("a", 1), answered("a", 2))
    assert [request.usage and request.usage.prompt_tokens for request in log.requests] == [1, 2]


def test_answers_without_their_request_count_with_their_usage(tmp_path: Path) -> None:
    log = read_rows(tmp_path, answered("a", 10), failed("b"))
    assert [(request.request_id, request.parts) for request in log.requests] == [("a", ())]
    assert log.requests[0].usage is not None
    assert log.skipped == {"failed call": 1}
    assert any("no request in the input" in note for note in log.notes)


def test_a_request_that_failed_in_the_batch_is_skipped(tmp_path: Path) -> None:
    log = read_rows(tmp_path, asked("a"), asked("b"), failed("a"), answered("b", 5))
    assert [request.request_id for request in log.requests] == ["b"]
    assert log.skipped == {"failed call": 1}
    assert log.merged == 2


def params(text: str) -> dict[str, Any]:
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [user(text)]}


def test_anthropic_batches_join_their_results(tmp_path: Path) -> None:
    batch = {"requests": [{"custom_id": name, "params": params(name)} for name in "abc"]}
    usage = {
        "input_tokens": 4,
        "output_tokens": 1,
        "cache_read_input_tokens": 6,
        "cache_creation_input_tokens": 0,
    }
    message = {"type": "message", "content": [{"type": "text", "text": "ok"}], "usage": usage}
    results = [
        {"custom_id": "b", "result": {"type": "succeeded", "message": message}},
        {"custom_id": "a", "result": {"type": "errored", "error": {}}},
    ]
    log = read_rows(tmp_path, batch, *results)
    assert [request.request_id for request in log.requests] == ["b", "c"]
    assert log.requests[0].usage is not None
    assert log.requests[0].usage.prompt_tokens == 10
    assert log.requests[1].usage is None
    assert (log.records, log.merged, log.skipped) == (5, 2, {"failed call": 1})
