"""A log read in slices and merged gives the Trace of the log read at once, byte for byte once saved."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from analyzers.errors import CannotEvaluateError, InputError, PcacheError, UsageError
from analyzers.logs import read_log
from analyzers.logs.omitted_zeros import ZEROS
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.shards.array_file import load_arrays, save_arrays
from analyzers.shards.merge import MergedTrace, merge_pieces
from analyzers.shards.merged_rows import stale_pieces
from analyzers.shards.piece import Piece
from analyzers.shards.piece_maker import PieceMaker
from analyzers.shards.plan import plan_shards, read_at_once
from analyzers.shards.room import FolderRoom, MemoryRoom, Room
from analyzers.shards.slices import LogSlice, needs_reading_together, read_slices
from analyzers.trace import Trace
from analyzers.trace_file import save_trace
from pcache_cli.reports.analyze import account_of
from tests.analyzers.chat_log import RULES, assistant, chat, system, user
from tests.shared_folder import SHARED, needs_shared

SAMPLES = Path(__file__).resolve().parents[3] / "sample_logs"
LOGS = sorted(SAMPLES.glob("*.jsonl"))
DATA = sorted(p for p in (SHARED / "data").iterdir() if p.is_dir()) if SHARED else []
AGENT = SAMPLES / "support_bot_clock.jsonl"
MIDDLE = 1_791_191_000_000_000_000
"""A time in the middle of that log."""
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>"


def slices_of(path: Path, shard_bytes: int = 20_000, slice_bytes: int = 6_000) -> list[LogSlice]:
    plan = plan_shards([str(path)], shard_bytes=shard_bytes)
    slices = [s for shard in plan.shards for s in read_slices(shard, plan.options, slice_bytes)]
    if needs_reading_together([s.account for s in slices]):
        plan = read_at_once(plan)
        slices = [s for shard in plan.shards for s in read_slices(shard, plan.options, slice_bytes)]
    return slices


@cache
def maker_for(options: TraceOptions) -> PieceMaker:
    return PieceMaker(options)


def pieces_of(slices: Sequence[LogSlice], options: TraceOptions) -> list[Piece]:
    maker = maker_for(options)
    pieces = [maker.piece(part) for part in slices]
    stale = stale_pieces(pieces, options)
    for p in stale.pieces if stale is not None else []:
        pieces[p] = maker.piece(slices[p], stale.tokenizer if stale is not None else None)
    return pieces


def merge(path: Path, options: TraceOptions, room: Room | None = None) -> MergedTrace:
    return merge_pieces(pieces_of(slices_of(path), options), options, room or MemoryRoom())


def saved(trace: Trace, path: Path) -> bytes:
    save_trace(trace, path)
    return path.read_bytes()


def assert_as_read_at_once(merged: MergedTrace, path: Path, options: TraceOptions, folder: Path) -> None:
    log = read_log([str(path)])
    whole = trace_log(log, options)
    expected, account = account_of(log), account_of(merged.log)
    assert len(merged.trace) == expected.requests
    for name in ("records", "merged", "examples", "formats", "notes"):
        assert getattr(account, name) == getattr(expected, name), name
    assert list(account.skipped.items()) == list(expected.skipped.items())
    assert merged.trace.info == whole.trace.info
    assert saved(merged.trace, folder / "merged") == saved(whole.trace, folder / "whole")


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_sample_log(path: Path, tmp_path: Path) -> None:
    merged = merge(path, TraceOptions())
    assert_as_read_at_once(merged, path, TraceOptions(), tmp_path)


@needs_shared
@pytest.mark.parametrize("path", DATA, ids=lambda path: path.name)
def test_logs_of_the_field(path: Path, tmp_path: Path) -> None:
    merged = merge(path, TraceOptions())
    assert_as_read_at_once(merged, path, TraceOptions(), tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(TraceOptions(since_ns=MIDDLE), id="from a time on"),
        pytest.param(TraceOptions(until_ns=MIDDLE), id="up to a time"),
        pytest.param(TraceOptions(namespace=("session",)), id="a namespace a session"),
        pytest.param(TraceOptions(namespace=()), id="one namespace"),
        pytest.param(TraceOptions(tokenizer="cl100k"), id="another tokenizer"),
        pytest.param(TraceOptions(answers=False), id="without answers"),
    ],
)
def test_options(options: TraceOptions, tmp_path: Path) -> None:
    merged = merge(AGENT, options)
    assert 0 < len(merged.trace) <= len(read_log([str(AGENT)]).requests)
    assert_as_read_at_once(merged, AGENT, options, tmp_path)


def test_a_chat_template(tmp_path: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text(TEMPLATE)
    options = TraceOptions(chat_template=str(template))
    assert_as_read_at_once(merge(AGENT, options), AGENT, options, tmp_path)


def test_pieces_in_files_and_large_arrays_in_a_folder(tmp_path: Path) -> None:
    pieces = pieces_of(slices_of(AGENT), TraceOptions())
    for number, piece in enumerate(pieces):
        save_arrays(piece, tmp_path / f"piece-{number}")
    loaded = [load_arrays(Piece, tmp_path / f"piece-{n}") for n in range(len(pieces))]
    room = tmp_path / "room"
    room.mkdir()
    merged = merge_pieces(loaded, TraceOptions(), FolderRoom(room))
    assert len(pieces) > 3
    assert {path.name for path in room.iterdir()} == {"boundaries", "paths"}
    assert_as_read_at_once(merged, AGENT, TraceOptions(), tmp_path)


def test_one_piece(tmp_path: Path) -> None:
    pieces = pieces_of(slices_of(AGENT, 2**20, 2**20), TraceOptions())
    assert len(pieces) == 1
    merged = merge_pieces(pieces, TraceOptions(), MemoryRoom())
    assert_as_read_at_once(merged, AGENT, TraceOptions(), tmp_path)


def test_a_piece_in_which_nothing_is_kept(tmp_path: Path) -> None:
    options = TraceOptions(since_ns=MIDDLE)
    pieces = pieces_of(slices_of(AGENT), options)
    assert any(len(piece.rows) and not len(piece.runs) for piece in pieces)
    assert_as_read_at_once(merge_pieces(pieces, options, MemoryRoom()), AGENT, options, tmp_path)


def test_requests_out_of_time_order_with_tenants_and_answers(tmp_path: Path) -> None:
    """Rows of one conversation stand in several pieces, and the first to bring content stands in a later one."""
    rows = []
    for turn in range(12):
        messages = [system(RULES if turn % 3 else f"{turn} {RULES}"), user("hello")]
        for past in range(turn % 5):
            messages += [assistant(f"answer {past} " * 30), user(f"question {past}")]
        answer = {"choices": [{"message": assistant(f"answer {turn % 5} " * 30)}]}
        row = chat(messages, second=(turn * 7) % 12, user=f"tenant {turn % 2}")
        rows.append({**row, "response": answer, "tenant": f"tenant {turn % 2}"})
    path = written(tmp_path / "log.jsonl", rows)
    for namespace in (None, ("tenant",), ()):
        options = TraceOptions(namespace=namespace)
        merged = merge(path, options)
        assert (merged.trace.requests.seen_elsewhere > 0).any()
        assert (merged.trace.requests.cached_tokens > merged.trace.requests.prompt_tokens).any()
        assert_as_read_at_once(merged, path, options, tmp_path)


def test_models_that_ask_for_different_tokenizers(tmp_path: Path) -> None:
    """The first pieces hold models of one vocabulary, the later and more numerous ones of another."""
    models = ["gpt-4o"] * 4 + ["gpt-4"] * 7
    rows = [chat([system(RULES), user(f"{i}")], second=i, model=model) for i, model in enumerate(models)]
    path = written(tmp_path / "log.jsonl", rows)
    slices = slices_of(path)
    pieces = [maker_for(TraceOptions()).piece(part) for part in slices]
    stale = stale_pieces(pieces, TraceOptions())
    assert stale is not None
    assert stale.tokenizer == "cl100k"
    assert stale.pieces == [p for p, piece in enumerate(pieces) if piece.tokenizer == "o200k"]
    merged = merge(path, TraceOptions())
    assert merged.trace.info.tokenizer == "cl100k"
    assert_as_read_at_once(merged, path, TraceOptions(), tmp_path)


def test_token_ids_beside_text_are_cut_at_the_line_ends_of_its_tokenizer(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    ids = [{"prompt_token_ids": [n, *range(1000, 1100), 198, *range(300)]} for n in range(20)]
    written(folder / "a.jsonl", ids)
    written(folder / "b.jsonl", [chat([system(RULES), user("hi")], second=1)])
    alone = [maker_for(TraceOptions()).piece(part) for part in slices_of(folder / "a.jsonl")]
    assert len(alone) > 1
    assert stale_pieces(alone, TraceOptions()) is None
    pieces = [maker_for(TraceOptions()).piece(part) for part in slices_of(folder)]
    stale = stale_pieces(pieces, TraceOptions())
    assert stale is not None
    assert stale.pieces == [p for p, piece in enumerate(pieces) if piece.holds_ids]
    merged = merge(folder, TraceOptions())
    assert (merged.trace.requests.seen_elsewhere > 0).any()
    assert_as_read_at_once(merged, folder, TraceOptions(), tmp_path)


def test_zeros_that_are_left_out_are_filled_when_another_piece_states_a_count(tmp_path: Path) -> None:
    rows = []
    for number in range(30):
        usage = {"promptTokenCount": 5000, "candidatesTokenCount": 5, "totalTokenCount": 5005}
        if number == 29:
            usage["cachedContentTokenCount"] = 4096
        request = {"contents": [{"role": "user", "parts": [{"text": f"hello {number} " * 40}]}]}
        response = {"usageMetadata": usage}
        rows.append(
            {"id": f"{number}", "model": "gemini-2.5-flash", "request": request, "response": response}
        )
    path = written(tmp_path / "log.jsonl", rows)
    merged = merge(path, TraceOptions())
    assert merged.trace.requests.usage_read.tolist() == [0] * 29 + [4096]
    assert ZEROS in merged.log.notes
    assert_as_read_at_once(merged, path, TraceOptions(), tmp_path)


def test_notes_of_a_rendering_add_up_over_pieces(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/shelf.png"}}
    rows = [
        chat(
            [system(RULES), {"role": "user", "content": [image, {"type": "text", "text": f"{n // 4}"}]}],
            second=n,
        )
        for n in range(8)
    ]
    path = written(tmp_path / "log.jsonl", rows)
    assert len(slices_of(path)) > 2
    merged = merge(path, TraceOptions())
    assert any(note.startswith("2 distinct parts") for note in merged.log.notes)
    assert_as_read_at_once(merged, path, TraceOptions(), tmp_path)


@pytest.mark.parametrize(
    ("rows", "options", "error"),
    [
        pytest.param([{"a": 1}] * 3, TraceOptions(), InputError, id="no model calls"),
        pytest.param(
            [chat([user("hi")], second=1)],
            TraceOptions(namespace=("shoe size",)),
            UsageError,
            id="no such field",
        ),
        pytest.param(
            [chat([user("hi")], second=1)],
            TraceOptions(until_ns=0),
            CannotEvaluateError,
            id="outside the period",
        ),
        pytest.param(
            [{"prompt_token_ids": [1, 2, 3]}], TraceOptions(since_ns=0), CannotEvaluateError, id="no times"
        ),
    ],
)
def test_errors_are_those_of_one_reading(
    rows: list[dict[str, Any]], options: TraceOptions, error: type[PcacheError], tmp_path: Path
) -> None:
    path = written(tmp_path / "log.jsonl", rows)
    with pytest.raises(error) as at_once:
        trace_log(read_log([str(path)]), options)
    with pytest.raises(error) as in_slices:
        merge(path, options)
    assert str(in_slices.value) == str(at_once.value)
