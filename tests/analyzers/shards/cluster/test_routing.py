"""Requests that begin alike meet on one machine, and no machine gets much more than its share where that can be."""

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.pipeline import TraceOptions
from analyzers.shards.cluster.exchange import ShardPieces, merge_on_cluster
from analyzers.shards.cluster.routing import route_requests
from analyzers.shards.cluster.shard_tasks import Placing, head_of
from analyzers.shards.cluster.tree_tasks import Routes, deal_requests
from analyzers.shards.merge import merge_pieces
from analyzers.shards.merged_rows import merge_rows
from analyzers.shards.piece import Piece
from analyzers.shards.piece_maker import PieceMaker
from analyzers.shards.plan import plan_shards
from analyzers.shards.room import MemoryRoom
from analyzers.shards.slices import read_slices
from analyzers.tokenization import FIRST_VIRTUAL_ID
from analyzers.trace_file import save_trace
from tests.analyzers.chat_log import RULES, assistant, chat, system, user
from tests.analyzers.shards.cluster.inline_cluster import InlineCluster

WORKERS = 4
OPTIONS = TraceOptions(tokenizer="o200k")
Row = dict[str, Any]


def pieces_of(rows: list[Row], folder: Path) -> list[Piece]:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    plan = plan_shards([str(path)], shard_bytes=1 + path.stat().st_size // 5)
    maker = PieceMaker(OPTIONS)
    return [maker.piece(part) for shard in plan.shards for part in read_slices(shard, plan.options)]


def routes_of(pieces: list[Piece], root_tokens: int) -> tuple[list[Routes], list[int]]:
    """The routes, and how many requests each reducer gets."""
    merged = merge_rows(pieces, OPTIONS)
    texts = sorted({text for piece in pieces for text in piece.runs.virtual.values()})
    virtual = {text: FIRST_VIRTUAL_ID + number for number, text in enumerate(texts)}
    placings = [Placing([row], [merged.namespace[row]], virtual, outputs=True) for row in merged.row_of]
    shards = [[piece] for piece in pieces]
    routes = route_requests(InlineCluster(WORKERS), shards, placings, root_tokens)
    got = [0] * routes[0].reducers
    for shard, placing, route in zip(shards, placings, routes, strict=True):
        for reducer, parcel in enumerate(deal_requests(shard, placing, route)):
            got[reducer] += len(parcel)
    return routes, got


def assert_merged_as_on_one_machine(pieces: list[Piece], root_tokens: int, folder: Path) -> None:
    shards = [ShardPieces([head_of(piece)], [piece]) for piece in pieces]
    result = merge_on_cluster(InlineCluster(WORKERS), shards, OPTIONS, root_tokens)
    for name, trace in (
        ("cluster", result.trace),
        ("one machine", merge_pieces(pieces, OPTIONS, MemoryRoom()).trace),
    ):
        save_trace(trace, folder / name)
    assert (folder / "cluster").read_bytes() == (folder / "one machine").read_bytes()


def one_system_prompt(calls: int) -> list[Row]:
    return [
        chat([system(RULES), user(f"Number {n * 7919 % 100}: where does part {n} stand, and why?")], second=n)
        for n in range(calls)
    ]


def test_requests_of_one_system_prompt_are_parted_behind_it(tmp_path: Path) -> None:
    pieces = pieces_of(one_system_prompt(60), tmp_path)
    routes, got = routes_of(pieces, 16)
    assert sum(got) == 60
    assert max(got) <= 30
    assert all(route.cuts.parted for route in routes)
    assert_merged_as_on_one_machine(pieces, 16, tmp_path)


def test_large_groups_are_parted_alike_whatever_else_a_shard_holds(tmp_path: Path) -> None:
    rows = one_system_prompt(40)
    for row in rows[:15] + rows[30:]:
        row["request"]["messages"][0] = system(f"Another place. {RULES}")
    pieces = pieces_of(rows, tmp_path)
    routes, got = routes_of(pieces, 16)
    assert max(got) <= 20
    assert len({len(route.group) for route in routes}) > 1
    assert_merged_as_on_one_machine(pieces, 16, tmp_path)


def test_conversations_of_one_system_prompt_stay_whole(tmp_path: Path) -> None:
    rows = []
    for talk in range(6):
        turns = [system(RULES), user(f"Talk {talk} is about shelf {talk * 31 % 17} and what stands on it.")]
        for turn in range(8):
            rows.append(chat(turns, second=10 * turn + talk))
            turns = [*turns, assistant(f"So it is with {talk}."), user(f"And number {turn} of {talk}?")]
    pieces = pieces_of(rows, tmp_path)
    _, got = routes_of(pieces, 8)
    assert max(got) <= len(rows) // 2
    assert_merged_as_on_one_machine(pieces, 8, tmp_path)


def test_equal_prompts_cannot_be_parted(tmp_path: Path) -> None:
    pieces = pieces_of([chat([user(RULES)], second=n) for n in range(20)], tmp_path)
    routes, got = routes_of(pieces, 16)
    assert max(got) == 20
    assert not any(route.cuts.parted for route in routes)
    assert_merged_as_on_one_machine(pieces, 16, tmp_path)


def test_a_few_that_go_apart_early_do_not_keep_the_rest_together(tmp_path: Path) -> None:
    rows = [*one_system_prompt(60), *(chat([system(RULES[:400])], second=70 + n) for n in range(3))]
    pieces = pieces_of(rows, tmp_path)
    _, got = routes_of(pieces, 16)
    assert max(got) <= 32
    assert_merged_as_on_one_machine(pieces, 16, tmp_path)


@pytest.mark.parametrize("root_tokens", [1, 5])
def test_many_roots_are_spread_without_parting(root_tokens: int, tmp_path: Path) -> None:
    rows = [
        chat([user(f"{word} {RULES}")], second=n) for n, word in enumerate("one two six ten red".split() * 8)
    ]
    pieces = pieces_of(rows, tmp_path)
    assert_merged_as_on_one_machine(pieces, root_tokens, tmp_path)
    _, got = routes_of(pieces, 64)
    assert sorted(got) == [8, 8, 8, 16]
