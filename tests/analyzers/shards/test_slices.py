"""The slices of a log, joined, are the log that one reading gives."""

import gzip
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError, InputError, PcacheError, UsageError
from analyzers.logs import FORMATS, read_log
from analyzers.logs.account import merged_log
from analyzers.pipeline import trace_log
from analyzers.request import Log
from analyzers.shards.plan import plan_shards
from analyzers.shards.slices import LogSlice, needs_reading_together, read_slices
from analyzers.trace_file import save_trace
from tests.analyzers.logs.joining import all_slices, joined, read_joined, told
from tests.analyzers.logs.writing import assistant, user
from tests.shared_folder import SHARED, needs_shared

SAMPLES = Path(__file__).resolve().parents[3] / "sample_logs"
SMALL = 4096

USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
CHAT = {"id": "c", "request": {"model": "m", "messages": [user("hello")]}, "response": {"usage": USAGE}}
SESSION = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "message": user("x")}
ANSWER = {
    "type": "assistant",
    "uuid": "u2",
    "parentUuid": "u1",
    "sessionId": "s",
    "requestId": "q",
    "timestamp": "2026-01-01T00:00:00Z",
    "message": {
        "id": "m",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "y"}],
    },
}
CODEX = [
    {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s", "type": ""}},
    {
        "timestamp": "2026-01-01T00:00:01Z",
        "type": "response_item",
        "payload": {"type": "message", **user("x")},
    },
    {
        "timestamp": "2026-01-01T00:00:02Z",
        "type": "response_item",
        "payload": {"type": "message", **assistant("y")},
    },
    {
        "timestamp": "2026-01-01T00:00:03Z",
        "type": "event_msg",
        "payload": {
            "type": "token_count",
            "info": {"last_token_usage": {"input_tokens": 3, "output_tokens": 1}},
        },
    },
]
EVENTS = [
    {
        "id": 0,
        "source": "user",
        "action": "message",
        "args": {"content": "x"},
        "timestamp": "2025-05-01T00:00:00",
    },
    {
        "id": 1,
        "source": "agent",
        "action": "message",
        "args": {"content": "y"},
        "timestamp": "2025-05-01T00:00:01",
    },
]
RESPONSES = {"model": "m", "input": [user("hello")], "instructions": "be kind"}
CONVERSE = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "x"}]}], "inferenceConfig": {}}
EXCHANGE = {
    "startedDateTime": "2026-01-01T00:00:00Z",
    "time": 9,
    "request": {
        "method": "POST",
        "url": "https://api.openai.com/v1/chat/completions",
        "postData": {"text": json.dumps(CHAT["request"])},
    },
    "response": {"status": 200, "content": {"text": json.dumps({"usage": USAGE})}},
}
LENGTHS = {"TIMESTAMP": "2023-11-16 18:15:46", "ContextTokens": 12, "GeneratedTokens": 3}


def write(folder: Path, **files: Sequence[Any]) -> str:
    """JSON lines; text is written as it is."""
    for name, rows in files.items():
        text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    return str(folder)


def assert_joined_as_read(inputs: Sequence[str], **options: Any) -> None:
    """The same requests and account, or the same error."""

    def outcome(read: Callable[[], Log]) -> object:
        try:
            return told(read())
        except PcacheError as error:
            return type(error), str(error)

    in_slices = outcome(lambda: read_joined(inputs, **options))
    assert in_slices == outcome(lambda: read_log(inputs, format=options.get("format")))


def shared(pattern: str) -> list[str]:
    return sorted(map(str, SHARED.glob(pattern))) if SHARED is not None else []


@needs_shared
@pytest.mark.parametrize("folder", shared("data/*"), ids=lambda folder: Path(folder).name)
def test_recorded_logs(folder: str) -> None:
    assert_joined_as_read([folder], shard_bytes=SMALL, slice_bytes=SMALL)


@needs_shared
def test_recorded_logs_of_many_formats_at_once() -> None:
    """Cut everywhere, in an order that puts files of formats that belong together far apart."""
    files = [name for name in shared("data/**/*.*") if "/mooncake/" not in name and "LICENSE" not in name]
    random.Random(0).shuffle(files)
    assert len(files) > 100
    assert_joined_as_read(files, shard_bytes=SMALL, slice_bytes=SMALL)


@needs_shared
def test_cases() -> None:
    read = 0
    for folder in shared("cases/*"):
        try:
            log = read_log([folder])
        except InputError:
            continue
        read += 1
        assert told(read_joined([folder], shard_bytes=SMALL, slice_bytes=1)) == told(log), folder
    assert read > 20


@pytest.mark.parametrize("log", sorted(SAMPLES.glob("*.jsonl")), ids=lambda log: log.stem)
def test_sample_logs(log: Path) -> None:
    assert_joined_as_read([str(log)], shard_bytes=SMALL, slice_bytes=SMALL)


