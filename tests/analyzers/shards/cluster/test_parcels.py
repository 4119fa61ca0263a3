"""Requests that travel in parcels give the tree that they give on one machine."""

import hashlib
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.part_tokens import as_offsets
from analyzers.prefix_tree import TreeWithOutputs, build_prefix_tree, plain_runs
from analyzers.shards.cluster.forest import (
    balance,
    crown_share,
    graft,
    grow_crown,
    grow_groups,
    number_groups,
    root_keys,
    select,
)
from analyzers.shards.cluster.parcels import (
    Parcel,
    deal,
    equal_hashes,
    longest_sequences,
    parcel_of_piece,
    put_together,
    sequences_of,
)
from analyzers.shards.piece import DistinctRuns
from analyzers.tokenization import FIRST_VIRTUAL_ID
from analyzers.trace import Int64, Ragged

IMAGES = ["<image a>", "<image b>"]
WORDS: list[list[int | str]] = [[0], [1], [0, 1], [2, 2, 2], [IMAGES[0]], [1, IMAGES[1]], []]
"""Contents of runs: ids, and texts that stand for ids that every piece numbers in its own way."""
RUN = st.integers(0, len(WORDS) - 1)
REQUEST = st.tuples(st.lists(RUN, max_size=4), st.none() | RUN, st.integers(0, 1))
"""The runs of a prompt, perhaps an output, and a namespace."""
Request = tuple[list[int], int | None, int]


def piece_of(log: list[Request], which: list[int]) -> tuple[DistinctRuns, Ragged, Int64]:
    """Runs, prompts and outputs of these requests; runs and virtual ids numbered in the order met."""
    runs: dict[int, int] = {}
    for request in which:
        prompt, output, _ = log[request]
        for word in [*prompt, *([] if output is None else [output])]:
            runs.setdefault(word, len(runs))
    virtual: dict[str, int] = {}
    ids = [
        [
            t if isinstance(t, int) else virtual.setdefault(t, FIRST_VIRTUAL_ID + len(virtual))
            for t in WORDS[w]
        ]
        for w in runs
    ]
    digests = b"".join(hashlib.blake2b(repr(WORDS[w]).encode(), digest_size=16).digest() for w in runs)
    distinct = DistinctRuns(
        pool=np.array([i for word in ids for i in word], np.uint32),
        offsets=as_offsets(np.array([len(word) for word in ids], np.int64)),
        hash=np.frombuffer(digests, "<u8").reshape(-1, 2),
        chunk_offsets=np.zeros(len(runs) + 1, np.int64),
        chunk_length=np.empty(0, np.int32),
        chunk_hash=np.empty((0, 2), np.uint64),
        virtual={i: text for text, i in virtual.items()},
    )
    prompts = [[runs[w] for w in log[request][0]] for request in which]
    outputs = [log[request][1] for request in which]
    return (
        distinct,
        Ragged(
            as_offsets(np.array([len(p) for p in prompts], np.int64)),
            np.array([run for p in prompts for run in p], np.int64),
        ),
        np.array([-1 if o is None else runs[o] for o in outputs], np.int32),
    )


def parcel_of(log: list[Request], which: list[int]) -> Parcel:
    return parcel_of_piece(
        *piece_of(log, which),
        owner=np.array(which, np.int32),
        namespace=np.array([log[request][2] for request in which], np.int32),
        virtual={text: FIRST_VIRTUAL_ID + n for n, text in enumerate(IMAGES)},
    )


def at_once(log: list[Request]) -> TreeWithOutputs:
    tokens = [[FIRST_VIRTUAL_ID + IMAGES.index(t) if isinstance(t, str) else t for t in w] for w in WORDS]
    sequences, owner, ends = [], [], []
    for request, (prompt, output, _) in enumerate(log):
        ids = [t for word in prompt for t in tokens[word]]
        sequences.append(ids)
        owner.append(request)
        if output is not None:
            sequences.append(ids + tokens[output])
            owner.append(request)
        ends.append((len(sequences) - 1 - (output is not None), len(sequences) - 1))
    built = build_prefix_tree(
        plain_runs([np.array(s, np.uint32) for s in sequences]),
        np.array([log[request][2] for request in owner], np.int32),
        np.array(owner, np.int32),
    )
    leaf, cached = np.array([built.leaf[list(e)] for e in ends], np.int32).reshape(-1, 2).T
    return TreeWithOutputs(built.tree, leaf, cached)


