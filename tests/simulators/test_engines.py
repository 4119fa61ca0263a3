import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import UsageError
from analyzers.trace import Trace
from simulators.blocks import CachedSequences, block_ids, cached_sequences
from simulators.engines import ENGINES, replay_engine
from simulators.engines.engine import blocks_in_play
from simulators.kernels.trtllm import replay_trtllm
from simulators.kernels.vllm import replay_vllm
from simulators.stack_records import stack_records
from simulators.sweep import hits_by_request, least_blocks
from simulators.touch_records import touches
from tests.shared_folder import SHARED, needs_shared
from tests.simulators.engine_twins import SglangTwin, vllm_hits
from tests.simulators.random_logs import TokenLog, token_logs
from tests.trace_builder import trace_from_tokens


def _hits(trace: Trace, engine: str, **options: float) -> list[int]:
    given = {name.replace("_", "-"): value for name, value in options.items()}
    return replay_engine(engine, cached_sequences(trace), trace.requests, given).hit_tokens.tolist()


@settings(max_examples=250, deadline=None)
@given(token_logs(most_requests=25), st.integers(1, 4), st.integers(0, 10), st.booleans())
def test_vllm_is_its_block_pool(log: TokenLog, size: int, room: int, recent: bool):
    blocks = least_blocks(cached_sequences(log.trace()), size) + 1 + max(room, 1)
    found = _hits(log.trace(), "vllm" if recent else "vllm-0.11", block_size=size, num_gpu_blocks=blocks)
    assert found == vllm_hits(log, size, blocks, tail_to_front=recent)


@settings(max_examples=250, deadline=None)
@given(token_logs(most_requests=25), st.integers(1, 4), st.integers(0, 10))
def test_sglang_is_its_radix_tree(log: TokenLog, page: int, room: int):
    pages = least_blocks(cached_sequences(log.trace()), page) + room
    found = _hits(log.trace(), "sglang", page_size=page, max_total_tokens=pages * page)
    assert found == SglangTwin(page, pages * page).hits(log)


@settings(max_examples=150, deadline=None)
@given(token_logs(), st.integers(1, 4), st.integers(0, 10))
def test_the_sweep_equals_vllm_where_nothing_is_written_twice(log: TokenLog, size: int, room: int):
    trace = log.trace()
    sequences = cached_sequences(trace)
    usable = max(1, least_blocks(sequences, size)) + room
    run = replay_engine("vllm", sequences, trace.requests, {"block-size": size, "num-gpu-blocks": usable + 1})
    if run.duplicate_writes == 0:
        touched = touches(sequences, trace.requests)
        swept = hits_by_request(stack_records(sequences, touched, size), touched, usable, None)
        assert run.hit_tokens.tolist() == swept.tolist()


@settings(max_examples=100, deadline=None)
@given(token_logs(), st.integers(1, 4), st.integers(0, 10), st.sampled_from(sorted(ENGINES)))
def test_no_engine_reads_what_it_never_wrote(log: TokenLog, size: int, room: int, name: str):
    sequences = cached_sequences(log.trace())
    blocks = max(1, least_blocks(sequences, size)) + 1 + room
    options = {
        "vllm": {"block-size": size, "num-gpu-blocks": blocks},
        "vllm-0.11": {"block-size": size, "num-gpu-blocks": blocks},
        "sglang": {"page-size": size, "max-total-tokens": blocks * size},
        "trtllm-like": {"tokens-per-block": size, "num-blocks": blocks},
        "llamacpp-slots": {"parallel": 1 + room % 3, "cache-ram": room % 2, "kv-bytes-per-token": 2**16},
        "mooncake": {"block-size": size, "num-objects": blocks},
    }[name]
    run = replay_engine(name, sequences, log.trace().requests, options)
    assert (run.hit_tokens >= 0).all()
    assert (run.hit_tokens <= run.servable_tokens).all()
    roomy = {
        k: 10_000 for k in options if k in ("num-gpu-blocks", "max-total-tokens", "num-blocks", "num-objects")
    }
    if roomy and name != "mooncake":
        unlimited = replay_engine(name, sequences, log.trace().requests, {**options, **roomy})
        assert unlimited.hit_tokens.tolist() == unlimited.servable_tokens.tolist()


