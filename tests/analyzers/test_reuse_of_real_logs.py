"""Reuse of real logs, request for request, against longest common prefixes of whole token lists."""

from pathlib import Path

import numpy as np
import pytest

from analyzers.logs import read_log
from analyzers.pipeline import TracedLog, TraceOptions, trace_log
from analyzers.reuse import analyze_reuse, block_reuse, reuse_by_request
from tests.shared_folder import SHARED, needs_shared

SAMPLED = 25
"""Requests a log is checked at; each against every earlier request of its namespace."""


def data_files() -> list[Path]:
    if SHARED is None:
        return []
    suffixes = {".jsonl", ".json", ".traj", ".yaml"}
    files = [p for p in sorted((SHARED / "data").rglob("*")) if p.suffix in suffixes and p.stat().st_size]
    files = [p for p in files if p.name != "synthetic_trace.jsonl"]  # block hashes: see the last test
    # Every tenth of the many cassettes is enough: the others read alike.
    cassettes = [p for p in files if p.suffix == ".yaml"]
    return [p for p in files if p.suffix != ".yaml"] + cassettes[::10]


def longest_common_prefix(a: np.ndarray, b: np.ndarray) -> int:  # type: ignore[type-arg]
    short = min(len(a), len(b))
    differing = np.flatnonzero(a[:short] != b[:short])
    return int(differing[0]) if len(differing) else short


def assert_equals_brute_force(traced: TracedLog) -> None:
    reuse = reuse_by_request(traced.trace)
    namespace = traced.trace.requests.namespace
    count = len(traced.trace)
    chosen = range(count) if count <= SAMPLED else np.linspace(0, count - 1, SAMPLED).astype(int).tolist()
    tokens: dict[int, np.ndarray] = {}  # type: ignore[type-arg]

    def of(request: int) -> np.ndarray:  # type: ignore[type-arg]
        if request not in tokens:
            tokens[request] = traced.sequences.tokens(request)
        return tokens[request]

    for r in chosen:
        earlier = [e for e in range(r) if namespace[e] == namespace[r]]
        best = max((longest_common_prefix(of(r), of(e)) for e in earlier), default=0)
        assert reuse.reusable[r] == best
        prompt = len(of(r))
        assert reuse.prompt[r] == prompt
        in_blocks = min(best // 16, max(prompt - 1, 0) // 16) * 16
        assert block_reuse(reuse.reusable[r : r + 1], reuse.prompt[r : r + 1], 16)[0] == in_blocks


@needs_shared
@pytest.mark.parametrize("path", data_files(), ids=lambda p: p.name[:60])
def test_reuse_equals_the_longest_common_prefix_with_any_earlier_request(path: Path) -> None:
    log = read_log([str(path)])
    traced = trace_log(log, TraceOptions(answers=False))
    assert log.records == len(log.requests) + log.merged + sum(log.skipped.values())
    assert_equals_brute_force(traced)
    report = analyze_reuse(traced.trace)
    if report.classes.new is not None:
        parts = report.classes
        total = parts.same_conversation + parts.across_conversations + (parts.seen_elsewhere or 0) + parts.new
        assert total == report.prompt_tokens


@needs_shared
def test_the_published_hash_trace_gives_the_known_figures() -> None:
    assert SHARED is not None
    trace = trace_log(read_log([str(SHARED / "data" / "mooncake" / "synthetic_trace.jsonl")])).trace
    report = analyze_reuse(trace)
    assert report.requests == 3993
    assert report.prompt_tokens == 61_194_628
    assert report.reusable_tokens == 39_852_661
    assert report.reusable_token_ratio == pytest.approx(0.6512, abs=5e-5)
    assert [b.block_size for b in report.blocks] == [512]
    assert report.blocks[0].ratio == pytest.approx(0.6504, abs=5e-5)
