"""`pcache analyze` and `pcache trace` as a person or a script uses them."""

import gzip
import json
import re
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.command_line import pcache

ROOT = Path(__file__).resolve().parents[2]
CLOCK = ROOT / "sample_logs" / "support_bot_clock.jsonl"
HEALTHY = ROOT / "sample_logs" / "healthy_agent.jsonl"
HASHES = ROOT / "sample_logs" / "hash_trace.jsonl"


def report(*words: str | Path, stdin: bytes | None = None) -> dict:  # type: ignore[type-arg]
    run = pcache("analyze", *words, "--json", "--quiet", stdin=stdin)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_scripts_find_what_was_promised_them() -> None:
    answer = report(CLOCK)
    assert answer["schema_version"] == 1
    assert answer["requests"] == 36
    assert 0 < answer["reusable_tokens"] < answer["prompt_tokens"]
    assert answer["reusable_token_ratio"] == answer["reusable_tokens"] / answer["prompt_tokens"]
    assert [block["block_size"] for block in answer["blocks"]] == [16, 128, 512]
    assert sum(answer["classes"].values()) == answer["prompt_tokens"]
    assert answer["input"]["records"] == 36
    assert answer["definitions"]["reusable_token_ratio"]


def test_the_same_log_gives_the_same_bytes_from_a_file_stdin_and_gzip(tmp_path: Path) -> None:
    zipped = tmp_path / "log.jsonl.gz"
    zipped.write_bytes(gzip.compress(CLOCK.read_bytes()))
    answers = [report(CLOCK), report("-", stdin=CLOCK.read_bytes()), report(zipped)]
    for answer in answers:  # the names of the inputs are all that differs
        del answer["input"], answer["trace"]["sources"], answer["breakers"]
    assert answers[0] == answers[1] == answers[2]
    assert pcache("analyze", CLOCK, "--json").stdout == pcache("analyze", CLOCK, "--json").stdout


def test_a_trace_answers_like_the_log_it_was_made_from(tmp_path: Path) -> None:
    trace = tmp_path / "t.parquet"
    assert pcache("trace", HEALTHY, "-o", trace).returncode == 0
    from_log, from_trace = report(HEALTHY), report(trace)
    for key in (
        "prompt_tokens",
        "reusable_tokens",
        "blocks",
        "classes",
        "hottest",
        "groups",
        "logged",
        "prefix_length",
    ):
        assert from_trace[key] == from_log[key], key
    run = pcache("analyze", trace, "--tokenizer", "cl100k")
    assert run.returncode == 2
    assert b"--tokenizer" in run.stderr