def _play_pool(kernel: str, sequences: CachedSequences, size: int, blocks: int, flag: bool) -> list[int]:
    """Hits of each request, and for vLLM the duplicates, with a pool of exactly so many blocks."""
    ids = block_ids(sequences, size)
    tree = (
        sequences.leaf,
        sequences.parent,
        sequences.depth_start,
        sequences.depth_end,
        ids.first_id,
        ids.count,
    )
    if kernel == "vllm":
        most = sequences.most_hit_blocks(size)
        hits, copies = replay_vllm(*tree, size, sequences.total_tokens, most, blocks, flag)
        return [*hits.tolist(), int(copies)]
    lengths = (sequences.prompt_tokens, sequences.total_tokens)
    return replay_trtllm(*tree, size, *lengths, blocks, flag).tolist()


@pytest.mark.parametrize("kernel", ["vllm", "trtllm"])
@settings(max_examples=200, deadline=None)
@given(token_logs(most_requests=25), st.integers(1, 4), st.integers(0, 60), st.booleans())
def test_of_a_pool_only_what_the_trace_can_take_is_played(
    kernel: str, log: TokenLog, size: int, room: int, flag: bool
):
    sequences = cached_sequences(log.trace())
    blocks = max(1, least_blocks(sequences, size)) + room
    in_play = blocks_in_play(sequences, size, blocks)
    assert in_play <= blocks
    assert _play_pool(kernel, sequences, size, in_play, flag) == _play_pool(
        kernel, sequences, size, blocks, flag
    )


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "mooncake"])
def test_a_pool_of_two_thousand_million_is_no_more_work_than_one_that_is_never_full(name: str):
    trace = trace_from_tokens([_numbers(100, 40), _numbers(100, 70), _numbers(200, 50), _numbers(100, 70)])
    (room, size) = {
        "vllm": ("num_gpu_blocks", "block_size"),
        "vllm-0.11": ("num_gpu_blocks", "block_size"),
        "sglang": ("max_total_tokens", "page_size"),
        "trtllm-like": ("num_blocks", "tokens_per_block"),
        "llamacpp-slots": ("parallel", "ctx_checkpoints"),
    }[name]
    enough = _hits(trace, name, **{room: 1000, size: 16})
    assert _hits(trace, name, **{room: 2_000_000_000, size: 16}) == enough
    assert sum(enough) > 0


@needs_shared
@pytest.mark.parametrize(
    ("engine", "setting"), [("vllm", k) for k in range(3)] + [("sglang", k) for k in range(2)]
)
def test_hits_are_those_of_the_real_cache_managers(engine: str, setting: int):
    assert SHARED is not None
    golden = SHARED / "golden" / "engines"
    rows = [json.loads(line) for line in (golden / "trace.jsonl").read_text().splitlines()]
    trace = trace_from_tokens([row["prompt"] for row in rows], [row["output"] for row in rows])
    recorded = json.loads((golden / "hits.json").read_text())
    if engine == "vllm":
        expected = recorded["vllm-0.33.0"][setting]
        options = {"block_size": expected["block_size"], "num_gpu_blocks": expected["num_gpu_blocks"]}
    else:
        expected = recorded["sglang-0.5.23"][setting]
        options = {"page_size": expected["page_size"], "max_total_tokens": expected["capacity_tokens"]}
    assert _hits(trace, engine, **options) == expected["hit_tokens"]


def _numbers(start: int, count: int) -> list[int]:
    return list(range(start, start + count))


def test_vllm_reuses_whole_blocks_and_computes_the_last_one_again():
    first, second = _numbers(1000, 64), _numbers(2000, 70)
    trace = trace_from_tokens([first, first, second, second, first[:40] + _numbers(5000, 30)])
    assert _hits(trace, "vllm", num_gpu_blocks=1000) == [0, 48, 0, 64, 32]


def test_vllm_reads_the_older_of_two_copies():
    prompts = [[], [], [0], [0, 0, 0], [1, 0]]
    outputs = [[0, 0, 0, 9], [1, 0, 9], [], [], []]
    # The third request writes the block of 0 again. Were the fourth to read that copy, the older one would be
    # evicted for it instead of a block that the last request could read.
    assert _hits(trace_from_tokens(prompts, outputs), "vllm", block_size=1, num_gpu_blocks=5) == [
        0,
        0,
        0,
        1,
        0,
    ]


