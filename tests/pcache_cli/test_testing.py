"""`assert_cache_stable`: what a prefix cache needs of the prompts of a test."""

from typing import Any

import pytest

from pcache_cli.testing import assert_cache_stable

SYSTEM = "Always answer briefly and kindly. " * 20


def messages(*turns: str, system: str = SYSTEM) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": "system", "content": system}] + [
        {"role": roles[i % 2], "content": text} for i, text in enumerate(turns)
    ]


def test_another_question_behind_the_same_beginning_is_stable() -> None:
    assert_cache_stable(messages("one"), messages("two"), messages("three"))


def test_a_conversation_that_grows_is_stable() -> None:
    assert_cache_stable(messages("one"), messages("one", "reply", "two"))


def test_a_changed_system_text_is_named_with_its_character() -> None:
    with pytest.raises(AssertionError, match=r"messages\[0\]\.content, character 0"):
        assert_cache_stable(messages("one"), messages("one", system="Now: 9:00. " + SYSTEM))


def test_an_edited_history_is_named() -> None:
    with pytest.raises(AssertionError, match=r"messages\[1\]\.content"):
        assert_cache_stable(messages("one", "reply", "two"), messages("ONE", "reply", "two"))


def test_tools_are_compared_first_and_in_order() -> None:
    def body(*names: str) -> dict[str, Any]:
        return {
            "model": "claude-opus-5",
            "tools": [{"name": name} for name in names],
            "messages": [{"role": "user", "content": "Hi"}],
        }

    assert_cache_stable(body("a", "b"), body("a", "b"))
    with pytest.raises(AssertionError, match=r"tools\[0\]"):
        assert_cache_stable(body("a", "b"), body("b", "a"))


def test_key_order_counts_and_rolling_markers_do_not() -> None:
    def body(block: dict[str, Any]) -> dict[str, Any]:
        return {
            "model": "claude-opus-5",
            "system": [block],
            "messages": [{"role": "user", "content": "Hi"}],
        }

    marked = {"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}
    assert_cache_stable(body(marked), body({"type": "text", "text": SYSTEM}))
    tool = {"name": "f", "input_schema": {"a": 1, "b": 2}}
    swapped = {"name": "f", "input_schema": {"b": 2, "a": 1}}
    with pytest.raises(AssertionError, match=r"tools\[0\], character"):
        assert_cache_stable({**body(marked), "tools": [tool]}, {**body(marked), "tools": [swapped]})


def test_texts_must_share_their_beginning() -> None:
    assert_cache_stable(SYSTEM + "a", SYSTEM + "b")
    with pytest.raises(AssertionError, match="character 2"):
        assert_cache_stable("abc" + SYSTEM, "abd" + SYSTEM)
    assert_cache_stable("abcd", "abxy", share=0.5)


def test_one_prompt_is_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match="two"):
        assert_cache_stable("a")
    with pytest.raises(ValueError, match="no prompt"):
        assert_cache_stable({"a": 1}, {"a": 1})
