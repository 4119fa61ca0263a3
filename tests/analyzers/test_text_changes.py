"""Spans of a change: they turn the one text into the other, and name what kind of change it is."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.divergence import Change
from analyzers.text_changes import (
    aligned,
    changed_spans,
    characters,
    common_end,
    common_start,
    kind_of_change,
)

LINES = st.lists(
    st.sampled_from(["alpha one\n", "beta two\n", "gamma\n", "delta delta\n", "\n"]), max_size=14
)
TEXTS = LINES.map("".join) | st.text(alphabet="ab \n", max_size=60)


@given(TEXTS, TEXTS)
def test_replacing_the_spans_turns_the_first_text_into_the_second(a: str, b: str) -> None:
    rebuilt, at = "", 0
    for span in changed_spans(a, b):
        rebuilt += a[at : span.start] + b[span.new_start : span.new_end]
        at = span.end
    assert rebuilt + a[at:] == b


@given(TEXTS, TEXTS)
def test_the_first_span_starts_at_the_first_character_that_differs(a: str, b: str) -> None:
    spans = changed_spans(a, b)
    slow = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert common_start(a, b) == slow
    assert (spans[0].start if spans else len(a)) == slow


@given(TEXTS, TEXTS)
def test_the_common_end_is_the_longest(a: str, b: str) -> None:
    most = min(len(a), len(b))
    slow = next((i for i in range(most) if a[-1 - i] != b[-1 - i]), most)
    assert common_end(a, b, most) == slow


@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 5), max_size=12))
def test_an_alignment_leaves_out_only_what_is_equal(a: list[int], b: list[int]) -> None:
    at = new_at = 0
    for gap in aligned(a, b):
        assert a[at : gap.start] == b[new_at : gap.new_start]
        assert gap.start < gap.end or gap.new_start < gap.new_end
        at, new_at = gap.end, gap.new_end
    assert a[at:] == b[new_at:]


def test_two_values_in_one_text_are_two_spans() -> None:
    fixed = "".join(f"A line {n} that stays as it is.\n" for n in range(9))
    a = f"Time: 09:00:11\n{fixed}Seat: 14\n"
    b = f"Time: 09:03:52\n{fixed}Seat: 77\n"
    assert [a[s.start : s.end] for s in changed_spans(a, b)] == ["0:11", "14"]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("one\ntwo\n", "one\r\ntwo\r\n", Change.LINE_ENDS),
        ("one two", "one  two", Change.WHITE_SPACE),
        ("cafés and more", unicodedata.normalize("NFD", "cafés and more"), Change.UNICODE_FORM),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', Change.KEY_ORDER),
        ('{"a":1,"b":2}', '{"b":2,"a":3}', Change.TEXT),
        (
            "The first passage is about pumps and pipes.\nThe second passage is about valves.\nEnd\n",
            "The second passage is about valves.\nThe first passage is about pumps and pipes.\nEnd\n",
            Change.PASSAGES_REORDERED,
        ),
        ("Hello Ann", "Hello Bob", Change.TEXT),
    ],
)
def test_kinds_of_change(before: str, after: str, kind: Change) -> None:
    assert kind_of_change(before, after, changed_spans(before, after)) is kind


def test_white_space_is_told_by_its_code_points() -> None:
    (span,) = changed_spans("done\n", "done")
    assert characters("done\n", "done", span) == "1 character removed: U+000A at the end"
    (span,) = changed_spans("a b", "a\u00a0b")
    assert characters("a b", "a\u00a0b", span) == "U+0020 became U+00A0"
