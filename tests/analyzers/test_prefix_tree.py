"""The tree, and what is read off it, against brute force over whole token lists."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers import kernels
from analyzers.prefix_tree import (
    BuiltTree,
    TokenRuns,
    build_prefix_tree,
    build_tree_with_outputs,
    plain_runs,
)

FEW_TOKENS = st.integers(0, 2)
PROMPT = st.lists(FEW_TOKENS, max_size=12)
FOREST = st.lists(st.tuples(PROMPT, st.integers(0, 2)), max_size=14)


def common_prefix(a: list[int], b: list[int]) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length


def built(prompts: list[list[int]], namespaces: list[int] | None = None) -> BuiltTree:
    sequences = plain_runs([np.array(p, np.uint32) for p in prompts])
    return build_prefix_tree(sequences, np.array(namespaces or [0] * len(prompts), np.int32))


def reused(tree: BuiltTree) -> list[int]:
    first = kernels.first_prompt_of_nodes(tree.tree.parent, tree.leaf)
    depth, _ = kernels.reused_depth(tree.tree.parent, tree.tree.depth_end, first, tree.leaf)
    return [int(d) for d in depth]


def path(tree: BuiltTree, request: int) -> list[int]:
    node, nodes = int(tree.leaf[request]), []
    while node >= 0:
        nodes.append(node)
        node = int(tree.tree.parent[node])
    return nodes[::-1]


@given(FOREST)
def test_reusable_prefix_is_the_longest_common_prefix_with_any_earlier_prompt(
    forest: list[tuple[list[int], int]],
) -> None:
    prompts = [p for p, _ in forest]
    spaces = [n for _, n in forest]
    expected = [
        max((common_prefix(p, q) for q, m in forest[:i] if m == n), default=0)
        for i, (p, n) in enumerate(forest)
    ]
    assert reused(built(prompts, spaces)) == expected


@given(FOREST)
def test_two_prompts_share_a_node_exactly_as_far_as_their_tokens_agree(
    forest: list[tuple[list[int], int]],
) -> None:
    tree = built([p for p, _ in forest], [n for _, n in forest])
    for i, (p, n) in enumerate(forest):
        nodes = path(tree, i)
        assert [int(tree.tree.depth_start[x]) for x in nodes] == [
            0,
            *(int(tree.tree.depth_end[x]) for x in nodes),
        ][: len(nodes)]
        assert (int(tree.tree.depth_end[nodes[-1]]) if nodes else 0) == len(p)
        for j, (q, m) in enumerate(forest):
            shared = set(nodes) & set(path(tree, j))
            depth = max((int(tree.tree.depth_end[x]) for x in shared), default=0)
            assert depth == (common_prefix(p, q) if n == m else 0)


@given(FOREST)
def test_nodes_are_numbered_parents_first_and_at_most_two_a_prompt(
    forest: list[tuple[list[int], int]],
) -> None:
    tree = built([p for p, _ in forest], [n for _, n in forest]).tree
    assert len(tree) <= 2 * len(forest)
    assert all(int(tree.parent[node]) < node for node in range(len(tree)))
    assert list(tree.first_request) == sorted(tree.first_request)


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=10), st.data())
def test_cutting_prompts_into_shared_runs_changes_nothing(
    prompts: list[list[int]], data: st.DataObject
) -> None:
    """Runs are words of the pool; a prompt is a list of words. The tree must equal that of the plain tokens."""
    words = data.draw(st.lists(st.lists(FEW_TOKENS, max_size=4), min_size=5, max_size=5))
    pool = np.array([t for w in words for t in w], np.uint32)
    length = np.array([len(w) for w in words], np.int64)
    start = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in prompts])]).astype(np.int64)
    runs = TokenRuns(pool, start, length, offsets, np.array([w for p in prompts for w in p], np.int64))
    plain = [[t for w in p for t in words[w]] for p in prompts]
    assert [list(runs.tokens(i)) for i in range(len(prompts))] == plain
    assert list(runs.totals()) == [len(p) for p in plain]
    by_runs = build_prefix_tree(runs, np.zeros(len(prompts), np.int32))
    by_tokens = built(plain)
    assert reused(by_runs) == reused(by_tokens)
    for a, b in zip(
        (by_runs.tree.parent, by_runs.tree.depth_end, by_runs.leaf),
        (by_tokens.tree.parent, by_tokens.tree.depth_end, by_tokens.leaf),
        strict=True,
    ):
        assert a.tolist() == b.tolist()


@given(st.lists(st.tuples(PROMPT, st.integers(-1, 2)), max_size=14))
def test_reuse_within_a_group_counts_only_that_group(prompts: list[tuple[list[int], int]]) -> None:
    tree = built([p for p, _ in prompts])
    group = np.array([g for _, g in prompts], np.int32)
    depth = kernels.reused_depth_within(tree.tree.parent, tree.tree.depth_end, tree.leaf, group, 1)
    for i, (p, g) in enumerate(prompts):
        expected = max((common_prefix(p, q) for q, h in prompts[:i] if h == g), default=0) if g >= 0 else 0
        assert depth[i] == expected


@given(st.lists(st.tuples(PROMPT, PROMPT), max_size=10))
@settings(max_examples=60)
def test_outputs_continue_their_prompt_and_do_not_count_as_prompts(
    pairs: list[tuple[list[int], list[int]]],
) -> None:
    """Each request brings two sequences, its prompt and its prompt with output; reuse counts prompts alone."""
    sequences = plain_runs([np.array(s, np.uint32) for p, o in pairs for s in (p, p + o)])
    count = 2 * len(pairs)
    owner = np.repeat(np.arange(len(pairs)), 2).astype(np.int32)
    after = np.array([-1 if s % 2 == 0 else s - 1 for s in range(count)], np.int32)
    tree = build_prefix_tree(sequences, np.zeros(count, np.int32), owner, after)
    prompts_only = BuiltTree(tree.tree, tree.leaf[::2])
    expected = [max((common_prefix(p, q) for q, _ in pairs[:i]), default=0) for i, (p, _) in enumerate(pairs)]
    assert reused(prompts_only) == expected
    for i, (p, o) in enumerate(pairs):
        whole = BuiltTree(tree.tree, tree.leaf[1::2])
        nodes = path(whole, i)
        assert (int(tree.tree.depth_end[nodes[-1]]) if nodes else 0) == len(p + o)


@given(st.lists(st.tuples(PROMPT, st.none() | PROMPT, st.integers(0, 1)), max_size=10))
def test_outputs_behind_their_prompts_give_the_tree_of_prompts_and_prompts_with_outputs(
    requests: list[tuple[list[int], list[int] | None, int]],
) -> None:
    """Prompt and prompt with output share the runs of one list, or are two sequences of their own."""
    has_output = np.array([o is not None for _, o, _ in requests], bool)
    namespace = np.array([n for _, _, n in requests], np.int32)
    pieces = plain_runs(
        [np.array(s, np.uint32) for p, o, _ in requests for s in (p, o) if s is not None],
    )
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(1 + has_output)])
    together = build_tree_with_outputs(replace(pieces, offsets=offsets), has_output, namespace)
    owner = np.repeat(np.arange(len(requests), dtype=np.int32), 1 + has_output)
    apart = build_prefix_tree(
        plain_runs(
            [np.array(s, np.uint32) for p, o, _ in requests for s in ([p] if o is None else [p, p + o])]
        ),
        namespace[owner],
        owner,
    )
    for name in ("parent", "depth_start", "depth_end", "first_request"):
        assert getattr(together.tree, name).tolist() == getattr(apart.tree, name).tolist()
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    assert together.leaf.tolist() == apart.leaf[begins].tolist()
    assert together.cached_leaf.tolist() == apart.leaf[begins + has_output].tolist()


def test_an_empty_log_gives_an_empty_tree() -> None:
    assert len(built([]).tree) == 0
