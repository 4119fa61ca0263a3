import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import UsageError
from simulators.blocks import CachedSequences, block_ids, cached_sequences
from simulators.kernels.paths import write_blocks
from tests.simulators.random_logs import TokenLog, token_logs
from tests.trace_builder import trace_from_tokens


def _ids(sequences: CachedSequences, size: int) -> list[list[int]]:
    blocks = block_ids(sequences, size)
    out = np.empty(int(sequences.known_tokens.max(initial=0)) + 1, np.int64)
    found = []
    for leaf in sequences.leaf:
        count = write_blocks(
            leaf,
            sequences.parent,
            sequences.depth_start,
            sequences.depth_end,
            size,
            blocks.first_id,
            out,
        )
        found.append(out[:count].tolist())
        assert all(0 <= number < blocks.count for number in found[-1])
    return found


@settings(max_examples=150, deadline=None)
@given(token_logs(), st.integers(1, 5))
def test_blocks_are_equal_exactly_when_whole_prefixes_are(log: TokenLog, size: int):
    prefix_of: dict[int, object] = {}
    id_of: dict[object, int] = {}
    for r, numbers in enumerate(_ids(cached_sequences(log.trace()), size)):
        kept = log.kept(r)
        assert len(numbers) == len(kept) // size
        for k, number in enumerate(numbers):
            prefix = (log.namespaces[r], tuple(kept[: (k + 1) * size]))
            assert prefix_of.setdefault(number, prefix) == prefix
            assert id_of.setdefault(prefix, number) == number


@settings(max_examples=150, deadline=None)
@given(token_logs())
def test_seen_tokens_are_the_longest_prefix_any_earlier_sequence_has(log: TokenLog):
    seen = cached_sequences(log.trace()).seen_tokens().tolist()
    for r, prompt in enumerate(log.prompts):
        best = 0
        for e in range(r):
            if log.namespaces[e] == log.namespaces[r]:
                pairs = zip(prompt, log.kept(e), strict=False)
                common = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
                best = max(best, min(len(prompt), len(log.kept(e))) if common is None else common)
        assert seen[r] == best


def test_a_hash_trace_ends_where_the_prompt_ends():
    trace = trace_from_tokens([[1, 2], [1, 2], [1, 2, 3]], unit=512, prompt_lengths=[700, 700, 1500])
    sequences = cached_sequences(trace)
    assert sequences.known_tokens.tolist() == [700, 700, 1500]
    assert sequences.seen_tokens().tolist() == [0, 700, 700]
    # Only the first id of a 700-token prompt is a whole block; smaller blocks see its partial end.
    assert sequences.servable_tokens(512).tolist() == [0, 512, 512]
    assert sequences.servable_tokens(128).tolist() == [0, 640, 640]
    assert [len(ids) for ids in _ids(sequences, 512)] == [1, 1, 2]


def test_a_node_is_cut_at_each_length_that_ends_in_it():
    trace = trace_from_tokens([[1, 2, 3], [1, 2, 3], [1, 2, 3]], unit=4, prompt_lengths=[11, 12, 9])
    sequences = cached_sequences(trace)
    assert sequences.seen_tokens().tolist() == [0, 11, 9]
    ids = _ids(sequences, 1)
    assert ids[1][:11] == ids[0]
    assert ids[0][:9] == ids[2]


def test_a_prompt_longer_than_its_ids_keeps_its_length():
    trace = trace_from_tokens([[1, 2]], unit=4, prompt_lengths=[11])
    sequences = cached_sequences(trace)
    assert (sequences.known_tokens[0], sequences.total_tokens[0]) == (8, 11)


def test_the_last_sampled_token_never_enters():
    trace = trace_from_tokens([[1, 2], [1, 2]], outputs=[[3, 4, 5], [3]])
    assert cached_sequences(trace).total_tokens.tolist() == [4, 2]
    assert cached_sequences(trace, ignore_outputs=True).total_tokens.tolist() == [2, 2]


@pytest.mark.parametrize("size", [3, 5, 12])
def test_a_hash_trace_has_no_blocks_that_cross_its_own(size: int):
    trace = trace_from_tokens([[1, 2]], unit=8)
    with pytest.raises(UsageError, match=f"block size {size} neither divides"):
        block_ids(cached_sequences(trace), size)


def test_blocks_have_at_least_one_token():
    with pytest.raises(UsageError, match="block size 0"):
        block_ids(cached_sequences(trace_from_tokens([[1]])), 0)
