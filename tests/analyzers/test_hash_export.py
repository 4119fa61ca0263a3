"""Exported block ids are shared exactly where prompts agree."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.errors import UsageError
from analyzers.hash_export import block_ids, write_hash_trace
from tests.trace_builder import trace_from_tokens

TOKENS = st.lists(st.integers(0, 1), max_size=12)


@given(st.lists(TOKENS, min_size=1, max_size=8), st.integers(1, 5))
def test_ids_are_equal_exactly_when_prompts_agree_to_the_end_of_the_block(
    prompts: list[list[int]], size: int
) -> None:
    ids = block_ids(trace_from_tokens(prompts), size)
    content: dict[int, list[int]] = {}
    for prompt, row in zip(prompts, ids, strict=True):
        assert len(row) == -(-len(prompt) // size)
        for k, number in enumerate(row.tolist()):
            prefix = prompt[: (k + 1) * size]
            assert content.setdefault(number, prefix) == prefix
    assert len({tuple(p) for p in content.values()}) == len(content)
    assert sorted(content) == list(range(len(content)))


def test_a_hash_trace_holds_lengths_times_and_ids(tmp_path: Path) -> None:
    trace = trace_from_tokens([[1, 2, 3], [1, 2, 4]], times=[10.0, 11.5], output_lengths=[7, 9])
    write_hash_trace(trace, tmp_path / "h.jsonl", 2)
    rows = [json.loads(line) for line in (tmp_path / "h.jsonl").read_text().splitlines()]
    assert rows == [
        {"timestamp": 0, "input_length": 3, "output_length": 7, "hash_ids": [0, 1]},
        {"timestamp": 1500, "input_length": 3, "output_length": 9, "hash_ids": [0, 2]},
    ]


def test_a_salt_hides_the_numbers_and_keeps_what_is_shared(tmp_path: Path) -> None:
    trace = trace_from_tokens([[1, 2, 3], [1, 2, 4]])
    rows = {}
    for salt in ("a", "b"):
        write_hash_trace(trace, tmp_path / "h.jsonl", 2, salt)
        rows[salt] = [
            json.loads(line)["hash_ids"] for line in (tmp_path / "h.jsonl").read_text().splitlines()
        ]
        assert rows[salt][0][0] == rows[salt][1][0]
        assert rows[salt][0][1] != rows[salt][1][1]
    assert rows["a"] != rows["b"]


def test_a_size_that_does_not_fit_a_hash_trace_is_refused() -> None:
    trace = trace_from_tokens([[1, 2]], unit=512, prompt_lengths=[1000])
    with pytest.raises(UsageError, match="multiple of 512"):
        block_ids(trace, 16)
    assert [len(row) for row in block_ids(trace, 1024)] == [1]
    assert np.concatenate(block_ids(trace, 512)).tolist() == [0, 1]
