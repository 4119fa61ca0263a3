"""`pcache trace --engine ray`: what the command makes of what a cluster gives. The cluster itself is tested with the
engine."""

from pathlib import Path

import pytest

from analyzers.logs import read_log
from analyzers.logs.inputs import find_sources
from analyzers.pipeline import trace_log
from analyzers.shards.cluster import on_ray
from analyzers.shards.cluster.engine import PoisonedShard, ShardedResult
from analyzers.shards.plan import FilePart, Plan, Shard
from analyzers.trace_file import load_trace
from tests.command_line import pcache

LOG = Path(__file__).resolve().parents[2] / "sample_logs" / "support_bot_clock.jsonl"


def answer_with(monkeypatch: pytest.MonkeyPatch, *poisoned: PoisonedShard) -> list[tuple[object, ...]]:
    """Let the cluster give the log's trace and these shards; returns what it is asked."""
    asked: list[tuple[object, ...]] = []

    def trace_with_ray(plan: Plan, options: object, address: str | None, progress: object) -> ShardedResult:
        asked.append((plan.shards[0].parts[0].source.name, address))
        traced = trace_log(read_log([str(LOG)]))
        return ShardedResult(traced.trace, traced.log, poisoned)

    monkeypatch.setattr(on_ray, "trace_with_ray", trace_with_ray)
    return asked


def test_the_cluster_at_the_address_reads_the_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = answer_with(monkeypatch)
    output = tmp_path / "trace.parquet"
    finished = pcache("trace", LOG, "-o", output, "--engine", "ray", "--address", "head:6379")
    assert finished.returncode == 0
    assert asked == [(str(LOG), "head:6379")]
    assert len(load_trace(output)) == len(LOG.read_text().splitlines())


def test_what_the_cluster_left_out_is_named_and_the_rest_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shard = Shard(3, (FilePart(0, find_sources([str(LOG)])[0], "openai-chat", 10),), in_one_slice=False)
    answer_with(monkeypatch, PoisonedShard(shard, "its worker ran out of memory each of 3 times"))
    output = tmp_path / "trace.parquet"
    finished = pcache("trace", LOG, "-o", output, "--engine", "ray", "--quiet")
    assert finished.returncode == 2
    assert f"left out {LOG}: its worker ran out of memory" in finished.stderr.decode()
    assert len(load_trace(output)) > 0


def test_jobs_are_of_this_machine(tmp_path: Path) -> None:
    finished = pcache("trace", LOG, "-o", tmp_path / "t.parquet", "--engine", "ray", "--jobs", "2")
    assert finished.returncode == 2
    assert b"--jobs is for this machine" in finished.stderr
