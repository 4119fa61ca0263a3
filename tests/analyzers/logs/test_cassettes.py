"""VCR cassettes and HAR archives: of everything recorded only the model calls are taken."""

import base64
import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest
import yaml

from analyzers.errors import InputError
from analyzers.logs import read_log
from tests.analyzers.logs.writing import read_inputs
from tests.shared_folder import SHARED, needs_shared

BODY = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]}
ANSWER = {
    "choices": [{"message": {"role": "assistant", "content": "ok"}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}},
}
URL = "https://api.openai.com/v1/chat/completions"
DATE = {"date": ["Mon, 05 Oct 2026 09:00:00 GMT"]}


def interaction(request: Any, response: Any, url: str = URL, method: str = "POST", code: int = 200) -> Any:
    return {
        "request": {"method": method, "uri": url, "headers": {}, **request},
        "response": {"status": {"code": code, "message": ""}, "headers": DATE, **response},
    }


def cassette(path: Path, *interactions: Any) -> Path:
    path.write_text(yaml.safe_dump({"version": 1, "interactions": list(interactions)}))
    return path


def test_bodies_as_text_gzip_and_parsed_yaml_read_alike(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(ANSWER).encode())
    path = cassette(
        tmp_path / "test_it[x].yaml",
        interaction({"body": json.dumps(BODY)}, {"body": {"string": json.dumps(ANSWER)}}),
        interaction({"body": json.dumps(BODY).encode()}, {"body": {"string": packed}}),
        interaction({"parsed_body": BODY}, {"parsed_body": ANSWER}),
    )
    log = read_inputs(path)
    assert [r.parts[0].value() for r in log.requests] == BODY["messages"] * 3
    assert [r.usage and r.usage.read_tokens for r in log.requests] == [4, 4, 4]
    assert {r.provider for r in log.requests} == {"openai"}
    assert [r.line for r in log.requests] == [1, 2, 3]
    assert len({r.time_ns for r in log.requests}) == 1
    assert log.requests[0].time_ns == 1_791_190_800 * 10**9


def test_other_traffic_and_failed_calls_are_counted_apart(tmp_path: Path) -> None:
    path = cassette(
        tmp_path / "a.yaml",
        interaction({"body": json.dumps(BODY)}, {"parsed_body": ANSWER}),
        interaction({}, {}, url="https://api.openai.com/v1/models", method="GET"),
        interaction({"body": "{}"}, {}, url="https://api.openai.com/v1/embeddings"),
        interaction({"body": json.dumps(BODY)}, {"parsed_body": {}}, code=400),
    )
    log = read_inputs(path, strict=True)
    assert log.records == 4
    assert len(log.requests) == 1
    assert log.skipped == {"not a model call": 2, "failed call": 1}


def test_models_named_in_the_path_are_found(tmp_path: Path) -> None:
    gemini = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    converse = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    host = "https://bedrock-runtime.us-east-1.amazonaws.com/model"
    path = cassette(
        tmp_path / "a.yaml",
        interaction(
            {"parsed_body": gemini},
            {"parsed_body": {"usageMetadata": {"promptTokenCount": 3, "cachedContentTokenCount": 1}}},
            url="https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent?alt=json",
        ),
        interaction(
            {"parsed_body": converse},
            {"parsed_body": {"usage": {"inputTokens": 1, "cacheReadInputTokens": 2, "outputTokens": 1}}},
            url=f"{host}/us.amazon.nova-pro-v1%3A0/converse",
        ),
    )
    first, second = read_inputs(path).requests
    assert (first.model, first.provider, first.dialect.value) == ("gemini-2.5-pro", "gemini", "gemini")
    assert (second.model, second.provider) == ("us.amazon.nova-pro-v1:0", "bedrock")
    assert second.usage is not None
    assert (second.usage.prompt_tokens, second.usage.read_tokens) == (3, 2)


