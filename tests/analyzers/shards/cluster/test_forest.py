"""The tree built by groups and joined is the tree built at once, array by array."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.part_tokens import as_offsets
from analyzers.prefix_tree import TokenRuns, TreeWithOutputs, build_prefix_tree
from analyzers.shards.cluster.forest import (
    Sequences,
    balance,
    beginnings,
    crown_share,
    graft,
    grow_crown,
    grow_groups,
    in_request_order,
    number_groups,
    root_keys,
    select,
)

FEW_TOKENS = st.integers(0, 2)
TOKENS = st.lists(FEW_TOKENS, max_size=7)
REQUEST = st.tuples(TOKENS, st.none() | TOKENS, st.integers(0, 2))
"""A prompt, perhaps an output, and a namespace."""
LOG = st.lists(REQUEST, max_size=12)
Request = tuple[list[int], list[int] | None, int]


def sequences_of(log: list[Request]) -> Sequences:
    """A request's prompt and its prompt with output, in runs of one pool: prompt and output are a run each."""
    words: list[list[int]] = []
    runs: list[list[int]] = []
    namespaces, owner, is_output = [], [], []
    for request, (prompt, output, namespace) in enumerate(log):
        words.append(prompt)
        runs.append([len(words) - 1])
        if output is not None:
            words.append(output)
            runs.append([len(words) - 2, len(words) - 1])
        for with_output in range(1 + (output is not None)):
            namespaces.append(namespace)
            owner.append(request)
            is_output.append(with_output == 1)
    length = np.array([len(w) for w in words], np.int64)
    return Sequences(
        TokenRuns(
            pool=np.array([t for w in words for t in w], np.uint32),
            start=as_offsets(length)[:-1],
            length=length,
            offsets=as_offsets(np.array([len(r) for r in runs], np.int64)),
            runs=np.array([w for r in runs for w in r], np.int64),
        ),
        np.array(namespaces, np.int32),
        np.full(len(owner), -1, np.int64),
        np.zeros(len(owner), np.int64),
        np.array(owner, np.int32),
        np.array(is_output, bool),
    )


def at_once(sequences: Sequences, requests: int) -> TreeWithOutputs:
    built = build_prefix_tree(sequences.runs, sequences.namespace, sequences.owner)
    leaf = np.full(requests, -1, np.int32)
    leaf[sequences.owner[~sequences.is_output]] = built.leaf[~sequences.is_output]
    cached = leaf.copy()
    cached[sequences.owner[sequences.is_output]] = built.leaf[sequences.is_output]
    return TreeWithOutputs(built.tree, leaf, cached)


def in_groups(sequences: Sequences, root_tokens: int, parted: int, longer: int) -> Sequences:
    """Every sequence with its group; one of the groups is parted by roots that are longer by so many tokens."""
    root = np.full(len(sequences), root_tokens, np.int64)
    group = number_groups(sequences.namespace, root_keys(sequences.runs, root))
    again = group == parted
    root[again] += longer
    keys = root_keys(sequences.runs, root)
    group[again] = len(group) + number_groups(group[again], keys[again])
    group[again & ~keys.any(axis=1)] = -1
    return replace(sequences, group=group, root=root)


def by_groups(
    sequences: Sequences, requests: int, reducers: int, shuffle: np.random.Generator
) -> TreeWithOutputs:
    """As a cluster does it: sequences reach a reducer in any order, and the crown is made of their shares."""
    group = sequences.group
    reducer = np.append(balance(np.bincount(group[group >= 0]), reducers), -1)[group]
    crown = [crown_share(select(sequences, np.flatnonzero(group < 0)))]
    groves = []
    for r in range(reducers):
        mine = in_request_order(select(sequences, shuffle.permutation(np.flatnonzero(reducer == r))))
        groves.append(grow_groups(mine))
        crown.append(crown_share(mine))
    return graft(grow_crown(crown), groves, requests)


