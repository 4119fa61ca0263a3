"""`pcache trace` of logs larger than it wants to hold: the same bytes in every way of reading, and after a kill."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from analyzers.logs import read_log
from analyzers.pipeline import trace_log
from analyzers.shards import local_engine, slices
from analyzers.shards.slices import LogSlice
from analyzers.trace_file import load_trace, save_trace
from benchmarks.agent_log import write_agent_log
from tests.command_line import pcache

REQUESTS = 400
SHARD = "128KiB"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of about 2 MB, cut into some sixteen shards."""
    path = tmp_path_factory.mktemp("agents") / "agents.jsonl"
    write_agent_log(path, REQUESTS)
    return path


def at_once(log: Path) -> bytes:
    """The trace of a log that is read at once, as saved."""
    path = log.with_name("at_once.parquet")
    save_trace(trace_log(read_log([str(log)])).trace, path)
    trace = path.read_bytes()
    path.unlink()
    return trace


def killed(log: Path, output: Path, after: str) -> None:
    """Trace a log in a process of its own that is killed once this file is among its pieces.

    On a busy machine a run may be over before it is looked at; then it is tried again.
    """
    command = [*_PCACHE, "trace", str(log), "-o", str(output), "--shard-size", SHARD]
    awaited = output.with_name(output.name + ".parts") / after
    for _ in range(5):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            while not awaited.exists() and run.poll() is None:
                time.sleep(0.002)
            run.kill()
        if awaited.exists():
            output.unlink(missing_ok=True)
            return
        output.unlink()
    raise AssertionError("no run could be killed in time")


