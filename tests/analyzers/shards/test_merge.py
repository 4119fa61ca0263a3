"""A log read in slices and merged gives the Trace of the log read at once, byte for byte once saved."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from analyzers.logs import read_log
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.shards.merge import MergedTrace, merge_pieces
from analyzers.shards.merged_rows import stale_pieces
from analyzers.shards.piece import Piece
from analyzers.shards.piece_maker import PieceMaker
from analyzers.shards.plan import plan_shards, read_at_once
from analyzers.shards.room import MemoryRoom, Room
from analyzers.shards.slices import LogSlice, needs_reading_together, read_slices
from analyzers.trace_file import save_trace
from pcache_cli.reports.analyze import account_of

SAMPLES = Path(__file__).resolve().parents[3] / "sample_logs"


def slices_of(paths: Sequence[Path], shard_bytes: int, slice_bytes: int) -> list[LogSlice]:
    plan = plan_shards([str(path) for path in paths], shard_bytes=shard_bytes)
    slices = [s for shard in plan.shards for s in read_slices(shard, plan.options, slice_bytes)]
    if needs_reading_together([s.account for s in slices]):
        plan = read_at_once(plan)
        slices = [s for shard in plan.shards for s in read_slices(shard, plan.options, slice_bytes)]
    return slices


def pieces_of(slices: Sequence[LogSlice], options: TraceOptions) -> list[Piece]:
    maker = PieceMaker(options)
    pieces = [maker.piece(part) for part in slices]
    stale = stale_pieces(pieces, options)
    if stale is not None:
        for p in stale.pieces:
            pieces[p] = maker.piece(slices[p], stale.tokenizer)
    return pieces


def merged(
    paths: Sequence[Path],
    options: TraceOptions,
    room: Room,
    shard_bytes: int = 20_000,
    slice_bytes: int = 6_000,
) -> MergedTrace:
    return merge_pieces(pieces_of(slices_of(paths, shard_bytes, slice_bytes), options), options, room)


def assert_equal_to_one_reading(paths: Sequence[Path], options: TraceOptions, folder: Path) -> None:
    log = read_log([str(path) for path in paths])
    whole = trace_log(log, options)
    result = merged(paths, options, MemoryRoom())
    expected = account_of(log)
    account = account_of(result.log)
    assert len(result.trace) == expected.requests
    for name in ("records", "merged", "skipped", "examples", "formats", "notes"):
        assert getattr(account, name) == getattr(expected, name), name
    assert list(account.skipped) == list(expected.skipped)
    assert result.trace.info == whole.trace.info
    assert saved(result.trace, folder / "merged") == saved(whole.trace, folder / "whole")


def saved(trace: object, path: Path) -> bytes:
    save_trace(trace, path)  # type: ignore[arg-type]
    return path.read_bytes()


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_sample_log_in_slices(path: Path, tmp_path: Path) -> None:
    assert_equal_to_one_reading([path], TraceOptions(), tmp_path)
