"""Input that is damaged, in the wrong encoding or no log: it is named and counted, never dropped or guessed."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
import zstandard

from analyzers.errors import InputError
from analyzers.logs import read_log
from tests.analyzers.logs.writing import read_inputs, read_rows, user

GOOD = {"model": "gpt-4.1", "messages": [user("hello")]}
LINE = json.dumps(GOOD)


def test_an_empty_file_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match=r"There is no record in .*a\.jsonl"):
        read_log([str(tmp_path / "a.jsonl")])


def test_an_empty_file_beside_a_good_one_is_noted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n")
    (tmp_path / "b.jsonl").write_text(LINE)
    log = read_inputs(tmp_path)
    assert len(log.requests) == 1
    assert f"{tmp_path / 'a.jsonl'} is empty." in log.notes


def test_a_file_that_is_not_json_at_all_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "prose.log").write_text("Once upon a time\nthere was a log\n")
    with pytest.raises(InputError, match="is no log: it is neither JSON nor"):
        read_log([str(tmp_path / "prose.log")])


def test_lines_that_are_not_json_are_counted_and_shown_with_their_line(tmp_path: Path) -> None:
    log = read_rows(tmp_path, GOOD, "{oops", GOOD, "also not JSON")
    assert len(log.requests) == 2
    assert log.skipped == {"not JSON": 2}
    assert [(example.line, example.reason) for example in log.examples] == [(2, "not JSON"), (4, "not JSON")]


def test_only_the_first_few_of_a_kind_are_kept_as_examples(tmp_path: Path) -> None:
    log = read_rows(tmp_path, GOOD, *["{oops"] * 50)
    assert log.skipped == {"not JSON": 50}
    assert len(log.examples) == 3


def test_text_before_the_first_record_does_not_hide_the_format(tmp_path: Path) -> None:
    log = read_rows(tmp_path, *["server started"] * 40, *[GOOD] * 3)
    assert len(log.requests) == 3
    assert log.skipped == {"not JSON": 40}


def test_a_record_cut_in_the_middle_is_skipped_wherever_it_stands(tmp_path: Path) -> None:
    cut = LINE[: len(LINE) // 2]
    for rows in ([cut, GOOD, GOOD], [GOOD, cut, GOOD], [GOOD, GOOD, cut]):
        log = read_rows(tmp_path, *rows)
        assert len(log.requests) == 2
        assert log.skipped == {"not JSON": 1}


def noise(count: int) -> bytes:
    """Lines that do not compress well, so that a cut loses only some."""
    rng = random.Random(5)
    rows = [{"model": "m", "messages": [user(rng.randbytes(400).hex())]} for _ in range(count)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(level=1).compress])
def test_a_truncated_archive_gives_its_whole_records_and_says_it_was_cut(tmp_path: Path, pack: Any) -> None:
    packed = pack(noise(2000))
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) * 3 // 4])
    log = read_inputs(tmp_path / "a.jsonl.gz")
    assert 1000 < len(log.requests) < 2000
    assert log.skipped == {"cut off": 1}


def test_an_archive_cut_at_its_head_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(noise(5))[:12])
    with pytest.raises(InputError, match="ends in the middle of its compressed data"):
        read_log([str(tmp_path / "a.gz")])


def test_damaged_compressed_data_keeps_what_came_before(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(noise(2000)))
    packed[len(packed) // 2 : len(packed) // 2 + 64] = b"\xff" * 64
    (tmp_path / "a.gz").write_bytes(packed)
    log = read_inputs(tmp_path / "a.gz")
    assert 100 < len(log.requests) < 2000
    assert log.skipped["cut off"] == 1


def test_a_decompression_bomb_is_refused_before_it_fills_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzers.logs.decompression.MAX_EXPANSION", 100)
    monkeypatch.setattr("analyzers.logs.decompression.FREE_EXPANSION", 2**16)
    bomb = zstandard.ZstdCompressor(level=19).compress(LINE.encode() + b"\n" + b" " * 2**26)
    (tmp_path / "bomb.zst").write_bytes(bomb)
    with pytest.raises(InputError, match="expands more than 100 times"):
        read_log([str(tmp_path / "bomb.zst")])


def test_a_yaml_alias_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.logs.tables._MAX_NODES", 10_000)
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 8)]
    (tmp_path / "bomb.yaml").write_text("\n".join(levels))
    with pytest.raises(InputError, match="unfolds to more than 10000 YAML values"):
        read_log([str(tmp_path / "bomb.yaml")])


def test_yaml_never_makes_objects(tmp_path: Path) -> None:
    (tmp_path / "evil.yaml").write_text("interactions: !!python/object/apply:os.getcwd []\n")
    with pytest.raises(InputError, match="is not readable YAML"):
        read_log([str(tmp_path / "evil.yaml")])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_and_32_are_named_with_the_way_to_convert(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINE.encode(encoding))
    with pytest.raises(InputError, match=r"is UTF-16 or UTF-32 text, not a UTF-8 log; convert it.*iconv"):
        read_log([str(tmp_path / "a.jsonl")])


def test_binary_files_are_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(InputError, match="is binary"):
        read_log([str(tmp_path / "a.log")])


def test_latin_1_records_are_skipped_with_the_byte(tmp_path: Path) -> None:
    bad = LINE.replace("hello", "caf\xe9").encode("latin-1")
    (tmp_path / "a.jsonl").write_bytes(LINE.encode() + b"\n" + bad + b"\n")
    log = read_inputs(tmp_path / "a.jsonl")
    assert len(log.requests) == 1
    assert log.skipped == {"not UTF-8": 1}
    assert "Latin-1" in log.examples[0].detail


def test_a_byte_order_mark_is_no_part_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + LINE.encode())
    assert len(read_inputs(tmp_path / "a.jsonl").requests) == 1


def test_lone_surrogates_are_read_as_the_replacement_character(tmp_path: Path) -> None:
    row = LINE.replace("hello", r"a\ud83d b \ud83d\ude00 c\\ud83d")
    log = read_rows(tmp_path, row, GOOD)
    assert log.requests[0].parts[0].value()["content"] == "a\ufffd b \U0001f600 c\\ud83d"
    assert log.notes == ["Lone surrogates were read as U+FFFD and NaN as null."]


def test_nan_and_infinity_are_null_outside_strings(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path, '{"model":"m","score":NaN,"x":[-Infinity],"messages":[{"role":"user","content":"NaN"}]}'
    )
    assert log.requests[0].parts[0].value()["content"] == "NaN"


def test_numbers_beyond_64_bits_do_not_stop_the_reader(tmp_path: Path) -> None:
    huge = 10**40
    rows = [
        {**GOOD, "timestamp": huge, "usage": {"prompt_tokens": huge, "completion_tokens": 5}},
        {**GOOD, "seed": huge},
        json.dumps(GOOD)[:-1] + ', "timestamp": 1e400}',
    ]
    log = read_rows(tmp_path, *rows)
    assert len(log.requests) + sum(log.skipped.values()) == 3
    usage = log.requests[0].usage
    assert usage is not None
    assert usage.prompt_tokens is None
    assert usage.output_tokens == 5
    assert usage.problems
    assert log.requests[0].time_ns is None


def test_deep_nesting_is_a_reason_not_a_crash(tmp_path: Path) -> None:
    deep = '{"model":"m","messages":[' + "[" * 100_000 + "]" * 100_000 + "]}"
    log = read_rows(tmp_path, GOOD, deep)
    assert log.skipped == {"nested too deeply": 1}


def test_a_single_line_of_100_megabytes_is_read(tmp_path: Path) -> None:
    messages = ",".join(json.dumps(user(f"{n} " + "x" * 1_000_000)) for n in range(100))
    (tmp_path / "a.jsonl").write_text('{"model":"m","messages":[' + messages + "]}\n" + LINE)
    log = read_inputs(tmp_path / "a.jsonl")
    assert [len(request.parts) for request in log.requests] == [100, 1]


def test_a_line_beyond_the_limit_is_skipped_and_the_next_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzers.logs.records.MAX_RECORD", 1000)
    log = read_rows(tmp_path, GOOD, {**GOOD, "pad": "x" * 5000}, GOOD)
    assert len(log.requests) == 2
    assert list(log.skipped.values()) == [1]
    assert log.examples[0].line == 2


def test_an_unknown_format_says_what_was_tried_and_what_is_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_rows(tmp_path, {"model": "m", "tools": [], "usage": 3, "colour": "red"})
    assert "its records have colour, model, tools, usage" in str(error.value)
    assert "nearest is openai-chat" in str(error.value)
    assert "Tried: " in str(error.value)


def test_formats_mixed_in_one_file_are_read_record_by_record(tmp_path: Path) -> None:
    rows = [
        GOOD,
        {"model": "claude-sonnet-4-5", "system": "be brief", "messages": [user("hi")]},
        {"model": "gemini-2.5-flash", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        GOOD,
        {"colour": "red"},
    ]
    log = read_rows(tmp_path, *rows)
    assert [r.dialect.value for r in log.requests] == ["openai-chat", "anthropic", "gemini", "openai-chat"]
    assert log.skipped == {"no prompt": 1}
    assert set(log.formats.values()) == {"openai-chat + anthropic + gemini"}


def test_a_foreign_file_in_a_directory_is_skipped_but_an_error_when_named(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text(LINE)
    (tmp_path / "prices.json").write_text('{"gpt-4.1": {"input": 2}}')
    log = read_inputs(tmp_path)
    assert len(log.requests) == 1
    assert log.skipped == {"unknown format": 1}
    with pytest.raises(InputError, match="in no known log format"):
        read_log([str(tmp_path / "prices.json")])


def test_strict_stops_at_the_first_bad_record_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log\.jsonl, line 2: not JSON"):
        read_rows(tmp_path, GOOD, "{oops", GOOD, strict=True)


def test_a_log_without_any_model_call_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"None of the 2 records is a model call: .*line 1: no prompt"):
        read_rows(tmp_path, {"model": "m"}, {"model": "m"}, format="openai-chat")