def assert_equal(a: TreeWithOutputs, b: TreeWithOutputs) -> None:
    for name in ("parent", "depth_start", "depth_end", "first_request"):
        assert getattr(a.tree, name).tolist() == getattr(b.tree, name).tolist(), name
        assert getattr(a.tree, name).dtype == np.int32
    assert a.leaf.tolist() == b.leaf.tolist()
    assert a.cached_leaf.tolist() == b.cached_leaf.tolist()
    assert a.leaf.dtype == a.cached_leaf.dtype == np.int32


@given(LOG, st.integers(1, 4), st.integers(0, 2), st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))
@settings(max_examples=500)
def test_the_tree_built_by_groups_is_the_tree_built_at_once(
    log: list[Request], root_tokens: int, parted: int, longer: int, reducers: int, seed: int
) -> None:
    sequences = sequences_of(log)
    grouped = in_groups(sequences, root_tokens, parted, longer)
    grafted = by_groups(grouped, len(log), reducers, np.random.default_rng(seed))
    assert_equal(grafted, at_once(sequences, len(log)))


@pytest.mark.parametrize(
    "log",
    [
        pytest.param([([], None, 0), ([], [1, 1, 1, 1], 0)], id="empty prompts"),
        pytest.param([([1], None, 0), ([1, 1, 1, 1], None, 0), ([1, 1], None, 0)], id="ends inside a root"),
        pytest.param([([1, 1, 1, 1, 2], None, 0), ([1, 1, 1, 1, 3], None, 0)], id="parts behind the root"),
        pytest.param([([1, 1, 1, 2], None, 0), ([1, 1, 2, 2], None, 0)], id="parts inside the root"),
        pytest.param([([1, 1, 1], None, 0), ([1, 1, 1, 1], None, 0)], id="ends with the root"),
        pytest.param(
            [([1, 1], [1, 1, 1, 2], 0), ([1, 1, 1, 1, 1, 3], None, 0)],
            id="an output reaches into the group of a later prompt",
        ),
        pytest.param([([1, 1], [2], 0), ([1, 1, 2, 2, 2], None, 0)], id="a short output came first"),
        pytest.param([([1, 1, 1, 1], None, 0), ([1, 1, 1, 1], None, 1)], id="namespaces share nothing"),
    ],
)
def test_a_log_that_crosses_the_edge_of_the_crown(log: list[Request]) -> None:
    sequences = sequences_of(log)
    grouped = in_groups(sequences, 3, parted=-2, longer=0)
    grafted = by_groups(grouped, len(log), 2, np.random.default_rng(0))
    assert_equal(grafted, at_once(sequences, len(log)))


@given(LOG, st.integers(1, 4))
def test_a_group_is_a_namespace_and_a_root(log: list[Request], root_tokens: int) -> None:
    sequences = sequences_of(log)
    root = np.full(len(sequences), root_tokens, np.int64)
    group = number_groups(sequences.namespace, root_keys(sequences.runs, root))
    known: dict[object, int] = {}
    for s in range(len(sequences)):
        tokens = sequences.runs.tokens(s).tolist()
        if len(tokens) < root_tokens:
            assert group[s] == -1
        else:
            root = (int(sequences.namespace[s]), tuple(tokens[:root_tokens]))
            assert known.setdefault(root, int(group[s])) == group[s]
    assert sorted(known.values()) == list(range(len(known)))


def test_beginnings_are_the_first_tokens_across_runs_each_run_once() -> None:
    sequences = sequences_of([([1, 2], [0, 1, 2], 0), ([], None, 0)]).runs
    begin = beginnings(sequences, np.array([2, 3, 3]))
    assert [begin.tokens(s).tolist() for s in range(3)] == [[1, 2], [1, 2, 0], []]
    assert begin.pool.tolist() == [1, 2, 0]


def test_the_largest_groups_are_spread_first() -> None:
    assert balance(np.array([1, 5, 4, 2]), 2).tolist() == [0, 0, 1, 1]


def test_equal_groups_are_spread_the_same_way_each_time() -> None:
    assert balance(np.array([3, 3, 3, 3]), 3).tolist() == [0, 1, 2, 0]


def test_no_sequences_give_an_empty_tree() -> None:
    nothing = sequences_of([])
    forest = by_groups(nothing, 0, 2, np.random.default_rng(0))
    assert len(forest.tree) == len(forest.leaf) == 0
