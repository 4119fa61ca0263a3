"""A log traced on a Ray cluster of two node processes is the log traced here; what dies is begun again."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from analyzers.errors import InputError, UsageError
from analyzers.logs import read_log
from analyzers.logs.inputs import STDIN, Source
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.shards.cluster.engine import ShardedResult
from analyzers.shards.cluster.on_ray import RETRIES, RayCluster, trace_with_ray
from analyzers.shards.cluster.protocol import TaskError
from analyzers.shards.plan import FilePart, Plan, Shard, plan_shards
from analyzers.trace_file import save_trace
from tests.analyzers.chat_log import RULES, chat, user
from tests.shared_folder import SHARED, needs_shared

ray = pytest.importorskip("ray")

SAMPLES = Path(__file__).resolve().parents[4] / "sample_logs"
DATA = sorted(path for path in (SHARED / "data").iterdir() if path.is_dir()) if SHARED else []
MEMORY = 80 * 2**20


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Two node processes with one CPU each, and a connection to them."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        node = {"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False}
        nodes = Cluster(initialize_head=True, head_node_args=node)
        nodes.add_node(**node)
        ray.init(address=nodes.address, log_to_driver=False, logging_level="CRITICAL")
        yield
        ray.shutdown()
        nodes.shutdown()


def assert_equal_to_one_reading(result: ShardedResult, paths: Sequence[Path], folder: Path) -> None:
    save_trace(trace_log(read_log([str(path) for path in paths])).trace, folder / "here")
    save_trace(result.trace, folder / "there")
    assert (folder / "there").read_bytes() == (folder / "here").read_bytes()


def test_the_cluster_has_two_machines() -> None:
    assert RayCluster(ray).workers == 2


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_sample_log(path: Path, tmp_path: Path) -> None:
    plan = plan_shards([str(path)], shard_bytes=60_000)
    result = trace_with_ray(plan, TraceOptions())
    assert result.poisoned == ()
    assert_equal_to_one_reading(result, [path], tmp_path)


@needs_shared
@pytest.mark.parametrize("path", DATA, ids=lambda path: path.name)
def test_real_logs(path: Path, tmp_path: Path) -> None:
    result = trace_with_ray(plan_shards([str(path)], shard_bytes=500_000), TraceOptions())
    assert_equal_to_one_reading(result, [path], tmp_path)


def write_log(path: Path, calls: int) -> Path:
    rows = [chat([user(f"{RULES} {n} of {path.name}")], second=n) for n in range(calls)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def plan_with_pipe(paths: Sequence[Path], pipe: Path) -> Plan:
    """A plan for these logs whose middle one is read from a pipe: who reads it waits for what is written to it."""
    plan = plan_shards([str(path) for path in paths], shard_bytes=12_000)
    os.mkfifo(pipe)
    assert len(plan.shards) == len(paths)
    at = plan.shards[1].parts[0]
    through = FilePart(at.file, replace(at.source, path=pipe), at.reader, at.size)
    return replace(plan, shards=(plan.shards[0], Shard(1, (through,), False), plan.shards[2]))


def reader_of(pipe: Path) -> int | None:
    """The other process that has a pipe open."""
    others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    return next((process for process in others if str(pipe) in files_of(process)), None)


def files_of(process: int) -> set[str]:
    """The files that a process has open; none if it has ended meanwhile."""
    folder = f"/proc/{process}/fd"
    try:
        return {os.readlink(f"{folder}/{number}") for number in os.listdir(folder)}
    except OSError:
        return set()


def kill_readers_then_write(pipe: Path, deaths: int, content: bytes) -> None:
    """Kill so many processes while they read a pipe, then let the next have the content."""
    for _ in range(deaths):
        with pipe.open("wb"):  # waits for a reader
            while (reader := reader_of(pipe)) is None:
                time.sleep(0.01)
            os.kill(reader, signal.SIGKILL)
            # Some thread of it may hold the pipe until all are gone.
            while Path(f"/proc/{reader}").exists():
                time.sleep(0.01)
    if deaths <= RETRIES:
        with pipe.open("wb") as out:
            out.write(content)


def trace_with_deaths(paths: Sequence[Path], pipe: Path, deaths: int) -> ShardedResult:
    """The logs, while workers that read the middle one are killed so often."""
    plan = plan_with_pipe(paths, pipe)
    killer = threading.Thread(
        target=kill_readers_then_write, args=(pipe, deaths, paths[1].read_bytes()), daemon=True
    )
    killer.start()
    result = trace_with_ray(plan, TraceOptions())
    killer.join()
    return result


def test_a_worker_killed_while_it_reads_is_followed_by_another(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = [write_log(tmp_path / f"{name}.jsonl", 3) for name in "abc"]
    result = trace_with_deaths(paths, tmp_path / "pipe", 1)
    assert result.poisoned == ()
    assert_equal_to_one_reading(result, paths, tmp_path)
    assert capfd.readouterr().out == ""


def test_a_shard_whose_workers_always_die_is_left_out(tmp_path: Path) -> None:
    paths = [write_log(tmp_path / f"{name}.jsonl", 3) for name in "abc"]
    result = trace_with_deaths(paths, tmp_path / "pipe", RETRIES + 1)
    assert [str(shard) for shard in result.poisoned] == [
        f"left out {paths[1]}: its worker process died each of {RETRIES + 1} times"
    ]
    assert_equal_to_one_reading(result, [paths[0], paths[2]], tmp_path)


def test_a_missing_file_is_told_of_as_without_a_cluster(tmp_path: Path) -> None:
    paths = [write_log(tmp_path / f"{name}.jsonl", 3) for name in "ab"]
    plan = plan_shards([str(path) for path in paths], shard_bytes=12_000)
    paths[1].unlink()
    with pytest.raises(InputError, match=r"b\.jsonl cannot be opened"):
        trace_with_ray(plan, TraceOptions())


def fail(marker: str) -> None:
    """A task that fails, and leaves a line for each time that it was tried."""
    with open(marker, "a") as tried:
        tried.write("tried\n")
    raise ValueError("no luck\nand more about it")


def test_a_task_that_raises_is_tried_again_and_its_reason_told(tmp_path: Path) -> None:
    cluster = RayCluster(ray)
    with pytest.raises(TaskError, match=r"^it failed each of 3 times: ValueError: no luck$"):
        cluster.get(cluster.submit(fail, str(tmp_path / "tries")))
    assert (tmp_path / "tries").read_text().count("tried") == 1 + RETRIES


def letters(word: str) -> list[str]:
    """A task with as many results as a word has letters."""
    return list(word)


@pytest.mark.parametrize("word", ["a", "ab"])
def test_a_task_has_as_many_results_as_asked_for(word: str) -> None:
    cluster = RayCluster(ray)
    results = cluster.submit_split(letters, len(word), word)
    assert [cluster.get(result) for result in results] == list(word)


def threads() -> str | None:
    """A task that says how many threads a tokenizer may use."""
    return os.environ.get("RAYON_NUM_THREADS")


def test_a_task_keeps_to_its_processor() -> None:
    cluster = RayCluster(ray)
    assert cluster.get(cluster.submit(threads)) == "1"


def test_standard_input_cannot_be_read_elsewhere() -> None:
    part = FilePart(0, Source(STDIN, None, named=True), None, None)
    plan = replace(plan_shards([str(SAMPLES / "healthy_agent.jsonl")]), shards=(Shard(0, (part,), True),))
    with pytest.raises(UsageError, match="standard input"):
        trace_with_ray(plan, TraceOptions())
