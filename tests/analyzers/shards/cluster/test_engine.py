"""A log read by a cluster is the log read at once; a shard that nobody can read is left out and told of."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analyzers.errors import CannotEvaluateError, InputError
from analyzers.logs import read_log
from analyzers.logs.inputs import Source
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.shards.cluster.engine import PoisonedShard, ShardedResult, trace_on_cluster
from analyzers.shards.cluster.shard_tasks import make_pieces
from analyzers.shards.cluster.tree_tasks import grow_share
from analyzers.shards.plan import FilePart, Plan, Shard, plan_shards
from analyzers.trace_file import save_trace
from pcache_cli.reports.analyze import account_of
from tests.analyzers.chat_log import RULES, chat, user
from tests.analyzers.shards.cluster.inline_cluster import InlineCluster

SAMPLES = Path(__file__).resolve().parents[4] / "sample_logs"


@dataclass(frozen=True)
class FailingCluster(InlineCluster):
    """Fails at some tasks: `fails` says at which, given the task and its arguments."""

    fails: Callable[[Callable[..., Any], Sequence[Any]], bool]

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        if self.fails(task, arguments):
            return RuntimeError("the disk is on fire")
        return super().submit(task, *arguments)


def reading(path: Path) -> Callable[[Callable[..., Any], Sequence[Any]], bool]:
    """Tasks that read a file."""
    return lambda task, arguments: (
        task is make_pieces and any(part.source.path == path for part in arguments[0].parts)
    )


def write_log(path: Path, calls: int, model: str = "gpt-4.1") -> Path:
    rows = [chat([user(f"{RULES} {n} of {path.name}")], second=n, model=model) for n in range(calls)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def assert_equal_to_one_reading(result: ShardedResult, paths: Sequence[Path], folder: Path) -> None:
    log = read_log([str(path) for path in paths])
    save_trace(trace_log(log, TraceOptions()).trace, folder / "whole")
    save_trace(result.trace, folder / "cluster")
    assert (folder / "cluster").read_bytes() == (folder / "whole").read_bytes()
    expected, account = account_of(log), account_of(result.log, len(result.trace))
    assert account == expected


def shards_of(paths: Sequence[Path], shard_bytes: int = 20_000) -> Plan:
    return plan_shards([str(path) for path in paths], shard_bytes=shard_bytes)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_sample_log(path: Path, tmp_path: Path) -> None:
    result = trace_on_cluster(InlineCluster(3), shards_of([path]), TraceOptions())
    assert result.poisoned == ()
    assert_equal_to_one_reading(result, [path], tmp_path)


def test_shards_that_ask_for_different_tokenizers_are_made_anew_with_one(tmp_path: Path) -> None:
    paths = [
        write_log(tmp_path / "a.jsonl", 5),
        write_log(tmp_path / "b.jsonl", 3, model="gpt-4-0613"),
    ]
    result = trace_on_cluster(InlineCluster(2), shards_of(paths, 6_000), TraceOptions())
    assert_equal_to_one_reading(result, paths, tmp_path)


def test_a_shard_that_cannot_be_read_is_left_out_and_told_of(tmp_path: Path) -> None:
    paths = [write_log(tmp_path / f"{name}.jsonl", 4) for name in "abc"]
    cluster = FailingCluster(2, reading(paths[1]))
    result = trace_on_cluster(cluster, shards_of(paths, 16_000), TraceOptions())
    assert_equal_to_one_reading(result, [paths[0], paths[2]], tmp_path)
    assert [str(shard) for shard in result.poisoned] == [
        f"left out {paths[1]}: it failed: the disk is on fire"
    ]


def test_what_a_user_must_put_right_ends_the_run(tmp_path: Path) -> None:
    paths = [write_log(tmp_path / f"{name}.jsonl", 2) for name in "abc"]
    plan = shards_of(paths, 6_000)
    paths[2].unlink()
    paths[1].unlink()
    with pytest.raises(InputError, match=r"b\.jsonl"):
        trace_on_cluster(FailingCluster(2, reading(paths[0])), plan, TraceOptions())


def test_a_log_of_which_nothing_can_be_read_has_no_trace(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.jsonl", 2)
    with pytest.raises(CannotEvaluateError, match=r"none of the log could be read; left out .*a\.jsonl: it"):
        trace_on_cluster(FailingCluster(2, reading(path)), shards_of([path]), TraceOptions())


def test_a_rest_without_requests_tells_of_what_was_left_out_too(tmp_path: Path) -> None:
    path, nothing = write_log(tmp_path / "a.jsonl", 2), tmp_path / "b.jsonl"
    nothing.write_text("\n")
    with pytest.raises(InputError, match=r"no record in .*b\.jsonl.*left out .*a\.jsonl"):
        trace_on_cluster(FailingCluster(2, reading(path)), shards_of([path, nothing], 6_000), TraceOptions())


def test_parts_that_cannot_be_put_together_are_no_trace(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.jsonl", 2)
    cluster = FailingCluster(2, lambda task, _: task is grow_share)
    with pytest.raises(CannotEvaluateError, match="could not put its parts together: it failed"):
        trace_on_cluster(cluster, shards_of([path]), TraceOptions())


def test_progress_counts_shards(tmp_path: Path) -> None:
    plan = shards_of([write_log(tmp_path / "a.jsonl", 6)], 10_000)
    told: list[tuple[int, int]] = []
    trace_on_cluster(InlineCluster(1), plan, TraceOptions(), lambda done, of: told.append((done, of)))
    assert told == [(done, len(plan.shards)) for done in range(len(plan.shards) + 1)]
    assert len(plan.shards) > 1


def test_a_poisoned_shard_names_its_files_and_its_range() -> None:
    files = [FilePart(n, Source(f"{n}.jsonl", Path(f"{n}.jsonl"), True), "x", 9) for n in range(5)]
    assert str(PoisonedShard(Shard(0, tuple(files[:2]), False), "why")) == "left out 0.jsonl, 1.jsonl: why"
    assert str(PoisonedShard(Shard(0, tuple(files[:4]), False), "why")) == (
        "left out 0.jsonl, 1.jsonl, 2.jsonl and 1 more file: why"
    )
    assert str(PoisonedShard(Shard(0, tuple(files), False), "why")).endswith(" and 2 more files: why")
    cut = FilePart(0, Source("a.jsonl", Path("a.jsonl"), True, start=1000, end=20_000), "x", 19_000)
    assert str(PoisonedShard(Shard(0, (cut,), False), "why")) == (
        "left out bytes 1,000 to 20,000 of a.jsonl: why"
    )
