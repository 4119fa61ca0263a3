"""What shards and reducers compute for each other comes to what one machine computes from the same pieces."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzers.pipeline import TraceOptions
from analyzers.shards.cluster.exchange import ShardPieces, merge_on_cluster
from analyzers.shards.cluster.shard_tasks import head_of
from analyzers.shards.merge import MergedTrace, merge_pieces
from analyzers.shards.piece import Piece
from analyzers.shards.piece_maker import PieceMaker
from analyzers.shards.plan import plan_shards
from analyzers.shards.room import MemoryRoom
from analyzers.shards.slices import read_slices
from analyzers.trace_file import save_trace
from pcache_cli.reports.analyze import account_of
from tests.analyzers.chat_log import assistant, chat, user
from tests.analyzers.shards.cluster.inline_cluster import InlineCluster

SAMPLES = Path(__file__).resolve().parents[4] / "sample_logs"


def pieces_of(path: Path, options: TraceOptions, slice_bytes: int) -> list[Piece]:
    """A log in shards of three slices or so, all with one tokenizer."""
    plan = plan_shards([str(path)], shard_bytes=3 * slice_bytes)
    slices = [s for shard in plan.shards for s in read_slices(shard, plan.options, slice_bytes)]
    return [maker_of(options).piece(part, "o200k_base") for part in slices]


@cache
def maker_of(options: TraceOptions) -> PieceMaker:
    return PieceMaker(options)


def on_cluster(
    pieces: Sequence[Piece], options: TraceOptions, shard_of: Sequence[int], workers: int, root_tokens: int
) -> MergedTrace:
    shards = [
        [piece for piece, shard in zip(pieces, shard_of, strict=True) if shard == number]
        for number in sorted(set(shard_of))
    ]
    handles = [ShardPieces([head_of(piece) for piece in shard], shard) for shard in shards]
    return merge_on_cluster(InlineCluster(workers), handles, options, root_tokens)


def assert_equal(merged: MergedTrace, expected: MergedTrace, folder: Path) -> None:
    for name, result in (("cluster", merged), ("one machine", expected)):
        save_trace(result.trace, folder / name)
    assert (folder / "cluster").read_bytes() == (folder / "one machine").read_bytes()
    assert account_of(merged.log) == account_of(expected.log)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.jsonl")), ids=lambda path: path.stem)
@pytest.mark.parametrize(("workers", "root_tokens"), [(3, 64), (1, 1), (5, 1000)])
def test_a_sample_log_on_a_cluster(path: Path, workers: int, root_tokens: int, tmp_path: Path) -> None:
    options = TraceOptions(tokenizer="o200k_base")
    pieces = pieces_of(path, options, 20_000)
    shard_of = [piece // 2 for piece in range(len(pieces))]
    result = on_cluster(pieces, options, shard_of, workers, root_tokens)
    assert_equal(result, merge_pieces(pieces, options, MemoryRoom()), tmp_path)


def random_rows(seed: int) -> list[dict[str, Any]]:
    """Calls of three tenants out of time order, whose messages are a few long texts and two images in any order."""
    random = np.random.default_rng(seed)
    texts = [
        "\n".join(f"{words} {random.integers(6)} of {n}" for n in range(6))
        for words in ("Look at part", "Part", "Fetch shelf and part", "Say what stands on shelf", "Shelf")
    ]
    images = [{"type": "image_url", "image_url": {"url": f"https://example.org/{n}.png"}} for n in "ab"]
    rows = []
    for _ in range(40):
        contents: list[Any] = [texts[i] for i in random.integers(len(texts), size=random.integers(5))]
        if random.random() < 0.3:
            picture = images[random.integers(2)]
            contents.insert(random.integers(len(contents) + 1), [{"type": "text", "text": "See:"}, picture])
        if not contents or random.random() < 0.1:
            contents = ["Hi"]
        row = chat(
            [(user, assistant)[n % 2](content) for n, content in enumerate(contents)],
            second=int(random.integers(30)),
            tenant=f"t{random.integers(3)}",
        )
        if random.random() < 0.5:
            answer = texts[random.integers(len(texts))]
            row["response"] = {"choices": [{"message": {"role": "assistant", "content": answer}}]}
        rows.append(row)
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_a_log_that_shares_much_in_many_ways(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in random_rows(seed)), "utf-8")
    options = TraceOptions(namespace=("tenant",) if seed % 2 else ())
    pieces = pieces_of(path, options, 2_000)
    assert len(pieces) > 5
    random = np.random.default_rng(seed)
    shard_of = sorted(random.integers(4, size=len(pieces)).tolist())
    expected = merge_pieces(pieces, options, MemoryRoom())
    for root_tokens in (1, 4, 20, 64):
        result = on_cluster(pieces, options, shard_of, int(random.integers(1, 5)), root_tokens)
        assert_equal(result, expected, tmp_path)
    assert int(expected.trace.requests.seen_elsewhere.sum()) > 0
    assert (expected.trace.requests.cached_leaf != expected.trace.requests.leaf).any()


def test_a_trace_of_hashes_whose_unit_is_a_block(tmp_path: Path) -> None:
    pieces = pieces_of(SAMPLES / "hash_trace.jsonl", TraceOptions(), 3_000)
    result = on_cluster(pieces, TraceOptions(), [piece // 3 for piece in range(len(pieces))], 2, 2)
    assert result.trace.info.unit > 1
    assert_equal(result, merge_pieces(pieces, TraceOptions(), MemoryRoom()), tmp_path)


def test_requests_outside_the_period_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in random_rows(0)), "utf-8")
    options = TraceOptions(since_ns=1_790_000_010 * 10**9, until_ns=1_790_000_020 * 10**9)
    pieces = pieces_of(path, options, 2_000)
    expected = merge_pieces(pieces, options, MemoryRoom())
    assert 0 < len(expected.trace) < 40
    assert_equal(on_cluster(pieces, options, list(range(len(pieces))), 2, 4), expected, tmp_path)
