"""The shared-prefix experiment computes less with reuse and says the same."""

import pytest

from analyzers.errors import CannotEvaluateError
from gpu_probe.experiment import ExperimentOptions, run_shared_prefix
from gpu_probe.models import ModelRequest

OPTIONS = ExperimentOptions(ModelRequest("tiny-llama", "cpu"), requests=4, prefix=300, suffix=20)


@pytest.mark.parametrize("name", ["tiny-llama", "tiny-gemma3", "tiny-qwen3-next"])
def test_reuse_computes_the_prefix_once_and_gives_the_same_tokens(name: str):
    result = run_shared_prefix(
        ExperimentOptions(ModelRequest(name, "cpu"), requests=3, prefix=200, suffix=20)
    )
    assert result.requests == result.requests_asked == 3
    assert result.without.computed_tokens == 3 * 220
    assert result.reuse.computed_tokens == 200 + 3 * 20
    assert result.same_first_token == 3
    assert result.kv_bytes > 0


def test_totals_are_sums_of_what_was_timed():
    result = run_shared_prefix(OPTIONS)
    assert result.without.prefix_s == 0
    assert result.reuse.total_s > result.reuse.prefix_s > 0
    assert result.speedup == pytest.approx(result.without.total_s / result.reuse.total_s)
    assert result.without.p50_ttft_s <= result.without.p95_ttft_s <= result.without.total_s
    assert result.without.peak_bytes > 0 < result.reuse.peak_bytes


def test_an_interruption_keeps_the_pairs_that_were_run():
    def progress(message: str) -> None:
        if message == "request 3 of 4":
            raise KeyboardInterrupt

    result = run_shared_prefix(OPTIONS, progress)
    assert (result.requests, result.requests_asked) == (2, 4)
    assert result.without.computed_tokens == 2 * 320


def test_an_interruption_before_the_first_pair_is_one():
    def progress(message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_shared_prefix(OPTIONS, progress)


def test_running_out_of_memory_is_one_sentence(monkeypatch):
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gpu_probe.experiment.load_model", fail)
    with pytest.raises(CannotEvaluateError, match="out of memory"):
        run_shared_prefix(OPTIONS)
