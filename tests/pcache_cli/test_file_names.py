"""File names of any bytes, and inputs without a name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.analyzers.logs.writing import user
from tests.command_line import pcache

BAD = os.fsdecode(b"b\xffd")
ROW = json.dumps({"model": "gpt-4o", "messages": [user("What is a prefix cache?")]}) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name is not UTF-8, with such a log and such a file that is no log."""
    folder = tmp_path / BAD
    folder.mkdir()
    (folder / f"{BAD}.jsonl").write_text(ROW)
    (folder / f"prose{BAD}.jsonl").write_text("prose\n")
    return folder


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_log_whose_name_is_not_utf_8_becomes_a_trace(folder: Path, jobs: str) -> None:
    trace = folder / f"{BAD}.parquet"
    made = pcache("trace", folder, "-o", trace, "--shard-size", "1", "--jobs", jobs)
    assert made.returncode == 0
    assert b"b\\xffd/proseb\\xffd.jsonl" in made.stderr.replace(b"\n", b"")
    asked = pcache("analyze", trace, "--json")
    assert asked.returncode == 0
    assert json.loads(asked.stdout)["requests"] == 1


def test_a_log_whose_name_is_not_utf_8_is_in_reports_and_json(folder: Path, tmp_path: Path) -> None:
    assert json.loads(pcache("analyze", folder, "--json").stdout)["requests"] == 1
    twice = folder / "twice.jsonl"
    twice.write_text(ROW * 2)
    compared = json.loads(pcache("diff", folder, twice, "--json").stdout)
    assert compared["before"] == f"{tmp_path}/b\\xffd"
    page = tmp_path / "page.html"
    assert pcache("report", folder, "-o", page).returncode == 0
    assert "<title>Prompt caching: b\\xffd</title>" in page.read_text()


def test_a_trace_beside_its_logs_is_left_out_of_the_next_one(folder: Path, tmp_path: Path) -> None:
    traces = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    assert pcache("trace", folder, "-o", traces[0]).returncode == 0
    (folder / "old.parquet").write_bytes(traces[0].read_bytes())
    again = pcache("trace", folder, "-o", traces[1])
    said = b"".join(again.stderr.split())  # lines end anywhere
    assert b"old.parquetwasleftout:itisatrace,notalog." in said
    assert b"2.parquet:1request" in said


def test_an_empty_input_is_refused(tmp_path: Path) -> None:
    for command in (["trace", "", "-o", tmp_path / "t.parquet"], ["analyze", ""]):
        refused = pcache(*command)
        assert refused.returncode == 2
        assert b"An input is empty" in refused.stderr


def test_a_closed_standard_input_is_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pcache_cli", "trace", "-", "-o", str(tmp_path / "t.parquet")]
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    closed = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert closed.returncode == 2
    assert closed.stderr == "pcache: Standard input is closed: pipe a log into it, or name a file.\n"
