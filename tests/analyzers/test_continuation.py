"""Which earlier request a prompt should have continued, on prompts of whole lines."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzers import continuation_kernels, kernels
from analyzers.prefix_tree import TokenRuns, build_prefix_tree, plain_runs
from analyzers.seen import cut_into_chunks

LINE_END = 99
CUT_AFTER = np.zeros(100, np.uint8)
CUT_AFTER[LINE_END] = 1
LINES = [[i] * (3 + i) + [LINE_END] for i in range(9)]


def runs_of(prompts: list[list[int]]) -> TokenRuns:
    base = plain_runs([np.array(w, np.uint32) for w in LINES])
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in prompts])]).astype(np.int64)
    return TokenRuns(
        base.pool, base.start, base.length, offsets, np.array([w for p in prompts for w in p], np.int64)
    )


def continuations(prompts: list[list[int]], spaces: list[int]) -> tuple[list[int], list[int], list[int]]:
    sequences = runs_of(prompts)
    namespace = np.array(spaces, np.int32)
    built = build_prefix_tree(sequences, namespace)
    first = kernels.first_prompt_of_nodes(built.tree.parent, built.leaf)
    suggested = kernels.latest_with_prefix(built.tree.parent, built.leaf, first)
    chunks = cut_into_chunks(sequences, CUT_AFTER)
    best, shared = continuation_kernels.continued_requests(
        sequences.offsets,
        sequences.runs,
        namespace,
        suggested,
        chunks.offsets,
        chunks.length,
        chunks.number,
        100,
    )
    common = continuation_kernels.common_prefix_of_pairs(
        sequences.pool,
        sequences.start,
        sequences.length,
        sequences.offsets,
        sequences.runs,
        sequences.run_depths(),
        np.arange(len(prompts), dtype=np.int32),
        best,
    )
    return best.tolist(), shared.tolist(), common.tolist()


def shared_tokens(mine: list[int], other: list[int]) -> int:
    return sum(len(LINES[line]) for line in mine if line in set(other))


def common_tokens(mine: list[int], other: list[int]) -> int:
    total = 0
    for a, b in zip(mine, other, strict=False):
        if a != b:
            break
        total += len(LINES[a])
    return total


@given(st.lists(st.tuples(st.lists(st.integers(0, 8), max_size=8), st.integers(0, 1)), max_size=6))
def test_the_predecessor_shares_at_least_what_the_latest_holder_of_each_line_does(
    rows: list[tuple[list[int], int]],
) -> None:
    prompts = [r[0] for r in rows]
    spaces = [r[1] for r in rows]
    best, shared, _ = continuations(prompts, spaces)
    for r, mine in enumerate(prompts):
        others = [e for e in range(r) if spaces[e] == spaces[r]]
        holders = {
            max(e for e in others if line in prompts[e])
            for line in mine
            if any(line in prompts[e] for e in others)
        }
        assert (best[r] >= 0) == bool(holders)
        if best[r] >= 0:
            assert best[r] in others
            assert shared[r] == shared_tokens(mine, prompts[best[r]])
            assert shared[r] >= max(shared_tokens(mine, prompts[e]) for e in holders)


def test_the_latest_of_equal_predecessors_is_taken() -> None:
    best, _, _ = continuations([[1, 5], [2, 5], [3, 5]], [0, 0, 0])
    assert best == [-1, 0, 1]


def test_a_return_to_an_older_order_continues_the_older_request() -> None:
    best, shared, common = continuations([[1, 2, 3], [2, 1, 3], [1, 2, 3, 4]], [0, 0, 0])
    assert best[2] == 0
    assert shared[2] == common[2] == common_tokens([1, 2, 3], [1, 2, 3])


def test_other_namespaces_are_no_predecessors() -> None:
    best, _, _ = continuations([[1, 2], [1, 2], [1, 2]], [0, 1, 0])
    assert best == [-1, -1, 0]


@given(st.lists(st.lists(st.integers(0, 8), max_size=8), min_size=2, max_size=2))
def test_common_prefix_of_two_prompts_in_tokens(prompts: list[list[int]]) -> None:
    sequences = runs_of(prompts)
    common = continuation_kernels.common_prefix_of_pairs(
        sequences.pool,
        sequences.start,
        sequences.length,
        sequences.offsets,
        sequences.runs,
        sequences.run_depths(),
        np.array([1], np.int32),
        np.array([0], np.int32),
    )
    a, b = sequences.tokens(0).tolist(), sequences.tokens(1).tolist()
    equal = [x == y for x, y in zip(a, b, strict=False)]
    assert common[0] == (equal.index(False) if False in equal else len(equal))
