"""A piece tells what its slice's prompts are, token for token, and holds nothing of their text."""

import json
from pathlib import Path

import numpy as np
import pytest

from analyzers.logs import read_log
from analyzers.logs.account import SliceAccount
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.request import Log
from analyzers.shards.array_file import save_arrays
from analyzers.shards.piece import Piece
from analyzers.shards.piece_maker import PieceMaker
from analyzers.shards.slices import LogSlice
from analyzers.tokenization import FIRST_VIRTUAL_ID

SAMPLES = Path(__file__).resolve().parents[3] / "sample_logs"
NOTHING = SliceAccount(0, 0, (), 1, False, (), (), (), (), None)
AGENT = SAMPLES / "support_bot_clock.jsonl"
TEXT_LOGS = sorted(set(SAMPLES.glob("*.jsonl")) - {SAMPLES / "hash_trace.jsonl"})


def piece_of(log: Log, options: TraceOptions | None = None, tokenizer: str | None = None) -> Piece:
    return PieceMaker(options or TraceOptions()).piece(LogSlice(0, log, NOTHING), tokenizer)


def lengths(piece: Piece) -> list[int]:
    sizes = np.diff(piece.runs.offsets)
    return [int(sizes[piece.prompts.of(row)].sum()) for row in range(len(piece.rows))]


@pytest.mark.parametrize("path", TEXT_LOGS, ids=lambda path: path.stem)
def test_prompts_boundaries_and_markers_are_those_of_the_trace(path: Path) -> None:
    piece = piece_of(read_log([str(path)]))
    traced = trace_log(read_log([str(path)]))
    # The samples are written in time order, so rows of the piece and of the trace agree.
    assert piece.rows.request_id == traced.trace.requests.request_id
    assert lengths(piece) == traced.trace.requests.prompt_tokens.tolist()
    for ours, theirs in (
        (piece.boundaries, traced.trace.boundaries),
        (piece.markers, traced.trace.markers),
        (piece.marker_ttl_s, traced.trace.marker_ttl_s),
    ):
        np.testing.assert_array_equal(ours.offsets, theirs.offsets)
        np.testing.assert_array_equal(ours.values, theirs.values)
    for row in range(len(piece.rows)):
        runs = [
            piece.runs.pool[piece.runs.offsets[k] : piece.runs.offsets[k + 1]] for k in piece.prompts.of(row)
        ]
        tokens = np.concatenate([*runs, np.empty(0, np.uint32)])
        np.testing.assert_array_equal(tokens, traced.sequences.tokens(row))


def test_a_piece_on_disk_holds_no_text(tmp_path: Path) -> None:
    log = read_log([str(AGENT)])
    words = {
        word for part in log.parts.parts for word in part.raw.split() if len(word) > 7 and word.isalpha()
    }
    assert len(words) > 5
    save_arrays(piece_of(log), tmp_path / "piece")
    stored = (tmp_path / "piece").read_bytes()
    assert [word for word in words if word in stored] == [b"identity"]  # a column's name


def test_requests_outside_the_period_have_no_prompt() -> None:
    log = read_log([str(AGENT)])
    times = sorted(r.time_ns for r in log.requests if r.time_ns is not None)
    middle = times[len(times) // 2]
    inside = piece_of(read_log([str(AGENT)]), TraceOptions(since_ns=middle))
    whole = piece_of(log)
    kept = whole.rows.time_ns >= middle
    assert 0 < kept.sum() < len(kept)
    assert lengths(inside) == np.where(kept, lengths(whole), 0).tolist()
    assert (inside.output[~kept] == -1).all()


def test_runs_hash_alike_in_pieces_that_number_their_special_texts_differently(tmp_path: Path) -> None:
    options = TraceOptions(tokenizer="cl100k")
    first = piece_of(read_log([str(AGENT)]), options)
    maker = PieceMaker(options)
    # What this maker met before has taken the first numbers.
    image = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    body = {"model": "gpt-4", "messages": [{"role": "user", "content": [image]}]}
    (tmp_path / "image.jsonl").write_text(json.dumps(body))
    maker.piece(LogSlice(0, read_log([str(tmp_path / "image.jsonl")]), NOTHING))
    second = maker.piece(LogSlice(0, read_log([str(AGENT)]), NOTHING))
    assert min(first.runs.virtual) >= FIRST_VIRTUAL_ID
    assert sorted(first.runs.virtual.values()) == sorted(second.runs.virtual.values())
    assert first.runs.virtual != second.runs.virtual
    np.testing.assert_array_equal(first.runs.hash, second.runs.hash)
    np.testing.assert_array_equal(first.runs.chunk_hash, second.runs.chunk_hash)
