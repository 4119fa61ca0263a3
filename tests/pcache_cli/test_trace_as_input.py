"""What asks for prompts says, of a trace, which log to give instead."""

import shutil
from pathlib import Path

import pytest

from pcache_cli.log_source import log_behind
from tests.command_line import pcache

CLOCK = Path(__file__).resolve().parents[2] / "sample_logs" / "support_bot_clock.jsonl"


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace of a log that lies in the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(CLOCK, "clock.jsonl")
    assert pcache("trace", "clock.jsonl", "-o", "trace.parquet").returncode == 0
    return tmp_path / "trace.parquet"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["explain", "TRACE", "--request", "req-0004"], 2),
        (["diff", "TRACE", "clock.jsonl"], 2),
        (["diff", "clock.jsonl", "TRACE"], 2),
        (["cost", "TRACE", "--by", "breaker"], 2),
        (["analyze", "TRACE", "--group-by", "user"], 2),
        (["simulate", "TRACE", "--provider", "auto", "--what-if", "layout=fixed"], 3),
    ],
)
def test_the_log_that_the_trace_was_made_from_is_named(trace: Path, words: list[str], code: int):
    done = pcache(*(str(trace) if word == "TRACE" else word for word in words))
    assert done.returncode == code
    assert b"the log it was made from (clock.jsonl)" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--since", "2026-01-01"], b"--since shapes how a log is read; a trace has been read already"),
        (["--since", "2026-01-01", "--strict"], b"--since, --strict shape how a log is read"),
    ],
)
def test_options_for_logs_are_refused_with_a_trace(trace: Path, words: list[str], says: bytes):
    done = pcache("trace", trace, "-o", "again.parquet", *words)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_trace_in_the_folder_of_its_logs_can_be_made_anew(trace: Path):
    assert pcache("trace", trace.parent, "-o", trace).returncode == 0
    first = trace.read_bytes()
    again = pcache("trace", trace.parent, "-o", trace)
    assert again.returncode == 0
    assert b"left out" not in again.stderr
    assert trace.read_bytes() == first


def test_many_files_are_counted_and_a_trace_that_knows_none_says_none():
    assert log_behind(["a", "b", "c", "d", "e"]) == "the log it was made from (a, b, c and 2 more)"
    assert log_behind(["-"]) == "the log it was made from (standard input)"
    assert log_behind([]) == "the log it was made from"