LINES = st.sampled_from(
    [
        json.dumps(CHAT),
        json.dumps([CHAT, CHAT]),
        json.dumps({"id": "u", "model": "m", "usage": USAGE}),
        json.dumps({"price": 1}),
        json.dumps(CHAT)[:-3],
        '{"id": "n", "request": {"messages": [{"role": "user", "content": "\\ud83d"}]}, "x": NaN}',
        '{"id": "\xe9", "request": {"messages": []}}',
        json.dumps({"timestamp": 1_700_000_000, **CHAT}) + " \r",
        json.dumps({"timestamp": "2026-01-01 00:00:00", **CHAT}),
        json.dumps(LENGTHS),
        json.dumps({"error": {"type": "x"}, "request": CHAT["request"], "response": {"status_code": 500}}),
        "",
        "prose",
    ]
)


@given(
    lines=st.lists(LINES, max_size=25),
    encoding=st.sampled_from(["utf-8", "latin-1"]),
    mark=st.booleans(),
    shard_bytes=st.integers(1, 700),
    slice_bytes=st.integers(1, 700),
)
@example(  # a log that nothing can be said about
    lines=[json.dumps(LENGTHS)] * 4, encoding="utf-8", mark=False, shard_bytes=1, slice_bytes=1
)
@settings(max_examples=80, deadline=None)
def test_lines_of_any_kind_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    encoding: str,
    mark: bool,
    shard_bytes: int,
    slice_bytes: int,
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    content = "\n".join([json.dumps(CHAT), *lines]).encode(encoding)
    path.write_bytes(b"\xef\xbb\xbf" * mark + content)
    assert_joined_as_read([str(path)], shard_bytes=shard_bytes, slice_bytes=slice_bytes)


def test_requests_that_end_the_input_stay_last_and_removed_ones_are_gone(tmp_path: Path) -> None:
    def ask(name: str) -> dict[str, Any]:
        body = {"model": "m", "messages": [user(name)]}
        return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}

    def answer(name: str, status: int = 200) -> dict[str, Any]:
        return {
            "custom_id": name,
            "error": None,
            "response": {"status_code": status, "body": {"usage": USAGE}},
        }

    folder = write(
        tmp_path,
        a=[CHAT],
        b=[ask("1"), ask("2"), answer("alone")],
        c=[CHAT, SESSION, ANSWER],
        d=[answer("1", 500), answer("2"), ask("3")],
        e=[CHAT],
    )
    log = read_joined([folder])
    assert told(log) == told(read_log([folder]))
    assert [Path(r.file).stem + r.request_id for r in log.requests] == [
        "ac",
        "b2",
        "cc",
        "cq",
        "d3",
        "ec",
        "balone",
    ]


