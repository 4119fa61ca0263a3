"""Files, directories, globs and standard input, in a fixed order and whatever they are packed in."""

import gzip
import io
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard

from analyzers.errors import InputError, UsageError
from analyzers.logs import FORMATS, read_log
from tests.analyzers.logs.writing import read_inputs, read_rows, user


def call(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "request": {"model": "gpt-4.1", "messages": [user(f"hello {number}")]},
        **more,
    }


def lines(*numbers: int) -> bytes:
    return "".join(json.dumps(call(number)) + "\n" for number in numbers).encode()


def ids(log: Any) -> list[str]:
    return [request.request_id for request in log.requests]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
def test_plain_gzip_and_zstd_read_alike_whatever_the_file_is_called(tmp_path: Path, pack: Any) -> None:
    (tmp_path / "calls").write_bytes(pack(lines(1, 2)))
    assert ids(read_inputs(tmp_path / "calls")) == ["r1", "r2"]


def test_several_gzip_members_and_zstd_frames_are_one_log(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines(1)) + gzip.compress(lines(2)))
    frame = zstandard.ZstdCompressor().compress
    (tmp_path / "b.zst").write_bytes(frame(lines(3)) + frame(lines(4)))
    assert ids(read_inputs(tmp_path / "a.gz", tmp_path / "b.zst")) == ["r1", "r2", "r3", "r4"]


def test_a_directory_is_read_by_name_without_hidden_and_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.jsonl").write_bytes(lines(3))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines(1)))
    (tmp_path / "deep" / "c.ndjson").write_bytes(lines(4))
    (tmp_path / "notes.md").write_text("# notes")
    (tmp_path / ".hidden.jsonl").write_bytes(lines(9))
    assert ids(read_inputs(tmp_path)) == ["r1", "r3", "r4"]


def test_globs_expand_and_a_name_with_brackets_is_a_name_first(tmp_path: Path) -> None:
    (tmp_path / "test[a].jsonl").write_bytes(lines(1))
    (tmp_path / "testa.jsonl").write_bytes(lines(2))
    assert ids(read_inputs(tmp_path / "test[a].jsonl")) == ["r1"]
    assert ids(read_inputs(f"{tmp_path}/*.jsonl")) == ["r1", "r2"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(1))
    assert ids(read_inputs(tmp_path / "a.jsonl", tmp_path)) == ["r1"]


def test_standard_input_is_read_and_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.BytesIO(gzip.compress(lines(1, 2)))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stdin))
    log = read_inputs("-")
    assert ids(log) == ["r1", "r2"]
    assert log.requests[0].file == "-"
    assert not stdin.closed


def test_json_array_pretty_documents_and_lines_read_alike(tmp_path: Path) -> None:
    calls = [call(1), call(2)]
    (tmp_path / "array.json").write_text(json.dumps(calls))
    (tmp_path / "pretty_array.json").write_text(json.dumps(calls, indent=2))
    (tmp_path / "documents.json").write_text("\n".join(json.dumps(c, indent=2) for c in calls))
    (tmp_path / "lines.jsonl").write_text("\n\n".join(json.dumps(c) for c in calls))
    for name in ("array.json", "pretty_array.json", "documents.json", "lines.jsonl"):
        assert ids(read_inputs(tmp_path / name)) == ["r1", "r2"], name


def test_requests_know_the_line_on_which_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([call(1), call(2)], indent=1))
    (tmp_path / "b.jsonl").write_text("\n" + json.dumps(call(3)) + "\n\n" + json.dumps(call(4)))
    text = (tmp_path / "a.json").read_text().splitlines()
    first, second, third, fourth = read_inputs(tmp_path / "a.json", tmp_path / "b.jsonl").requests
    assert [number for number, line in enumerate(text, 1) if line == " {"] == [first.line, second.line]
    assert (third.line, fourth.line) == (2, 4)


def test_yaml_csv_and_parquet_rows_are_records(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [{"request_id": "a", "model": "gpt-4.1", "prompt_tokens": 9, "cached_tokens": 4}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "u.parquet")
    (tmp_path / "u.csv").write_text("request_id,model,prompt_tokens,cached_tokens\na,gpt-4.1,9,4\n")
    (tmp_path / "u.yaml").write_text("request_id: a\nmodel: gpt-4.1\nprompt_tokens: 9\ncached_tokens: 4\n")
    for name in ("u.parquet", "u.csv", "u.yaml"):
        (request,) = read_inputs(tmp_path / name).requests
        assert request.usage is not None
        assert (request.request_id, request.usage.prompt_tokens, request.usage.read_tokens) == ("a", 9, 4), (
            name
        )


def test_an_input_that_does_not_exist_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist: name a log file, a directory, a glob"):
        read_log([str(tmp_path / "nothing.jsonl")])
    with pytest.raises(InputError, match="No file matches"):
        read_log([str(tmp_path / "*.jsonl")])


def test_a_directory_with_no_logs_says_which_endings_are_read(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("nothing here")
    with pytest.raises(InputError, match=r"holds no log files: none ends in \.jsonl"):
        read_log([str(tmp_path)])


def test_an_unknown_format_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--format cobol is unknown; use one of .*openai-chat"):
        read_rows(tmp_path, call(1), format="cobol")


def test_the_format_can_be_forced_and_is_told_by_file(tmp_path: Path) -> None:
    row = {"model": "m", "messages": [user("who reads me?")]}
    assert read_rows(tmp_path, row).requests[0].dialect == "openai-chat"
    log = read_rows(tmp_path, row, format="anthropic")
    assert log.requests[0].dialect == "anthropic"
    assert list(log.formats.values()) == ["anthropic"]


def test_every_format_has_a_name_of_its_own() -> None:
    names = [reader.name for reader in FORMATS]
    assert len(names) == len(set(names))


def test_an_empty_input_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(1))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="An input is empty: name a log file"):
        read_inputs("a.jsonl", "")


def test_standard_input_is_called_that_in_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    for content, options, said in (
        (b"", {}, r"There is no record in standard input\."),
        (b'{"price": 1}\n', {}, "^standard input is in no known log format"),
        (b"prose\n", {}, "^standard input is no log"),
        (b"\xff\xfew\0", {}, "^standard input is UTF-16"),
        (b"\x1f\x8b", {}, "^standard input ends in the middle of its compressed data"),
        (lines(1) + b"prose\n", {"strict": True}, "^standard input, line 2: not JSON"),
        (b"prose\n", {"format": "openai-chat"}, "is a model call: standard input, line 1: not JSON"),
    ):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        with pytest.raises(InputError, match=said):
            read_inputs("-", **options)


def test_a_closed_standard_input_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="Standard input is closed: pipe a log into it, or name a file"):
        read_inputs("-")


def test_a_name_that_is_not_utf_8_is_printed_with_escapes(tmp_path: Path) -> None:
    bad = tmp_path / os.fsdecode(b"bad\xff.jsonl")
    bad.write_bytes(lines(1))
    (tmp_path / "bad\\xff.jsonl").write_bytes(lines(2))
    printed = f"{tmp_path}/bad\\xff.jsonl"
    for inputs in ([tmp_path], [f"{tmp_path}/*.jsonl"], [bad, f"{tmp_path}/bad\\xff.jsonl"]):
        log = read_inputs(*inputs)
        assert sorted(ids(log)) == ["r1", "r2"]
        assert {request.file for request in log.requests} == {printed}
