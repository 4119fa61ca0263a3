"""Token-id logs, hash-only traces and logs of lengths alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError, InputError
from analyzers.logs import read_log
from analyzers.logs.hash_trace import infer_block_length
from analyzers.request import Dialect, PartKind
from tests.analyzers.logs.session_rows import ids, read_rows
from tests.shared_folder import SHARED, needs_shared


@pytest.mark.parametrize(
    ("row", "prompt", "output"),
    [
        ({"prompt": [5, 6], "output": [7]}, [5, 6], [7]),
        ({"id": "p1", "tokens": [5, 6]}, [5, 6], None),
        ({"token_ids": [5, 6]}, [5, 6], None),
        ({"prompt_token_ids": [5, 6], "output_token_ids": [7]}, [5, 6], [7]),
        ({"prompt_tokens": [5, 6], "generated_tokens": [7], "generated_text": "x"}, [5, 6], [7]),
    ],
)
def test_ids_are_read_under_each_of_their_names(
    tmp_path: Path, row: dict[str, Any], prompt: list[int], output: list[int] | None
) -> None:
    (request,) = read_rows(tmp_path, row).requests
    assert request.dialect is Dialect.TOKENS
    assert ids(request) == prompt
    if output is None:
        assert request.output is None
    else:
        assert request.output is not None
        assert request.output.kind is PartKind.TOKENS
        assert np.frombuffer(request.output.raw, "<u4").tolist() == output
    assert request.request_id == row.get("id", f"{tmp_path}/log.jsonl:1")
    assert request.usage is None


def test_prompts_that_share_a_long_beginning_share_its_parts(tmp_path: Path) -> None:
    log = read_rows(tmp_path, {"prompt": list(range(3000))}, {"prompt": [*range(2500), *range(900)]})
    first, second = log.requests
    assert ids(second) == [*range(2500), *range(900)]
    assert first.parts[:2] == second.parts[:2]
    assert first.parts[2] is not second.parts[2]


def test_what_an_engine_says_it_had_cached_is_usage(tmp_path: Path) -> None:
    (request,) = read_rows(tmp_path, {"prompt_token_ids": [1, 2, 3], "num_cached_tokens": 2}).requests
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.read_tokens) == (3, 2)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"prompt": [1, -1]}', "token ids out of range"),
        ('{"prompt": [1, 4294967296]}', "token ids out of range"),
        ('{"prompt": [1, 99999999999999999999999]}', "token ids out of range"),
        ('{"prompt": [1, 2.5]}', "token ids that are no whole numbers"),
        ('{"prompt": [1, 2', "not JSON"),
        ('{"other": 1}', "no token ids"),
    ],
)
def test_a_damaged_row_of_ids_is_skipped_with_its_reason(tmp_path: Path, row: str, reason: str) -> None:
    log = read_rows(tmp_path, {"prompt": [1, 2]}, {"prompt": [4294967295, 0]}, row)
    assert log.skipped == {reason: 1}
    assert ids(log.requests[1]) == [4294967295, 0]


@needs_shared
def test_the_engine_trace_reads_in_full() -> None:
    assert SHARED is not None
    path = SHARED / "golden/engines/trace.jsonl"
    log = read_log([str(path)])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [ids(request) for request in log.requests] == [row["prompt"] for row in rows]


def _mooncake(time: int, length: int, block_ids: Sequence[int | str], output: int = 5) -> dict[str, Any]:
    return {"timestamp": time, "input_length": length, "output_length": output, "hash_ids": block_ids}


def test_a_hash_trace_keeps_lengths_and_numbers_its_blocks(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path, _mooncake(0, 1000, [70, 2**62]), _mooncake(2000, 1500, [70, -3, 9]), _mooncake(2000, 0, [])
    )
    assert log.unit == 512
    assert [ids(request) for request in log.requests] == [[0, 1], [0, 2, 3], []]
    assert [request.usage and request.usage.prompt_tokens for request in log.requests] == [1000, 1500, 0]
    assert [request.usage and request.usage.output_tokens for request in log.requests] == [5, 5, 5]
    assert [request.time_ns for request in log.requests] == [0, 2 * 10**9, 2 * 10**9]
    assert any("512" in note for note in log.notes)
    assert any("milliseconds" in note for note in log.notes)


def test_block_ids_may_be_hexadecimal_text(tmp_path: Path) -> None:
    log = read_rows(tmp_path, _mooncake(0, 20, ["ff0a", "0b"]), _mooncake(1, 30, ["ff0a", "0c"]))
    assert [ids(request) for request in log.requests] == [[0, 1], [0, 2]]
    assert log.unit == 16


def test_bailian_times_are_seconds_and_chats_follow_their_parents(tmp_path: Path) -> None:
    first = {"chat_id": 7, "parent_chat_id": -1, "timestamp": 1.5, "type": "text", "turn": 1}
    second = {"chat_id": 9, "parent_chat_id": 7, "timestamp": 61.0, "type": "text", "turn": 2}
    lengths = {"input_length": 30, "output_length": 1, "hash_ids": [1, 2]}
    log = read_rows(tmp_path, first | lengths, second | lengths)
    assert [request.time_ns for request in log.requests] == [1_500_000_000, 61_000_000_000]
    assert [request.identity.session for request in log.requests] == ["7", "7"]
    assert log.unit == 16


def test_a_tail_without_an_id_is_shared_with_nobody(tmp_path: Path) -> None:
    rows = [_mooncake(0, 40, [1, 2]), _mooncake(1, 40, [1, 2]), _mooncake(2, 7, [])]
    log = read_rows(tmp_path, *rows)
    assert log.unit == 16
    assert [ids(request) for request in log.requests] == [[0, 1, 2], [0, 1, 3], [4]]


def test_the_block_length_can_be_given(tmp_path: Path) -> None:
    log = read_rows(tmp_path, _mooncake(0, 130, [1, 2]), format="hash-trace", mapping={"block_length": "100"})
    assert log.unit == 100
    with pytest.raises(InputError, match=r"line 1: 2 blocks of 10 tokens cannot hold a prompt of 130"):
        read_rows(tmp_path, _mooncake(0, 130, [1, 2]), format="hash-trace", mapping={"block_length": "10"})


def test_a_block_length_that_no_power_of_two_explains_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--map block_length=N"):
        read_rows(tmp_path, _mooncake(0, 300, [1, 2, 3]), _mooncake(1, 100, [1, 2, 3]))


def test_damaged_rows_of_a_hash_trace_are_skipped(tmp_path: Path) -> None:
    log = read_rows(
        tmp_path,
        _mooncake(0, 600, [1, 2]),
        {"timestamp": 1, "hash_ids": [1]},
        _mooncake(2, -5, [1]),
        _mooncake(2, 2**70, [1]),
        _mooncake(3, 0, [1]),
        {"timestamp": 1, "input_length": 3, "hash_ids": [1.5]},
    )
    assert log.skipped == {"no input length": 3, "block ids for an empty prompt": 1, "no block ids": 1}


def test_hash_traces_and_text_are_not_mixed(tmp_path: Path) -> None:
    read_rows(tmp_path, {"prompt": [1, 2]}, name="a.jsonl")
    read_rows(tmp_path, _mooncake(0, 600, [1, 2]), name="b.jsonl")
    with pytest.raises(InputError, match="cannot be read together"):
        read_log([str(tmp_path)])


@given(st.integers(0, 12), st.lists(st.integers(1, 50_000), min_size=1, max_size=20), st.booleans())
@settings(max_examples=60)
def test_the_inferred_block_length_is_the_smallest_that_explains_all_rows(
    power: int, lengths: list[int], whole_blocks_only: bool
) -> None:
    block = 2**power
    counts = [length // block if whole_blocks_only else -(-length // block) for length in lengths]
    found = infer_block_length(np.array(lengths), np.array(counts))
    explains = [
        size
        for size in (2**n for n in range(21))
        if all(
            count in (length // size, -(-length // size))
            for length, count in zip(lengths, counts, strict=True)
        )
    ]
    covers = [
        size
        for size in explains
        if all(count == -(-length // size) for length, count in zip(lengths, counts, strict=True))
    ]
    assert found == min(covers or explains)
    assert block in explains


@needs_shared
def test_the_mooncake_trace_reads_in_full_and_in_file_order() -> None:
    assert SHARED is not None
    log = read_log([str(SHARED / "data/mooncake/synthetic_trace.jsonl")])
    assert len(log.requests) == 3993
    assert sum(request.usage.prompt_tokens or 0 for request in log.requests if request.usage) == 61_194_628
    assert [request.line for request in log.requests] == list(range(1, 3994))
    assert log.unit == 512


def test_lengths_alone_cannot_be_evaluated(tmp_path: Path) -> None:
    table = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
    (tmp_path / "azure.csv").write_text(table)
    with pytest.raises(CannotEvaluateError, match="neither text, token ids nor block ids"):
        read_log([str(tmp_path / "azure.csv")])
    with pytest.raises(CannotEvaluateError, match="neither text, token ids nor block ids"):
        read_rows(tmp_path, {"timestamp": 1500, "requests": [{"Prompt Length": 9, "Output Length": 1}]})


def test_an_aibrix_line_holds_several_calls(tmp_path: Path) -> None:
    calls = [
        {"Prompt Length": 3, "Output Length": 2, "prompt": "a b c"},
        {"Prompt Length": 9, "Output Length": 1},
    ]
    log = read_rows(tmp_path, {"timestamp": 1500, "requests": calls})
    (request,) = log.requests
    assert (request.time_ns, request.parts[0].raw) == (1_500_000_000, b"a b c")
    assert request.usage is not None
    assert (request.usage.prompt_tokens, request.usage.output_tokens) == (3, 2)
    assert (log.records, log.skipped) == (2, {"lengths without content": 1})


def test_lengths_of_cache_objects_stay_as_labels(tmp_path: Path) -> None:
    row = {"call": 2, "cache_object": "c0", "prefix_tokens": 300, "cache_len_before": 351, "new_tokens": 51}
    (request,) = read_rows(tmp_path, row).requests
    assert dict(request.identity.labels)["cache_len_before"] == "351"
    assert (request.parts, request.usage and request.usage.prompt_tokens) == ((), 351)