@pytest.mark.parametrize("row", [RESPONSES, CONVERSE, {"log": {"entries": [EXCHANGE, EXCHANGE]}}])
def test_records_that_stand_alone_are_read_alone(tmp_path: Path, row: dict[str, Any]) -> None:
    folder = write(tmp_path, a=[row] * 3)
    slices = all_slices(plan_shards([folder]), 1)
    assert [each.account.records for each in slices] == [len(read_log([folder]).requests) // 3] * 3
    assert_joined_as_read([folder])


@pytest.mark.parametrize("rows", [CODEX, EVENTS], ids=["codex", "openhands"])
def test_records_of_one_file_are_read_together_and_files_apart(tmp_path: Path, rows: list[Any]) -> None:
    folder = write(tmp_path, a=rows, b=rows, c=rows)
    plan = plan_shards([folder], shard_bytes=1)
    slices = all_slices(plan, 1)
    assert [len(each.log.requests) for each in slices] == [1, 1, 1]
    assert_joined_as_read([folder])


def test_stray_rows_that_belong_together_are_seen_and_read_at_once(tmp_path: Path) -> None:
    folder = write(tmp_path, a=[CHAT, CHAT, SESSION, CHAT, ANSWER])
    accounts = [each.account for each in all_slices(plan_shards([folder], shard_bytes=1), 1)]
    assert needs_reading_together(accounts)
    assert_joined_as_read([folder])
    whole = [each.account for each in all_slices(plan_shards([folder]), 10**6)]
    assert len(whole) == 1
    assert not needs_reading_together(whole)


def test_one_stray_row_or_a_format_of_its_own_files_needs_no_reading_together(tmp_path: Path) -> None:
    folder = write(tmp_path, a=[CHAT, CHAT, SESSION, CHAT], b=CODEX, c=CODEX, d=[CHAT])
    accounts = [each.account for each in all_slices(plan_shards([folder], shard_bytes=1), 1)]
    assert not needs_reading_together(accounts)
    assert_joined_as_read([folder])


def test_stray_rows_of_one_file_need_reading_together_only_if_that_file_is_cut(tmp_path: Path) -> None:
    folder = write(tmp_path, a=[CHAT] * 20 + CODEX, b=[CHAT] * 20 + CODEX)
    plan = plan_shards([folder])
    assert not needs_reading_together([each.account for each in all_slices(plan, 10**6)])
    assert needs_reading_together(
        [each.account for each in all_slices(plan_shards([folder], shard_bytes=1), 1)]
    )


def test_a_stray_hash_row_ends_in_the_same_error(tmp_path: Path) -> None:
    row = {"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [1]}
    folder = write(tmp_path, a=[CHAT, CHAT], b=[CHAT, row])
    for read in (read_log, read_joined):
        with pytest.raises(InputError, match="cannot be read together with logs that hold text"):
            read([folder])


def told_of_slice(each: LogSlice) -> Any:
    return each.number, told(each.log), each.account


@pytest.mark.parametrize("packed", [False, True])
def test_slices_that_are_passed_over_leave_the_rest_as_it_is(tmp_path: Path, packed: bool) -> None:
    rows = [json.dumps(CHAT | {"id": f"r{n}"}) for n in range(9)]
    rows[2], rows[5] = "damaged", ""
    content = "\n".join(rows).encode()
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(content) if packed else content)
    write(tmp_path, b=CODEX, c=[], d=CODEX, e=["no log"], f=[CHAT, CHAT])
    (shard,) = plan_shards([str(tmp_path)]).shards
    options = plan_shards([str(tmp_path)]).options
    size = len(rows[0]) * 2
    slices = list(read_slices(shard, options, size))
    assert len(slices) > 5
    for skip in range(len(slices) + 2):
        left = list(read_slices(shard, options, size, skip))
        assert [told_of_slice(each) for each in left] == [told_of_slice(each) for each in slices[skip:]]


def test_passed_over_records_are_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path, a=[CHAT | {"id": f"r{n}"} for n in range(6)])
    plan = plan_shards([folder])
    reader = next(reader for reader in FORMATS if reader.name == "openai-chat")
    read, lines = reader.read, []

    def counted(self: Any, record: Any) -> None:
        lines.append(record.line)
        read(self, record)

    monkeypatch.setattr(reader, "read", counted)
    ids = [
        r.request_id
        for each in read_slices(plan.shards[0], plan.options, 1, skip=4)
        for r in each.log.requests
    ]
    assert (ids, lines) == (["r4", "r5"], [5, 6])


def test_a_slice_keeps_nothing_of_the_slices_before_it(tmp_path: Path) -> None:
    rows = [{"id": f"r{n}", "request": {"messages": [user(f"{n:02}" * 250)]}} for n in range(20)]
    plan = plan_shards([write(tmp_path, a=rows)])
    slices = list(read_slices(plan.shards[0], plan.options, 1000))
    assert len(slices) == 10
    assert [len(each.log.parts.parts) for each in slices] == [2] * 10
    assert [part.number for each in slices for part in each.log.parts.parts] == [0, 1] * 10
    assert {run.file for each in slices for run in each.account.runs} == {0}


def test_files_found_in_a_folder_may_be_empty_damaged_or_no_logs(tmp_path: Path) -> None:
    write(tmp_path, a=[], b=[CHAT] * 3, c=["prose"], d=[CHAT], e=[], f=[{"price": 1}])
    (tmp_path / "g.jsonl").write_bytes(b"\xff\xfe" + "wide".encode("utf-16-le"))
    (tmp_path / "h.jsonl.gz").write_bytes(
        gzip.compress("".join(f"{json.dumps(CHAT)}\n" for _ in range(9)).encode())[:-12]
    )
    assert_joined_as_read([str(tmp_path)])
    notes = read_log([str(tmp_path)]).notes
    assert [note for note in notes if "is empty" in note] == [
        f"{tmp_path}/{name}.jsonl is empty." for name in "ae"
    ]


def test_a_file_that_vanishes_while_its_ranges_are_read_is_counted_once(tmp_path: Path) -> None:
    log = write(tmp_path, a=[CHAT] * 5, b=[CHAT] * 4, c=[CHAT], d=["prose"])
    plan = plan_shards([log], shard_bytes=1)
    first = all_slices(replace(plan, shards=plan.shards[:2]), 1)
    for name in "ab":
        (tmp_path / f"{name}.jsonl").unlink()
    rest = all_slices(replace(plan, shards=plan.shards[2:]), 1)
    assert len(rest) == 3 + 4 + 1 + 1
    read = joined([*first, *rest])
    assert (read.records, len(read.requests)) == (6, 3)
    assert read.skipped == {"unreadable file": 2, "unknown format": 1}
    gone = "cannot be opened: No such file or directory."
    assert [example.detail for example in read.examples[:2]] == [
        f"{log}/{name}.jsonl {gone}" for name in "ab"
    ]
    assert read.records == len(read.requests) + sum(read.skipped.values())


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="a file that opens and cannot be read is Linux's"
)
def test_a_file_that_opens_and_cannot_be_read_is_named(tmp_path: Path) -> None:
    log = write(tmp_path, a=[CHAT])
    (tmp_path / "b.jsonl").symlink_to("/proc/self/mem")
    (example,) = read_log([log]).examples
    assert example.detail == f"{log}/b.jsonl cannot be read: Input/output error."
    with pytest.raises(InputError, match=r"b\.jsonl cannot be read: Input/output error\."):
        read_log([f"{log}/b.jsonl"])