def frame(kind: str, payload: dict[str, Any]) -> bytes:
    """One event-stream frame; the reader does not check the checksums."""
    name, value, body = b":event-type", kind.encode(), json.dumps(payload).encode()
    headers = bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
    total = 12 + len(headers) + len(body) + 4
    return struct.pack(">III", total, len(headers), 0) + headers + body + b"\0\0\0\0"


def test_bedrock_event_streams_are_put_together(tmp_path: Path) -> None:
    frames = [
        frame("messageStart", {"role": "assistant"}),
        frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "hel"}}),
        frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "lo"}}),
        frame("metadata", {"usage": {"inputTokens": 5, "cacheReadInputTokens": 3, "outputTokens": 2}}),
    ]
    wrapped = {"type": "message_start", "message": {"usage": {"input_tokens": 8, "output_tokens": 1}}}
    invoke = frame("chunk", {"bytes": base64.b64encode(json.dumps(wrapped).encode()).decode()})
    headers = {"Content-Type": ["application/vnd.amazon.eventstream"]}
    host = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m"
    claude = {"anthropic_version": "bedrock-2023-05-31", "messages": BODY["messages"]}
    path = cassette(
        tmp_path / "a.yaml",
        interaction(
            {"parsed_body": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}},
            {"headers": headers, "body": {"string": b"".join(frames) + frames[0][:9]}},
            url=f"{host}/converse-stream",
        ),
        interaction(
            {"parsed_body": claude},
            {"headers": headers, "body": {"string": invoke}},
            url=f"{host}/invoke-with-response-stream",
        ),
    )
    converse, messages = read_inputs(path).requests
    assert converse.usage is not None
    assert converse.usage.prompt_tokens == 8
    assert converse.output is not None
    assert json.loads(converse.output.raw) == {"role": "assistant", "content": [{"text": "hello"}]}
    assert messages.dialect.value == "anthropic"
    assert messages.usage is not None
    assert messages.usage.prompt_tokens == 8


def test_a_har_archive_gives_its_model_calls_with_their_times(tmp_path: Path) -> None:
    entry = {
        "startedDateTime": "2026-10-05T09:00:00.000Z",
        "time": 1500.0,
        "request": {
            "method": "POST",
            "url": URL,
            "headers": [{"name": "OpenAI-Organization", "value": "org"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(BODY)},
        },
        "response": {
            "status": 200,
            "headers": [],
            "content": {"encoding": "base64", "text": base64.b64encode(json.dumps(ANSWER).encode()).decode()},
        },
    }
    page = {
        "startedDateTime": "2026-10-05T09:00:00.000Z",
        "request": {"method": "GET", "url": "https://x.test/"},
        "response": {},
    }
    (tmp_path / "a.har").write_text(
        json.dumps({"log": {"version": "1.2", "entries": [page, entry]}}, indent=1)
    )
    log = read_inputs(tmp_path / "a.har")
    (request,) = log.requests
    assert log.skipped == {"not a model call": 1}
    assert request.time_ns == 1_791_190_800 * 10**9
    assert request.end_ns == request.time_ns + 1_500_000_000
    assert request.identity.tenant == "org"
    assert request.usage is not None
    assert request.usage.read_tokens == 4


def test_a_cassette_without_model_calls_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = cassette(tmp_path / "a.yaml", interaction({}, {}, url="https://x.test/", method="GET"))
    with pytest.raises(InputError, match="None of the 1 records is a model call"):
        read_log([str(path)])


@needs_shared
def test_every_recorded_model_call_of_the_cassettes_at_hand_is_read() -> None:
    assert SHARED is not None
    calls = others = 0
    for folder in ("vcr_openllmetry", "vcr_pydantic_ai"):
        log = read_inputs(SHARED / "data" / folder)
        assert set(log.skipped) <= {"not a model call", "failed call"}
        assert all(request.parts for request in log.requests)
        assert all(request.usage and request.usage.prompt_tokens for request in log.requests)
        assert not [request.usage for request in log.requests if request.usage and request.usage.problems]
        calls += len(log.requests)
        others += sum(log.skipped.values())
    assert (calls, others) == (149, 31)