def test_a_hash_trace_keeps_the_reuse_in_blocks(tmp_path: Path) -> None:
    hashes = tmp_path / "h.jsonl"
    assert pcache("trace", HEALTHY, "-o", hashes, "--block-size", "16").returncode == 0
    exported, original = report(hashes), report(HEALTHY)
    assert exported["requests"] == original["requests"]
    assert exported["prompt_tokens"] == original["prompt_tokens"]
    assert exported["blocks"][0] == original["blocks"][0]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_one_row_a_request(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows{ending}"
    assert pcache("analyze", CLOCK, "-o", path).returncode == 0
    table = pyarrow.csv.read_csv(path) if ending == ".csv" else pq.read_table(path)
    answer = report(CLOCK)
    assert table.num_rows == 36
    assert sum(table["prompt_tokens"].to_pylist()) == answer["prompt_tokens"]
    assert sum(table["reusable_tokens"].to_pylist()) == answer["reusable_tokens"]
    assert table["request_id"][0].as_py() == "req-0001"


def test_cells_cannot_become_formulas(tmp_path: Path) -> None:
    row = {"id": "=1+2", "request": {"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]}}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(row) + "\n")
    path = tmp_path / "rows.csv"
    assert pcache("analyze", log, "-o", path).returncode == 0
    assert "'=1+2" in path.read_text()


def test_a_plot_is_a_png(tmp_path: Path) -> None:
    path = tmp_path / "reuse.png"
    assert pcache("analyze", CLOCK, "--plot", path).returncode == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_gate_decides_the_exit_code() -> None:
    assert pcache("analyze", HEALTHY, "--fail-below", "0.5", "--quiet").returncode == 0
    assert pcache("analyze", CLOCK, "--fail-below", "0.5", "--quiet").returncode == 1
    assert pcache("analyze", CLOCK, "--fail-below", "50").returncode == 2


def test_a_gate_on_a_log_without_prompts_is_not_evaluated(tmp_path: Path) -> None:
    log = tmp_path / "usage.jsonl"
    log.write_text('{"id":"a","model":"gpt-4.1","usage":{"prompt_tokens":10,"completion_tokens":2}}\n')
    run = pcache("analyze", log, "--fail-below", "0.5")
    assert run.returncode == 3
    assert b"unknown" in run.stderr


def test_people_see_the_verdict_first_and_machines_only_the_document() -> None:
    run = pcache("analyze", CLOCK)
    first = run.stdout.decode().splitlines()[0]
    assert "of the prompt tokens could have been read from cache; the log shows 0 %" in first
    machine = pcache("analyze", CLOCK, "--json", "--quiet")
    assert machine.stderr == b""
    json.loads(machine.stdout)


def test_prompt_text_stays_out_of_every_output(tmp_path: Path) -> None:
    secret = b"Northwind"
    assert secret in CLOCK.read_bytes()
    rows = tmp_path / "rows.csv"
    run = pcache("analyze", CLOCK, "--json", "-o", rows)
    assert secret not in run.stdout + run.stderr + rows.read_bytes()
    trace = tmp_path / "t.parquet"
    pcache("trace", CLOCK, "-o", trace)
    assert secret not in trace.read_bytes()


BAD_INPUTS = {
    "an empty file": (b"", 2),
    "no JSON": (b"hello there, this is no log\n" * 3, 2),
    "another format": (b'{"colour": "blue", "size": 3}\n', 2),
    "UTF-16": ('{"model":"gpt-4.1","messages":[{"role":"user","content":"x"}]}\n'.encode("utf-16"), 2),
}


@pytest.mark.parametrize("kind", BAD_INPUTS)
def test_bad_input_gets_one_sentence(tmp_path: Path, kind: str) -> None:
    content, code = BAD_INPUTS[kind]
    log = tmp_path / "log.jsonl"
    log.write_bytes(content)
    run = pcache("analyze", log)
    assert run.returncode == code
    lines = run.stderr.decode().strip().splitlines()
    assert lines[-1].startswith("pcache: ")
    assert b"Traceback" not in run.stderr
    assert run.stdout == b""


def test_missing_files_empty_folders_and_cut_archives_are_named(tmp_path: Path) -> None:
    run = pcache("analyze", tmp_path / "nothing.jsonl")
    assert run.returncode == 2
    assert b"nothing.jsonl" in run.stderr
    run = pcache("analyze", tmp_path)
    assert run.returncode == 2
    cut = tmp_path / "log.jsonl.gz"
    cut.write_bytes(gzip.compress(CLOCK.read_bytes())[:-400])
    run = pcache("analyze", cut, "--json")
    assert run.returncode == 0
    answer = json.loads(run.stdout)
    assert sum(answer["input"]["skipped"].values()) >= 1
    assert answer["input"]["records"] == answer["requests"] + sum(answer["input"]["skipped"].values())


def test_a_damaged_record_is_counted_and_strict_stops_at_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = CLOCK.read_bytes().splitlines()
    log.write_bytes(b"\n".join([*lines[:3], lines[3][: len(lines[3]) // 2], *lines[4:6]]) + b"\n")
    answer = report(log)
    assert answer["requests"] == 5
    assert sum(answer["input"]["skipped"].values()) == 1
    assert any(":4:" in example for example in answer["input"]["examples"])
    assert pcache("analyze", log, "--strict").returncode == 2


def test_names_in_a_log_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    row = {
        "id": "\x1b[2J[red]x",
        "request": {"model": "evil\x1b[31m", "messages": [{"role": "user", "content": "hi " * 40}]},
    }
    log = tmp_path / "log.jsonl"
    log.write_text((json.dumps(row) + "\n") * 2)
    run = pcache("analyze", log)
    assert run.returncode == 0
    assert b"\x1b[2J" not in run.stdout
    assert b"\x1b[31m" not in run.stdout


def test_breakers_of_a_log_without_text_are_unknown_not_absent() -> None:
    for words in (("analyze", HASHES), ("analyze", HASHES, "--namespace", "none")):
        text = pcache(*words, "--quiet").stdout.decode()
        assert "What breaks the prefix is unknown" in text
        assert "Nothing breaks the prefix" not in text
    story = pcache("explain", HASHES, "-r", "hash_trace.jsonl:5", "--quiet").stdout.decode()
    assert "ids as the log gives them" in story


def test_an_exported_hash_trace_does_not_guess_conversations(tmp_path: Path) -> None:
    pcache("trace", HEALTHY, "-o", tmp_path / "hashes.jsonl", "--quiet")
    classes = report(tmp_path / "hashes.jsonl")["classes"]
    assert set(classes.values()) == {None}
    text = pcache("analyze", tmp_path / "hashes.jsonl", "--quiet").stdout.decode()
    assert "reusable, in the same conversation or across (the log cannot tell)" in text
    out, plot = tmp_path / "rows.csv", tmp_path / "plot.png"
    pcache("analyze", tmp_path / "hashes.jsonl", "-o", out, "--plot", plot, "--quiet")
    assert pyarrow.csv.read_csv(out)["same_conversation_tokens"].null_count == 38


def test_more_reads_than_the_log_makes_possible_are_explained(tmp_path: Path) -> None:
    text = pcache("analyze", HEALTHY, "--since", "2026-10-05T09:10:00Z", "--quiet").stdout.decode()
    shown = " ".join(text.split())
    assert "this log alone makes 49.1 % possible on these rows, so the cache was filled before" in shown
    assert "of it was had" not in shown


def test_one_is_not_written_as_many(tmp_path: Path) -> None:
    single = tmp_path / "one.jsonl"
    single.write_bytes(HEALTHY.read_bytes().splitlines()[0])
    run = pcache("analyze", single)
    text = run.stdout.decode() + pcache("trace", single, "-o", tmp_path / "one.parquet").stderr.decode()
    assert "1 record (openai-chat): 1 request" in text
    assert not re.search(r"(?<![\d,.])1 (records|requests|rows|nodes|tokens|blocks)\b", text)


def test_a_group_that_no_request_has_is_named() -> None:
    assert b"no request of this log has a user" in pcache("analyze", HEALTHY, "--group-by", "user").stderr
