"""Who has no cluster gets one for the time of the trace; who names one that does not answer is told at once."""

import socket
import sys
from pathlib import Path

import pytest

from analyzers.errors import UsageError
from analyzers.logs import read_log
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.shards.cluster.on_ray import trace_with_ray
from analyzers.shards.plan import plan_shards
from analyzers.trace_file import save_trace

SAMPLE = Path(__file__).resolve().parents[4] / "sample_logs" / "rag_shuffled.jsonl"


@pytest.fixture(autouse=True)
def without_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def test_without_an_address_a_cluster_is_started_and_ended(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ray = pytest.importorskip("ray")
    result = trace_with_ray(plan_shards([str(SAMPLE)], shard_bytes=100_000), TraceOptions())
    assert not ray.is_initialized()
    assert capfd.readouterr() == ("", "")
    save_trace(result.trace, tmp_path / "there")
    save_trace(trace_log(read_log([str(SAMPLE)])).trace, tmp_path / "here")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_an_address_where_nobody_answers() -> None:
    pytest.importorskip("ray")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"no Ray cluster at {address} can be used: Connection refused"):
            trace_with_ray(plan_shards([str(SAMPLE)]), TraceOptions(), address)


def test_an_address_that_is_none() -> None:
    pytest.importorskip("ray")
    with pytest.raises(UsageError, match="no Ray cluster at nowhere can be used"):
        trace_with_ray(plan_shards([str(SAMPLE)]), TraceOptions(), "nowhere")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'pcache-cli\[scale\]'"):
        trace_with_ray(plan_shards([str(SAMPLE)]), TraceOptions())
