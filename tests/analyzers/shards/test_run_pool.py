"""Runs of several pieces in one pool: equal content once, ids of no vocabulary by their text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzers.part_tokens import as_offsets
from analyzers.pipeline import TraceOptions
from analyzers.shards.piece import Piece
from analyzers.shards.piece_maker import PieceMaker
from analyzers.shards.plan import plan_shards
from analyzers.shards.room import MemoryRoom
from analyzers.shards.run_pool import conversations, merge_lists, pool_runs
from analyzers.shards.slices import read_slices
from analyzers.tokenization import FIRST_VIRTUAL_ID
from analyzers.trace import Ragged

LISTS = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=8)


def piece_of(folder: Path, rows: list[dict[str, Any]]) -> Piece:
    """Made on its own, with ids of its own for what the vocabulary lacks."""
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = plan_shards([str(path)])
    (log_slice,) = read_slices(plan.shards[0], plan.options)
    return PieceMaker(TraceOptions(tokenizer="cl100k")).piece(log_slice)


def ids(*prompt: int, output: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"prompt_token_ids": list(prompt), **({"output_token_ids": list(output)} if output else {})}


def image_and(text: str, *, first: bool) -> dict[str, Any]:
    """A prompt whose media and frame tokens are met in one order or the other."""
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    file = {"type": "file", "file": {"file_id": "file-1"}}
    content = [image, file] if first else [file, image]
    messages = [{"role": "user", "content": [*content, {"type": "text", "text": text}]}]
    return {"model": "gpt-4", "messages": messages}


def test_equal_content_of_two_pieces_lies_down_once(tmp_path: Path) -> None:
    first = piece_of(tmp_path, [ids(1, 2, 3), ids(4, 5)])
    second = piece_of(tmp_path, [ids(4, 5), ids(6), ids(1, 2, 3)])
    runs = pool_runs([first, second], MemoryRoom())
    assert sorted(runs.pool.tolist()) == [1, 2, 3, 4, 5, 6]
    for piece, number in zip((first, second), runs.numbers, strict=True):
        for k, n in enumerate(number.tolist()):
            ours = piece.runs.pool[piece.runs.offsets[k] : piece.runs.offsets[k + 1]]
            assert runs.pool[runs.offsets[n] : runs.offsets[n + 1]].tolist() == ours.tolist()


def test_ids_that_pieces_numbered_on_their_own_agree_by_their_text(tmp_path: Path) -> None:
    pieces = [
        piece_of(tmp_path, [image_and("a", first=True)]),
        piece_of(tmp_path, [image_and("b", first=False)]),
    ]
    texts = [list(piece.runs.virtual.items()) for piece in pieces]
    assert dict(texts[0]) != dict(texts[1])
    assert sorted(piece[1] for piece in texts[0]) == sorted(piece[1] for piece in texts[1])
    runs = pool_runs(pieces, MemoryRoom())
    meaning: dict[int, str] = {}
    for piece, number in zip(pieces, runs.numbers, strict=True):
        for k, n in enumerate(number.tolist()):
            theirs = piece.runs.pool[piece.runs.offsets[k] : piece.runs.offsets[k + 1]].tolist()
            ours = runs.pool[runs.offsets[n] : runs.offsets[n + 1]].tolist()
            for before, after in zip(theirs, ours, strict=True):
                if before < FIRST_VIRTUAL_ID:
                    assert after == before
                else:
                    text = piece.runs.virtual[before]
                    assert meaning.setdefault(after, text) == text
    assert len(set(meaning.values())) == len(meaning) == len(texts[0])


def test_an_output_stands_behind_its_prompt_in_the_row_of_its_request(tmp_path: Path) -> None:
    first = piece_of(tmp_path, [ids(1, 2, output=(7, 8, 9)), ids(3)])
    second = piece_of(tmp_path, [ids(5, output=(6, 6))])
    row_of = [np.array([2, -1]), np.array([0])]
    runs = pool_runs([first, second], MemoryRoom())
    whole = conversations([first, second], runs, row_of, 3, MemoryRoom())
    assert [whole.sequences.tokens(row).tolist() for row in range(3)] == [[5, 6], [], [1, 2, 7, 8]]
    assert whole.has_output.tolist() == [True, False, True]
    assert whole.prompt_tokens.tolist() == [1, 0, 2]
    assert whole.cached_tokens.tolist() == [2, 0, 4]


def ragged(lists: list[list[int]]) -> Ragged:
    counts = np.array([len(some) for some in lists], np.int64)
    return Ragged(as_offsets(counts), np.array([n for some in lists for n in some], np.int64))


@given(LISTS, LISTS, st.randoms(use_true_random=False))
def test_lists_of_pieces_go_to_their_rows(
    first: list[list[int]], second: list[list[int]], random: Any
) -> None:
    rows = list(range(len(first) + len(second)))
    random.shuffle(rows)
    row_of = [np.array(rows[: len(first)], np.int64), np.array(rows[len(first) :], np.int64)]
    codes = [np.arange(10), np.arange(10) + 100]
    merged = merge_lists("lists", [ragged(first), ragged(second)], row_of, len(rows), MemoryRoom(), codes)
    expected = [*first, *([n + 100 for n in some] for some in second)]
    assert [merged.of(row).tolist() for row in rows] == expected