def by_parcels(
    log: list[Request], pieces: list[list[int]], root_tokens: int, reducers: int
) -> TreeWithOutputs:
    parcels = [parcel_of(log, which) for which in pieces]
    longest = [longest_sequences(p) for p in parcels]
    keys = [root_keys(runs, np.full(len(runs), root_tokens, np.int64)) for runs in longest]
    groups = number_groups(np.concatenate([p.namespace for p in parcels]), np.concatenate(keys))
    reducer = np.append(balance(np.bincount(groups[groups >= 0]), reducers), 0)
    dealt, at = [], 0
    for p in parcels:
        own = groups[at : at + len(p)]
        at += len(p)
        grouped = replace(p, group=own, root=np.full(len(p), root_tokens, np.int64))
        dealt.append(deal(grouped, reducer[own], reducers))
    groves, shares = [], []
    for r in range(reducers):
        sequences = sequences_of(put_together([shard[r] for shard in dealt]))
        groves.append(grow_groups(select(sequences, np.flatnonzero(sequences.group >= 0))))
        shares.append(crown_share(sequences))
    return graft(grow_crown(shares), groves, len(log))


@given(st.lists(REQUEST, max_size=12), st.data(), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=200)
def test_parcels_of_any_pieces_give_the_tree_of_one_machine(
    log: list[Request], data: st.DataObject, root_tokens: int, reducers: int
) -> None:
    of_piece = [data.draw(st.integers(0, 2)) for _ in log]
    pieces = [[r for r in range(len(log)) if of_piece[r] == piece] for piece in range(3)]
    forest, expected = by_parcels(log, pieces, root_tokens, reducers), at_once(log)
    for name in ("parent", "depth_start", "depth_end", "first_request"):
        assert getattr(forest.tree, name).tolist() == getattr(expected.tree, name).tolist(), name
    assert forest.leaf.tolist() == expected.leaf.tolist()
    assert forest.cached_leaf.tolist() == expected.cached_leaf.tolist()


def test_a_run_of_two_shards_has_one_place() -> None:
    log: list[Request] = [([3, 0], 3, 0), ([3], None, 0)]
    both = put_together([parcel_of(log, [0]), parcel_of(log, [1])])
    assert sorted(both.pool.tolist()) == [0, 2, 2, 2]
    assert both.output.tolist() == [int(both.prompts.of(1)[0]), -1]


def test_a_request_left_out_or_without_tokens_does_not_travel() -> None:
    log: list[Request] = [([0], None, 0), ([], None, 0), ([1], None, 0)]
    distinct, prompts, output = piece_of(log, [0, 1, 2])
    kept = parcel_of_piece(
        distinct, prompts, output, np.array([-1, 0, 1], np.int32), np.zeros(3, np.int32), {}
    )
    assert kept.owner.tolist() == [1]


def test_a_dealt_parcel_holds_only_the_runs_that_its_requests_need() -> None:
    log: list[Request] = [([0, 3], 1, 0), ([2], None, 0)]
    first, second = deal(parcel_of(log, [0, 1]), np.array([0, 1]), 2)
    assert sorted(first.pool.tolist()) == [0, 1, 2, 2, 2]
    assert second.pool.tolist() == [0, 1]


def test_equal_hashes_are_numbered_alike_whichever_half_differs() -> None:
    hashes = np.array([[1, 1], [1, 2], [1, 1], [2, 1]], np.uint64)
    first, number = equal_hashes(hashes)
    assert first.tolist() == [0, 1, 3]
    assert number.tolist() == [0, 1, 0, 2]
