"""Content that returns behind another prefix, against a twin that works on lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzers.prefix_tree import TokenRuns, plain_runs
from analyzers.seen import SHORTEST_STRETCH, cut_into_chunks, tokens_seen_elsewhere

LINE_END = 9
CUT_AFTER = np.zeros(10, np.uint8)
CUT_AFTER[LINE_END] = 1
LINES = [[i] * (5 + i) + [LINE_END] for i in range(8)]


def runs_of(prompts: list[list[int]], words: list[list[int]]) -> TokenRuns:
    """Prompts as lists of words, each word one run."""
    base = plain_runs([np.array(w, np.uint32) for w in words])
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in prompts])]).astype(np.int64)
    return TokenRuns(
        base.pool, base.start, base.length, offsets, np.array([w for p in prompts for w in p], np.int64)
    )


def common_prefix(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def seen_twin(tokens: list[list[int]], namespaces: list[int], reused: list[int]) -> list[int]:
    """Lines that an earlier prompt of the namespace has, in stretches long enough."""
    known: dict[int, set[tuple[int, ...]]] = {}
    result = []
    for prompt, space, depth in zip(tokens, namespaces, reused, strict=True):
        lines, line = [], []
        for token in prompt:
            line.append(token)
            if token == LINE_END:
                lines.append(tuple(line))
                line = []
        before = known.setdefault(space, set())
        total = stretch = at = 0
        for line_ in [*lines, None]:
            if line_ is not None and line_ in before:
                stretch += max(0, at + len(line_) - max(at, depth))
            else:
                total += stretch if stretch >= SHORTEST_STRETCH else 0
                stretch = 0
            at += len(line_ or ())
        before.update(lines)
        result.append(total)
    return result


@given(st.lists(st.tuples(st.lists(st.integers(0, 7), max_size=8), st.integers(0, 1)), max_size=8))
def test_known_lines_behind_the_reused_prefix_are_counted(rows: list[tuple[list[int], int]]) -> None:
    prompts = [r[0] for r in rows]
    spaces = [r[1] for r in rows]
    sequences = runs_of(prompts, LINES)
    tokens = [[t for w in p for t in LINES[w]] for p in prompts]
    reused = [
        max((common_prefix(p, q) for q, m in zip(tokens[:i], spaces, strict=False) if m == n), default=0)
        for i, (p, n) in enumerate(zip(tokens, spaces, strict=True))
    ]
    chunks = cut_into_chunks(sequences, CUT_AFTER)
    seen = tokens_seen_elsewhere(sequences, chunks, np.array(spaces, np.int32), np.array(reused, np.int64))
    assert seen.tolist() == seen_twin(tokens, spaces, reused)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=60), min_size=1, max_size=6))
def test_chunks_put_together_are_the_run_and_equal_numbers_mean_equal_tokens(words: list[list[int]]) -> None:
    sequences = plain_runs([np.array(w, np.uint32) for w in words])
    chunks = cut_into_chunks(sequences, CUT_AFTER)
    by_number: dict[int, list[int]] = {}
    for k, word in enumerate(words):
        at = 0
        for c in range(chunks.offsets[k], chunks.offsets[k + 1]):
            piece = word[at : at + chunks.length[c]]
            assert by_number.setdefault(int(chunks.number[c]), piece) == piece
            at += int(chunks.length[c])
        assert at == len(word)
    assert len({tuple(p) for p in by_number.values()}) == len(by_number)


def test_a_changed_word_in_a_long_line_leaves_its_neighbours_known() -> None:
    rng = np.random.default_rng(1)
    line = rng.integers(0, 5000, 4000).astype(np.uint32)
    changed = line.copy()
    changed[2000] = 6000
    chunks = cut_into_chunks(plain_runs([line, changed]), np.empty(0, np.uint8))
    first = set(chunks.number[: chunks.offsets[1]].tolist())
    second = set(chunks.number[chunks.offsets[1] :].tolist())
    assert len(second - first) == 1
    assert len(first) > 50


def test_a_first_line_that_changes_makes_the_rest_unreachable() -> None:
    body = list(range(100, 140))
    prompts = [[1, LINE_END, *body], [2, LINE_END, *body]]
    sequences = plain_runs([np.array(p, np.uint32) for p in prompts])
    seen = tokens_seen_elsewhere(
        sequences, cut_into_chunks(sequences, CUT_AFTER), np.zeros(2, np.int32), np.zeros(2, np.int64)
    )
    assert seen.tolist() == [0, len(body)]
