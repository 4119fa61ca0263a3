"""Which earlier request a prompt should have continued, on prompts of whole lines."""

from collections.abc import Iterable

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from analyzers import continuation_kernels, kernels
from analyzers.prefix_tree import TokenRuns, build_prefix_tree, plain_runs
from analyzers.seen import cut_into_chunks

LINE_END = 99
CUT_AFTER = np.zeros(100, np.uint8)
CUT_AFTER[LINE_END] = 1
LINES = [[i] * (3 + i) + [LINE_END] for i in range(6)]
LINES += [[2, 2, 2], [2, 2, 2, 7, LINE_END], [7, 7, 7, 6, LINE_END], [7, 7, 7, 8, LINE_END]]
"""Each one chunk; the last four begin like others without being equal to them."""
ROWS = st.lists(
    st.tuples(st.lists(st.integers(0, len(LINES) - 1), max_size=8), st.integers(0, 1)), max_size=9
)


def runs_of(prompts: list[list[int]]) -> TokenRuns:
    base = plain_runs([np.array(w, np.uint32) for w in LINES])
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in prompts])]).astype(np.int64)
    return TokenRuns(
        base.pool, base.start, base.length, offsets, np.array([w for p in prompts for w in p], np.int64)
    )


def continuations(
    prompts: list[list[int]],
    spaces: list[int],
    most_holders: int = continuation_kernels.MOST_HOLDERS,
    most_compared: int = continuation_kernels.MOST_COMPARED,
) -> tuple[list[int], list[int], list[int]]:
    sequences = runs_of(prompts)
    namespace = np.array(spaces, np.int32)
    built = build_prefix_tree(sequences, namespace)
    first = kernels.first_prompt_of_nodes(built.tree.parent, built.leaf)
    suggested = kernels.latest_with_prefix(built.tree.parent, built.leaf, first)
    chunks = cut_into_chunks(sequences, CUT_AFTER)
    best, shared = continuation_kernels.continued_requests(
        namespace,
        built.tree.parent,
        built.tree.depth_end,
        built.leaf,
        suggested,
        sequences.offsets,
        sequences.runs,
        chunks.offsets,
        chunks.length,
        chunks.number,
        100,
        most_holders,
        most_compared,
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
    a, b = ([token for line in lines for token in LINES[line]] for lines in (mine, other))
    equal = [x == y for x, y in zip(a, b, strict=False)]
    return equal.index(False) if False in equal else len(equal)


def best_of(prompts: list[list[int]], r: int, others: Iterable[int]) -> tuple[int, int]:
    """The request that shares most with prompt r, and how much: of equals the one with the longest common prefix,
    then the latest; -1 and 0 where none shares a line."""
    ranked = [
        (shared, common_tokens(prompts[r], prompts[e]), e)
        for e in others
        if (shared := shared_tokens(prompts[r], prompts[e])) > 0
    ]
    shared, _, best = max(ranked, default=(0, 0, -1))
    return best, shared


def reachable(prompts: list[list[int]], spaces: list[int], most_holders: int) -> list[set[int]]:
    """For each prompt the earlier ones that it is compared with: the latest with the longest common prefix, and for
    each line that this one lacks the last conversations to bring it, each as its latest request."""
    found: list[set[int]] = []
    conversation: list[int] = []
    brought: dict[tuple[int, int], list[int]] = {}
    for r, mine in enumerate(prompts):
        latest = {conversation[e]: e for e in range(r)}
        begin_alike = [
            (common, e)
            for e in range(r)
            if spaces[e] == spaces[r] and (common := common_tokens(mine, prompts[e])) > 0
        ]
        common, before = max(begin_alike, default=(0, -1))
        held = set(prompts[before]) if before >= 0 else set()
        holders = {
            latest[who]
            for line in set(mine) - held
            for who in brought.get((spaces[r], line), [])[-most_holders:]
        }
        found.append(holders | ({before} if before >= 0 else set()))
        length = sum(len(LINES[line]) for line in prompts[before]) if before >= 0 else 0
        goes_on = before >= 0 and common == length and held <= set(mine)
        conversation.append(conversation[before] if goes_on else r)
        for line in set(mine) - (held if goes_on else set()):
            brought.setdefault((spaces[r], line), []).append(conversation[r])
    return found


@given(ROWS)
@example([([0, 0, 0, 1], 0), ([0, 0], 0), ([0, 1], 0), ([0, 0, 1], 0)])
@example([([0, 0, 1], 0), ([0], 0), ([1], 0), ([0, 1], 0)])
# The second begins with all of the first, but in another chunk.
@example([([6], 0), ([7], 0), ([3, 6], 0)])
# The second has all of the first, but does not begin with it.
@example([([0, 1, 4], 0), ([0, 2, 1, 4], 0), ([0, 1, 3], 0), ([0, 1, 3, 4, 4, 4], 0)])
def test_the_predecessor_shares_most_then_begins_alike_longest_then_is_the_latest(
    rows: list[tuple[list[int], int]],
) -> None:
    prompts, spaces = [r[0] for r in rows], [r[1] for r in rows]
    best, shared, _ = continuations(prompts, spaces)
    for r in range(len(prompts)):
        others = (e for e in range(r) if spaces[e] == spaces[r])
        assert (best[r], shared[r]) == best_of(prompts, r, others)


@given(ROWS, st.integers(1, 2))
@example([([1, 5, 0], 0), ([5, 2], 0), ([5, 3], 0), ([5, 0], 0)], 1)
@example([([3, 2], 0), ([1, 2, 5], 0), ([4, 2], 0), ([5, 0], 0), ([5, 2], 0)], 2)
def test_a_line_that_many_brought_leads_to_the_last_that_did(
    rows: list[tuple[list[int], int]], most_holders: int
) -> None:
    prompts, spaces = [r[0] for r in rows], [r[1] for r in rows]
    best, shared, _ = continuations(prompts, spaces, most_holders)
    for r, others in enumerate(reachable(prompts, spaces, most_holders)):
        assert (best[r], shared[r]) == best_of(prompts, r, others)


@given(ROWS)
def test_with_few_comparisons_the_predecessor_is_no_worse_than_the_one_that_begins_alike_longest(
    rows: list[tuple[list[int], int]],
) -> None:
    prompts, spaces = [r[0] for r in rows], [r[1] for r in rows]
    best, shared, _ = continuations(prompts, spaces, most_holders=1, most_compared=1)
    for r, mine in enumerate(prompts):
        others = [e for e in range(r) if spaces[e] == spaces[r]]
        assert best[r] in [*others, -1]
        assert shared[r] == (shared_tokens(mine, prompts[best[r]]) if best[r] >= 0 else 0)
        common, before = max(((common_tokens(mine, prompts[e]), e) for e in others), default=(0, -1))
        assert common == 0 or shared[r] >= shared_tokens(mine, prompts[before])


def test_an_older_fuller_match_is_found_behind_many_that_share_the_common_lines() -> None:
    others = [[0, line] for line in (3, 4, 5)] * 40
    best, _, _ = continuations([[1, 0, 2, 8], *others, [0, 9, 2, 8]], [0] * 122)
    assert best[-1] == 0


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
