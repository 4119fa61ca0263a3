"""Reuse figures on prompts small enough to check by hand, and against brute force."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.hot_prefixes import hottest_prefixes
from analyzers.reuse import analyze_reuse, block_reuse, reuse_by_request
from tests.trace_builder import trace_from_tokens

TOKENS = st.lists(st.integers(0, 2), max_size=12)


def common_prefix(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(st.lists(st.tuples(TOKENS, st.sampled_from(["a", "b"])), min_size=1, max_size=10))
def test_classes_of_every_request_follow_brute_force(rows: list[tuple[list[int], str]]) -> None:
    prompts = [r[0] for r in rows]
    sessions = [r[1] for r in rows]
    reuse = reuse_by_request(trace_from_tokens(prompts, sessions=sessions))
    for i, prompt in enumerate(prompts):
        depths = [common_prefix(prompt, q) for q in prompts[:i]]
        same = [d for d, s in zip(depths, sessions, strict=False) if s == sessions[i]]
        assert reuse.reusable[i] == max(depths, default=0)
        assert reuse.same_conversation[i] == max(same, default=0)
        assert reuse.across_conversations[i] == reuse.reusable[i] - reuse.same_conversation[i]
        if depths and max(depths):
            assert reuse.source[i] == depths.index(max(depths))


def test_a_request_that_extends_an_earlier_prompt_goes_on_with_its_conversation() -> None:
    system = list(range(20))
    trace = trace_from_tokens([[*system, 1], [*system, 2], [*system, 1, 5], [*system, 2, 6, 7], [*system, 1]])
    reuse = reuse_by_request(trace)
    assert reuse.conversation.tolist() == [0, 1, 0, 1, 2]
    assert reuse.same_conversation.tolist() == [0, 0, 21, 21, 0]
    assert reuse.across_conversations.tolist() == [0, 20, 0, 0, 21]


@pytest.mark.parametrize(
    ("reusable", "prompt", "expected"),
    [(64, 64, 48), (64, 70, 64), (40, 90, 32), (15, 100, 0), (1, 1, 0), (0, 0, 0)],
)
def test_whole_blocks_count_and_the_last_token_is_computed(reusable: int, prompt: int, expected: int) -> None:
    assert block_reuse(np.array([reusable]), np.array([prompt]), 16).tolist() == [expected]


def test_the_report_adds_up() -> None:
    prompts = [[1] * 40, [1] * 40 + [2] * 10, [3] * 30]
    report = analyze_reuse(trace_from_tokens(prompts, times=[0.0, 60.0, 90.0]))
    assert report.requests == 3
    assert report.prompt_tokens == 120
    assert report.reusable_tokens == 40
    assert report.reusable_token_ratio == 40 / 120
    assert [b.reusable_tokens for b in report.blocks] == [32, 0, 0]
    assert report.request_hit_ratio == 1 / 3
    assert report.reuse_interval_s is not None
    assert report.reuse_interval_s.p50 == 60.0
    assert report.prefix_length is not None
    assert (report.prefix_length.p50, report.prefix_length.largest) == (0, 40)
    assert report.classes.new is None  # the test trace has no content to look for


def test_the_hottest_prefix_is_the_one_that_spares_most() -> None:
    system = list(range(100))
    prompts = [[*system, 500 + i] for i in range(10)] + [[900, 901, 902]] * 4
    trace = trace_from_tokens(prompts, boundaries=[[100, len(p)] if len(p) > 50 else [3] for p in prompts])
    hot = hottest_prefixes(trace)
    assert [(h.tokens, h.requests, h.saved_tokens) for h in hot] == [(100, 10, 900), (3, 4, 9)]
    assert hot[0].path == "messages[0]"


def test_a_longer_hot_prefix_counts_only_what_the_shorter_leaves() -> None:
    shared, deep = list(range(100)), list(range(200, 300))
    prompts = [[*shared, i] for i in range(400, 410)] + [[*shared, *deep, i] for i in range(410, 420)]
    hot = hottest_prefixes(trace_from_tokens(prompts))
    assert sum(h.saved_tokens for h in hot) == 19 * 100 + 9 * 100
    assert {h.tokens for h in hot} == {100, 200}


@given(st.lists(TOKENS, min_size=1, max_size=10))
def test_hot_prefixes_never_spare_more_than_is_reusable(prompts: list[list[int]]) -> None:
    trace = trace_from_tokens(prompts)
    hot = hottest_prefixes(trace, count=1000)
    assert sum(h.saved_tokens for h in hot) == int(reuse_by_request(trace).reusable.sum())
    assert all(a.saved_tokens >= b.saved_tokens for a, b in pairwise(hot))


def test_a_log_without_content_has_no_ratio() -> None:
    report = analyze_reuse(trace_from_tokens([[], []]))
    assert report.reusable_token_ratio is None
    assert report.request_hit_ratio is None
    assert report.requests_without_content == 2


def test_block_sizes_of_a_hash_trace_are_multiples_of_its_own() -> None:
    trace = trace_from_tokens([[1, 2], [1, 2]], unit=512, prompt_lengths=[1000, 1000])
    report = analyze_reuse(trace)
    assert report.reusable_tokens == 1000
    assert [(b.block_size, b.reusable_tokens) for b in report.blocks] == [(512, 512)]


@pytest.mark.parametrize(
    ("lengths", "sessions", "split"),
    [([4, 8], None, (4, 0)), ([3, 7], None, (None, None)), ([3, 7], ["a", "a"], (4, 0))],
    ids=["whole blocks", "prompts end inside a block", "the log names sessions"],
)
def test_block_hashes_tell_conversations_only_where_prompts_are_whole_blocks(
    lengths: list[int], sessions: list[str] | None, split: tuple[int | None, int | None]
) -> None:
    trace = trace_from_tokens([[1], [1, 2]], sessions=sessions, prompt_lengths=lengths, unit=4)
    report = analyze_reuse(trace)
    assert (report.classes.same_conversation, report.classes.across_conversations) == split
    assert report.reusable_tokens > 0
