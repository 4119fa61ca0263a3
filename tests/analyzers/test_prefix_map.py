import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.prefix_map import prefix_map
from tests.trace_builder import trace_from_tokens

prompts = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=12)


def test_area_is_what_was_sent_and_reusable_is_all_but_the_first():
    drawn = prefix_map(trace_from_tokens([[1, 2, 3, 4], [1, 2, 5], [1, 2, 3, 4, 6]]))
    boxes = [
        (int(s), int(e), int(n), int(r))
        for s, e, n, r in zip(drawn.start, drawn.end, drawn.requests, drawn.reusable_tokens, strict=True)
    ]
    assert sorted(boxes) == [(0, 2, 3, 4), (2, 3, 1, 0), (2, 4, 2, 2), (4, 5, 1, 0)]
    assert drawn.sent_tokens == drawn.shown_tokens == 12


@given(prompts)
@settings(max_examples=40)
def test_uncut_map_accounts_for_every_token(sent):
    trace = trace_from_tokens(sent)
    drawn = prefix_map(trace)
    assert drawn.sent_tokens == sum(map(len, sent))
    area = drawn.requests * (drawn.end - drawn.start)
    assert int(area.sum()) == drawn.shown_tokens == drawn.sent_tokens
    assert not drawn.hidden_tokens.any()


@given(prompts, st.integers(1, 6))
@settings(max_examples=40)
def test_cut_map_is_a_tree_that_says_what_it_hides(sent, most):
    drawn = prefix_map(trace_from_tokens(sent), most)
    assert len(drawn) <= most
    for node, parent in enumerate(drawn.parent.tolist()):
        assert parent < node
        assert drawn.start[node] == (drawn.end[parent] if parent >= 0 else 0)
    hidden_roots = drawn.sent_tokens - drawn.shown_tokens - int(drawn.hidden_tokens.sum())
    assert hidden_roots >= 0
    if len({prompt[0] for prompt in sent}) == 1:
        assert hidden_roots == 0


def test_boxes_name_the_request_that_brought_them_first():
    drawn = prefix_map(trace_from_tokens([[1, 2], [1, 2, 3], [1, 2, 3]]))
    assert dict(zip(drawn.end.tolist(), drawn.first.tolist(), strict=True)) == {2: 0, 3: 1}
    assert np.array_equal(drawn.namespace, [0, 0])
