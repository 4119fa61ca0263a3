"""Plain tables of prompts and LMCache traces."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.errors import UsageError
from analyzers.logs import read_log
from analyzers.request import Dialect, PartKind
from tests.analyzers.logs.session_rows import ids, read_rows, sent, user
from tests.shared_folder import SHARED, needs_shared


def test_common_column_names_are_found_without_a_mapping(tmp_path: Path) -> None:
    row = {
        "id": "r1",
        "question": "hello",
        "output": "hi",
        "ts": 1_700_000_000,
        "model": "m",
        "session_id": 5,
    }
    (request,) = read_rows(tmp_path, row).requests
    assert (request.dialect, request.parts[0].raw) == (Dialect.TEXT, b"hello")
    assert request.output is not None
    assert request.output.raw == b"hi"
    assert (request.request_id, request.model, request.identity.session) == ("r1", "m", "5")
    assert request.time_ns == 1_700_000_000 * 10**9


def test_a_mapping_names_columns_and_dotted_paths(tmp_path: Path) -> None:
    row = {"q": {"text": "hello"}, "when": "2026-01-01T00:00:00Z", "org": "acme", "read": 3, "size": 9}
    mapping = {
        "prompt": "q.text",
        "timestamp": "when",
        "tenant": "org",
        "cached_tokens": "read",
        "prompt_tokens": "size",
    }
    (request,) = read_rows(tmp_path, row, mapping=mapping).requests
    assert request.parts[0].raw == b"hello"
    assert request.identity.tenant == "acme"
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.read_tokens) == (9, 3)


def test_a_wrong_column_is_said_with_the_columns_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no column prompts; its columns are question, ts\.$"):
        read_rows(tmp_path, {"question": "a", "ts": 1}, mapping={"prompt": "prompts"})
    with pytest.raises(UsageError, match=r"no column when; its columns are question, ts\.$"):
        read_rows(tmp_path, {"question": "a", "ts": 1}, mapping={"prompt": "question", "timestamp": "when"})
    with pytest.raises(UsageError, match="there is no field promt; use one of prompt, "):
        read_rows(tmp_path, {"question": "a"}, mapping={"promt": "question"})


def test_a_prompt_may_be_messages_ids_or_a_body_also_as_text(tmp_path: Path) -> None:
    messages = '[{"content": "hi", "role": "user"}]'
    tools = '[{"type": "function", "function": {"name": "f"}}]'
    log = read_rows(
        tmp_path,
        {"x": [user("hi")], "tools": tools},
        {"x": messages},
        {"x": [1, 2, 3]},
        {"x": {"messages": [user("hi")], "tools": [], "tool_choice": "auto"}},
        {"x": "[not messages]"},
        mapping={"prompt": "x"},
    )
    chat, folded, tokens, body, text = log.requests
    assert [part.kind for part in chat.parts] == [PartKind.TOOLS, PartKind.MESSAGE]
    assert (chat.parts[0].raw, folded.parts[0].raw) == (tools.encode(), messages[1:-1].encode())
    assert ids(tokens) == [1, 2, 3]
    assert (sent(body), body.parameter("tool_choice")) == ([user("hi")], "auto")
    assert (text.dialect, text.parts[0].raw) == (Dialect.TEXT, b"[not messages]")


def test_messages_with_anthropic_blocks_are_read_as_such(tmp_path: Path) -> None:
    block = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    (request,) = read_rows(
        tmp_path, {"x": [{"role": "user", "content": [block]}]}, mapping={"prompt": "x"}
    ).requests
    assert request.dialect is Dialect.ANTHROPIC


def test_csv_and_parquet_give_the_same_requests_as_lines(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('question,ts\n"hello, ""you""",1700000000\nbye,1700000001\n')
    columns = {"question": ['hello, "you"', "bye"], "ts": [1700000000, 1700000001]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        log = read_log([str(tmp_path / name)], mapping={"prompt": "question"})
        assert [request.parts[0].raw for request in log.requests] == [b'hello, "you"', b"bye"]
        assert [request.time_ns for request in log.requests] == [1700000000 * 10**9, 1700000001 * 10**9]


def test_rows_without_a_prompt_are_skipped(tmp_path: Path) -> None:
    log = read_rows(tmp_path, {"q": "a"}, {"q": None}, {"q": 5}, "{", mapping={"prompt": "q"})
    assert (len(log.requests), log.skipped) == (1, {"no prompt": 2, "not JSON": 1})


def test_an_lmcache_row_is_one_prompt_in_microseconds(tmp_path: Path) -> None:
    row = {"timestamp": 1760587752017385, "input": "user: hi", "output": "hello", "session_id": "ab"}
    first, second = read_rows(tmp_path, row, row | {"output": ""}).requests
    assert (first.dialect, first.parts[0].raw, first.identity.session) == (Dialect.TEXT, b"user: hi", "ab")
    assert first.time_ns == 1760587752017385000
    assert first.parts == second.parts
    assert first.output is not None
    assert second.output is None


@needs_shared
def test_the_lmcache_traces_read_in_full() -> None:
    assert SHARED is not None
    log = read_log([str(SHARED / "data/lmcache_agent_trace")])
    assert len(log.requests) == log.records == 455
    assert set(log.formats.values()) == {"lmcache"}