def test_a_sliding_window_cannot_be_cut_back_without_a_checkpoint():
    shared = _numbers(0, 3200)
    trace = trace_from_tokens([shared + _numbers(10_000, 800), shared + _numbers(20_000, 100)])
    assert _hits(trace, "llamacpp-slots") == [0, 3200]
    assert _hits(trace, "llamacpp-slots", swa_window=512) == [0, 0]


def test_a_sliding_window_resumes_at_its_end_or_at_a_checkpoint():
    turn = _numbers(0, 600)
    trace = trace_from_tokens([turn, [*turn, 7], [*turn, 8]], [[1, 2, 3], [4], [5]])
    assert _hits(trace, "llamacpp-slots", swa_window=100) == [0, 0, 0]
    assert _hits(trace, "llamacpp-slots", swa_window=100, ctx_checkpoints=4) == [0, 600, 600]
    growing = trace_from_tokens([turn, turn + _numbers(700, 5)])
    assert _hits(growing, "llamacpp-slots", swa_window=100) == [0, 600]


def test_a_slot_holds_one_conversation():
    a, b = _numbers(0, 50), _numbers(100, 50)
    trace = trace_from_tokens([a, b, [*a, 1], [*b, 1]])
    assert _hits(trace, "llamacpp-slots") == [0, 0, 0, 0]
    assert _hits(trace, "llamacpp-slots", parallel=2) == [0, 0, 50, 50]


def test_host_memory_brings_a_conversation_back_to_its_slot():
    a, b = _numbers(0, 50), _numbers(100, 50)
    trace = trace_from_tokens([a, b, [*a, 1], [*b, 1]])
    assert _hits(trace, "llamacpp-slots", cache_ram=1, kv_bytes_per_token=1024) == [0, 0, 50, 50]


def test_trtllm_reads_into_a_block_and_keeps_partial_ones():
    a = _numbers(0, 10)
    trace = trace_from_tokens([a, [*a[:6], 99, 98], [*a, 7]])
    assert _hits(trace, "trtllm-like", tokens_per_block=4, num_blocks=20) == [0, 6, 10]
    assert _hits(trace, "trtllm-like", tokens_per_block=4, num_blocks=20, partial_reuse=0) == [0, 4, 8]


def test_mooncake_evicts_a_batch_above_its_watermark():
    prompts = [[n] * 3 for n in range(10)] + [[0, 0, 0], [9, 9, 9]]
    times = [float(10 * n) for n in range(12)]
    trace = trace_from_tokens(prompts, times=times)
    options = {"block_size": 1, "num_objects": 20, "eviction_ratio": 0.5}
    assert _hits(trace, "mooncake", **options)[-2:] == [0, 2]


def test_a_lease_protects_what_was_read():
    prompts = [[1, 1, 1], [1, 1, 1], [2, 2, 2], [3, 3, 3], [1, 1, 1]]
    trace = trace_from_tokens(prompts, times=[0, 1, 2, 3, 4])
    options = {"block_size": 1, "num_objects": 6, "eviction_ratio": 0.4}
    assert _hits(trace, "mooncake", **options)[-1] == 2
    assert _hits(trace, "mooncake", **options, default_kv_lease_ttl=0)[-1] == 0


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        ("vllm", {"page-size": 16, "num-gpu-blocks": 9}, "--page-size is an option of sglang; vllm takes"),
        ("vllm", {}, "vllm needs --num-gpu-blocks"),
        ("vllm", {"num-gpu-blocks": 3}, "cannot run request 'r1' of 64 tokens, which needs 4 blocks"),
        ("vllm", {"num-gpu-blocks": 1}, "null block"),
        ("vllm", {"num-gpu-blocks": 9, "block-size": 0}, "block size 0"),
        ("sglang", {"max-total-tokens": 10}, "cannot run request 'r1'"),
        ("mooncake", {"num-objects": 9, "eviction-ratio": 2.0}, "no share"),
        ("llamacpp-slots", {"cache-ram": 64}, "needs the size of a token"),
        ("llamacpp-slots", {"parallel": 0}, "leaves no slot"),
        ("tgi", {}, "'tgi' is no engine; there are vllm"),
    ],
)
def test_settings_that_make_no_sense_get_one_sentence(engine: str, options: dict[str, float], message: str):
    trace = trace_from_tokens([_numbers(0, 64)])
    with pytest.raises(UsageError, match=message):
        replay_engine(engine, cached_sequences(trace), trace.requests, options)