@pytest.mark.parametrize("strict", [False, True])
def test_a_trace_that_is_found_is_no_log_and_is_left_out(tmp_path: Path, strict: bool) -> None:
    log = write(tmp_path, a=[CHAT], c=[CHAT])
    save_trace(trace_log(read_log([log])).trace, tmp_path / "b.parquet")
    assert_joined_as_read([log], strict=strict)
    found = read_log([log], strict=strict)
    assert found.notes == [f"{tmp_path}/b.parquet was left out: it is a trace, not a log."]
    assert (len(found.requests), found.records, found.skipped) == (2, 2, {})
    for read in (read_log, read_joined):
        with pytest.raises(InputError, match=r"b\.parquet is a trace, not a log; a trace is read alone"):
            read([f"{tmp_path}/a.jsonl", f"{tmp_path}/b.parquet"])
        with pytest.raises(InputError, match=r"no log among the files found: .*b\.parquet was left out"):
            read([f"{tmp_path}/*.parquet"])


@pytest.mark.parametrize(
    "files",
    [
        {"a": [], "b": []},
        {"a": [{"price": 1}], "b": ["prose"]},
        {"a": [LENGTHS] * 4, "b": [LENGTHS]},
        {"a": [{"timestamp": 1, "requests": [{"Prompt Length": 3}]}] * 3},
        {"a": [{"method": "POST", "url": "https://x/v1/embeddings", "request": CHAT["request"]}] * 4},
    ],
    ids=["empty", "no logs", "lengths", "aibrix lengths", "no calls"],
)
def test_a_log_without_any_request_is_the_same_error(tmp_path: Path, files: dict[str, list[Any]]) -> None:
    folder = write(tmp_path, **files)
    with pytest.raises(PcacheError) as one:
        read_log([folder])
    with pytest.raises(PcacheError) as other:
        read_joined([folder])
    assert (other.value.exit_code, str(other.value)) == (one.value.exit_code, str(one.value))


def test_slices_without_requests_are_in_order_if_others_have_some(tmp_path: Path) -> None:
    folder = write(tmp_path, a=[LENGTHS] * 3, b=[CHAT])
    slices = all_slices(plan_shards([folder], shard_bytes=1), 1)
    with pytest.raises(CannotEvaluateError, match="nothing can be said about what they share"):
        merged_log([each.account for each in slices[:3]])
    assert len(joined(slices).requests) == 1
    assert_joined_as_read([folder])


def test_strict_stops_at_the_first_record_that_cannot_be_read(tmp_path: Path) -> None:
    folder = write(tmp_path, a=[CHAT, CHAT, "damaged", CHAT, "worse"])
    for read in (read_log, read_joined):
        with pytest.raises(InputError, match=r"a\.jsonl, line 3: not JSON"):
            read([folder], strict=True)


def test_mapped_columns_need_be_in_the_first_rows_only(tmp_path: Path) -> None:
    rows: list[Any] = [{"question": f"q{n}"} for n in range(1100)]
    rows[999]["who"] = "me"
    folder = write(tmp_path, a=rows)
    mapping = {"prompt": "question", "user": "who"}
    log = read_log([folder], mapping=mapping)
    for size in (50, 10**6):
        assert told(read_joined([folder], mapping=mapping, shard_bytes=size, slice_bytes=size)) == told(log)
    rows[999], rows[1000] = rows[1000], rows[999] | {"late": "x"}
    write(tmp_path, a=rows)
    for read in (read_log, read_joined):
        with pytest.raises(UsageError, match="the log has no column late"):
            read([folder], mapping={"prompt": "question", "user": "late"})


def test_standard_input_is_sliced_as_its_format_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    from types import SimpleNamespace

    def slices(rows: list[Any]) -> list[int]:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        plan = plan_shards(["-"])
        return [len(each.log.requests) for each in read_slices(plan.shards[0], plan.options, 1)]

    assert slices([CHAT] * 3) == [1, 1, 1]
    assert slices([SESSION, ANSWER]) == [1]