@pytest.fixture
def log(agents: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return shutil.copy(agents, tmp_path / "agents.jsonl")


@pytest.mark.parametrize("jobs", [1, 2])
def test_shards_give_the_trace_of_the_log_read_at_once(agents: Path, tmp_path: Path, jobs: int) -> None:
    output = tmp_path / "trace.parquet"
    finished = pcache("trace", agents, "-o", output, "--shard-size", SHARD, "--jobs", jobs)
    assert finished.returncode == 0
    assert output.read_bytes() == at_once(agents)
    assert f"{REQUESTS} requests" in finished.stderr.decode()
    assert list(tmp_path.iterdir()) == [output]


def test_a_killed_run_goes_on_without_reading_again_what_it_had_read(log: Path, tmp_path: Path) -> None:
    output, expected = tmp_path / "trace.parquet", at_once(log)
    killed(log, output, after="shard-000002/finished")
    # Whoever reads the first shards again now finds no requests; the file has kept its size, its lines and its time.
    about = log.stat()
    with log.open("r+b") as file:
        first = file.read(3 * 128 * 1024)
        start = first.index(b"\n", 64 * 1024)  # by the lines in front of it the format is told
        file.seek(start)
        file.write(re.sub(rb"[^\n]", b"#", first[start:]))
    os.utime(log, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert pcache("trace", log, "-o", output, "--shard-size", SHARD).returncode == 0
    assert output.read_bytes() == expected
    assert sorted(tmp_path.iterdir()) == [log, output]


def test_a_killed_run_over_a_compressed_log_goes_on_inside_it(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, output = log.with_name("agents.jsonl.gz"), tmp_path / "trace.parquet"
    packed.write_bytes(gzip.compress(log.read_bytes(), compresslevel=1))
    expected = at_once(packed)
    killed(packed, output, after="shard-000000/piece-000003")
    skipped: list[int] = []

    def read_slices(*words: object, skip: int) -> Iterator[LogSlice]:
        skipped.append(skip)
        return slices.read_slices(*words, skip=skip)  # type: ignore[arg-type]

    monkeypatch.setattr(local_engine, "read_slices", read_slices)
    assert pcache("trace", packed, "-o", output, "--shard-size", SHARD).returncode == 0
    assert skipped[0] >= 4
    assert output.read_bytes() == expected


def test_a_run_over_a_log_that_changed_begins_anew(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "trace.parquet"
    killed(log, output, after="shard-000001/finished")
    log.write_text("".join(log.read_text().splitlines(keepends=True)[10:]))
    assert pcache("trace", log, "-o", output, "--shard-size", SHARD).returncode == 0
    assert output.read_bytes() == at_once(log)


def test_a_log_of_two_models_is_counted_with_the_tokenizer_of_most_requests(
    log: Path, tmp_path: Path
) -> None:
    """The first shards alone would choose another tokenizer than the whole log."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["request"]["model"] = "gpt-4" if number < 100 else "gpt-4.1"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = tmp_path / "trace.parquet"
    assert pcache("trace", log, "-o", output, "--shard-size", SHARD).returncode == 0
    assert load_trace(output).info.tokenizer == "o200k"
    assert output.read_bytes() == at_once(log)


def test_rows_of_a_batch_that_strayed_into_other_files_still_meet(tmp_path: Path) -> None:
    """Two logs of calls each hold half of a batch: the question in one, its answer in the other."""
    call = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "What is a prefix?"}]}
    asked = {"custom_id": "a", "params": {**call, "model": "claude-sonnet-4-5", "max_tokens": 9}}
    message = {"role": "assistant", "content": [], "usage": {"input_tokens": 12, "output_tokens": 3}}
    answered = {"custom_id": "a", "result": {"type": "succeeded", "message": {"type": "message", **message}}}
    logs = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for log, stray in zip(logs, (asked, answered), strict=True):
        log.write_text("".join(json.dumps(row) + "\n" for row in [*[call] * 20, stray]))
    output = tmp_path / "trace.parquet"
    assert pcache("trace", *logs, "-o", output, "--shard-size", "1KiB").returncode == 0
    expected = tmp_path / "expected.parquet"
    save_trace(trace_log(read_log([str(log) for log in logs])).trace, expected)
    assert load_trace(output).requests.usage_prompt.tolist().count(12) == 1
    assert output.read_bytes() == expected.read_bytes()


def test_standard_input_is_read_in_slices(agents: Path, tmp_path: Path) -> None:
    output = tmp_path / "trace.parquet"
    words = ("trace", "-", "-o", output, "--shard-size", SHARD)
    assert pcache(*words, stdin=agents.read_bytes()).returncode == 0
    piped, whole = load_trace(output), trace_log(read_log([str(agents)])).trace
    assert piped.requests.file.values == ["-"]
    assert piped.requests.request_id == whole.requests.request_id
    np.testing.assert_array_equal(piped.requests.leaf, whole.requests.leaf)
    np.testing.assert_array_equal(piped.tree.depth_end, whole.tree.depth_end)


def test_standard_input_never_goes_on_with_pieces_of_an_earlier_one(agents: Path, tmp_path: Path) -> None:
    lines = agents.read_bytes().splitlines(keepends=True)
    output = tmp_path / "trace.parquet"
    command = [*_PCACHE, "trace", "-", "-o", str(output), "--shard-size", SHARD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdin is not None
        run.stdin.write(b"".join(lines[:200]))
        run.stdin.flush()
        while not (tmp_path / "trace.parquet.parts" / "shard-000000" / "piece-000001").exists():
            assert run.poll() is None, "the run ended before it could be killed"
            time.sleep(0.005)
        run.kill()
        run.stdin.close()
    second = b"".join(lines[200:300])
    assert pcache("trace", "-", "-o", output, "--shard-size", SHARD, stdin=second).returncode == 0
    expected = [json.loads(line)["id"] for line in lines[200:300]]
    assert load_trace(output).requests.request_id == expected


def test_nothing_is_left_of_an_input_that_cannot_be_read(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert pcache("trace", empty, "-o", tmp_path / "trace.parquet").returncode == 2
    assert pcache("trace", "-", "-o", tmp_path / "trace.parquet", stdin=b"").returncode == 2
    assert list(tmp_path.iterdir()) == [empty]


def test_a_log_is_not_overwritten_by_its_trace(log: Path) -> None:
    before = log.read_bytes()
    for inputs in (log, log.parent):
        finished = pcache("trace", inputs, "-o", log)
        assert finished.returncode == 2
        assert b"is among the files to read" in finished.stderr
    assert log.read_bytes() == before


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("change", ["cut", "rewritten"])
def test_a_log_that_changes_while_it_is_read_gives_no_trace(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, jobs: int
) -> None:
    output = tmp_path / "trace.parquet"
    whole = log.read_bytes()
    make_all = local_engine._make_all

    def make_all_while_it_changes(*words: object) -> None:
        log.write_bytes(whole[:300_000] if change == "cut" else whole[::-1])
        make_all(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(local_engine, "_make_all", make_all_while_it_changes)
    finished = pcache("trace", log, "-o", output, "--shard-size", SHARD, "--jobs", jobs)
    assert finished.returncode == 2
    assert not output.exists()
    assert not output.with_name("trace.parquet.parts").exists()


def test_a_log_that_grows_is_told(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output, expected = tmp_path / "trace.parquet", at_once(log)
    make_all = local_engine._make_all

    def make_all_while_it_grows(*words: object) -> None:
        with log.open("a") as file:
            file.write(log.read_text().splitlines()[0] + "\n")
        make_all(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(local_engine, "_make_all", make_all_while_it_grows)
    finished = pcache("trace", log, "-o", output, "--shard-size", SHARD)
    assert finished.returncode == 0
    assert b"grew while it was read" in finished.stderr
    assert output.read_bytes() == expected


def test_a_damaged_piece_is_made_anew(log: Path, tmp_path: Path) -> None:
    output, expected = tmp_path / "trace.parquet", at_once(log)
    killed(log, output, after="shard-000002/finished")
    piece = tmp_path / "trace.parquet.parts" / "shard-000001" / "piece-000000"
    piece.write_bytes(piece.read_bytes()[:1000])
    assert pcache("trace", log, "-o", output, "--shard-size", SHARD).returncode == 0
    assert output.read_bytes() == expected


def test_a_namespace_that_was_mistyped_is_corrected_without_reading_again(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("trace", log, "-o", tmp_path / "trace.parquet", "--shard-size", SHARD, "--namespace")
    assert pcache(*words, "modell").returncode == 2
    monkeypatch.setattr(local_engine, "make_pieces", None)  # whoever reads now fails
    assert pcache(*words, "model").returncode == 0


def started(log: Path, output: Path) -> "subprocess.Popen[bytes]":
    """A run of some seconds with two workers, in a group of its own, that has finished a shard."""
    log.write_bytes(log.read_bytes() * 8)
    command = [*_PCACHE, "trace", str(log), "-o", str(output), "--shard-size", "16KiB", "--jobs", "2"]
    run = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a shell's background job ignores it
    )
    while not list(output.parent.glob("*.parts/shard-*/finished")):
        assert run.poll() is None, "the run ended before it could be stopped"
        time.sleep(0.005)
    return run


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor has one worker")
def test_an_interrupted_run_ends_at_once_and_says_how_to_go_on(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "trace.parquet"
    with started(log, output) as run:
        os.killpg(run.pid, signal.SIGINT)
        _, told = run.communicate()
    assert run.returncode == 130
    assert 0 < len(list(tmp_path.glob("*.parts/shard-*/finished"))) < 500
    assert b"the same command goes on" in told
    assert b"Traceback" not in told
    assert not output.exists()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor has one worker")
def test_a_worker_that_is_killed_ends_the_run_with_a_sentence(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "trace.parquet"
    with started(log, output) as run:
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        workers = [c for c in children if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]
        os.kill(int(workers[-1]), signal.SIGKILL)
        _, told = run.communicate()
    assert run.returncode == 3
    assert b"fewer --jobs or a smaller --shard-size" in told
    assert list(tmp_path.glob("*.parts/shard-*/finished"))


def test_what_was_skipped_is_told(agents: Path, tmp_path: Path) -> None:
    log = tmp_path / "broken.jsonl"
    log.write_bytes(b"{broken\n" + agents.read_bytes() + b"not JSON either\n")
    finished = pcache("trace", log, "-o", tmp_path / "t.parquet", "--shard-size", SHARD)
    assert finished.returncode == 0
    told = finished.stderr.decode().replace("\n", "")  # lines break anywhere in a long name
    assert "402 records" in told
    assert "2 skipped: 2 not JSON" in told
    assert "broken.jsonl:402" in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--jobs", "0"], "Invalid value for '--jobs'"),
        (["--block-size", "0"], "is no number of tokens"),
        (["--shard-size", "much"], "'much' is not a size"),
        (["--shard-size", "0"], "leaves nothing to read"),
        (["--address", "ray://head:10001"], "give --engine ray"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    agents: Path, tmp_path: Path, words: list[str], sentence: str
) -> None:
    finished = pcache("trace", agents, "-o", tmp_path / "t.parquet", *words)
    assert finished.returncode == 2
    assert sentence in finished.stderr.decode()
    assert list(tmp_path.iterdir()) == []


_PCACHE = (sys.executable, "-c", "from pcache_cli.app import main; main()")
