import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.usage import UNSTATED_TTL, Usage, normalise_usage
from tests.shared_folder import SHARED, needs_shared

counts = st.integers(0, 10**6)


def figures(usage: Usage) -> tuple[int | None, int | None, int | None, int | None]:
    return usage.prompt_tokens, usage.read_tokens, usage.written_tokens, usage.output_tokens


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(
            {
                "prompt_tokens": 100,
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30},
            },
            (100, 64, 30, 7),
            id="chat completions",
        ),
        pytest.param(
            {"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 64}},
            (100, 64, None, 7),
            id="responses",
        ),
        pytest.param(
            {
                "input_tokens": 4,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 30,
                "output_tokens": 7,
            },
            (94, 60, 30, 7),
            id="messages",
        ),
        pytest.param(
            {
                "inputTokens": 3,
                "outputTokens": 288,
                "cacheReadInputTokens": 2074,
                "cacheWriteInputTokens": 297,
                "totalTokens": 2662,
            },
            (2374, 2074, 297, 288),
            id="converse",
        ),
        pytest.param(
            {
                "promptTokenCount": 620,
                "cachedContentTokenCount": 500,
                "candidatesTokenCount": 24,
                "thoughtsTokenCount": 70,
            },
            (620, 500, None, 94),
            id="generateContent bills thoughts as output",
        ),
        pytest.param(
            {
                "prompt_tokens": 5180,
                "prompt_cache_hit_tokens": 2944,
                "prompt_cache_miss_tokens": 2236,
                "completion_tokens": 20,
            },
            (5180, 2944, None, 20),
            id="deepseek",
        ),
        pytest.param(
            {"prompt_tokens": 77, "num_cached_tokens": 76, "completion_tokens": 12},
            (77, 76, None, 12),
            id="mistral",
        ),
        pytest.param(
            {"input_tokens": 900, "cached_input_tokens": 768, "output_tokens": 5},
            (900, 768, None, 5),
            id="codex",
        ),
        pytest.param(
            {
                "input_tokens": 900,
                "output_tokens": 5,
                "total_tokens": 905,
                "input_token_details": {"cache_read": 768, "cache_creation": 100},
            },
            (900, 768, 100, 5),
            id="langchain",
        ),
        pytest.param(
            {
                "inputTokens": 900,
                "outputTokens": 5,
                "inputTokenDetails": {"noCacheTokens": 32, "cacheReadTokens": 768, "cacheWriteTokens": 100},
            },
            (900, 768, 100, 5),
            id="vercel ai sdk 6",
        ),
        pytest.param(
            {
                "llm.token_count.prompt": 900,
                "llm.token_count.completion": 5,
                "llm.token_count.prompt_details.cache_read": 768,
                "llm.token_count.prompt_details.cache_write": 100,
            },
            (900, 768, 100, 5),
            id="openinference",
        ),
        pytest.param(
            {
                "gen_ai.usage.input_tokens": 900,
                "gen_ai.usage.output_tokens": 5,
                "gen_ai.usage.cache_read.input_tokens": 768,
                "gen_ai.usage.cache_creation.input_tokens": 100,
            },
            (900, 768, 100, 5),
            id="opentelemetry",
        ),
        pytest.param(
            {"input_tokens": 32, "input_tokens_cache_read": 768, "output_tokens": 5, "total_tokens": 805},
            (800, 768, None, 5),
            id="inspect_ai beside, by its total",
        ),
    ],
)
def test_each_documented_shape_becomes_inclusive(raw, expected):
    usage = normalise_usage(raw)
    assert figures(usage) == expected
    assert usage.problems == ()


def test_the_same_counters_beside_and_inside_the_input_give_the_same_usage():
    native = normalise_usage(
        {
            "input_tokens": 6,
            "cache_creation_input_tokens": 9400,
            "cache_read_input_tokens": 0,
            "output_tokens": 420,
        }
    )
    rewritten = normalise_usage(
        {
            "prompt_tokens": 9406,
            "completion_tokens": 420,
            "total_tokens": 9826,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_tokens": 9400},
            "cache_creation_input_tokens": 9400,
            "cache_read_input_tokens": 0,
        }
    )
    assert native == rewritten
    assert (native.counted_beside, rewritten.counted_beside) == (True, False)
    assert (native.uncached_tokens, native.written) == (6, {UNSTATED_TTL: 9400})


@given(uncached=counts, read=counts, written=counts, output=counts)
def test_the_rows_total_decides_between_inside_and_beside(uncached, read, written, output):
    total = uncached + read + written + output
    cached = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written, "total_tokens": total}
    beside = normalise_usage({"input_tokens": uncached, "output_tokens": output, **cached})
    inside = normalise_usage({"input_tokens": uncached + read + written, "output_tokens": output, **cached})
    assert beside == (inside if read + written else beside)
    assert figures(beside) == (uncached + read + written, read, written, output)
    assert beside.uncached_tokens == uncached


@given(uncached=counts, read=counts, written_5m=counts, written_1h=counts)
def test_messages_rows_add_their_parts_and_keep_lifetimes(uncached, read, written_5m, written_1h):
    usage = normalise_usage(
        {
            "input_tokens": uncached,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written_5m + written_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": written_5m,
                "ephemeral_1h_input_tokens": written_1h,
            },
        }
    )
    assert usage.prompt_tokens == uncached + read + written_5m + written_1h
    assert usage.written == {300: written_5m, 3600: written_1h}
    assert usage.output_tokens is None
    assert usage.problems == ()


def test_missing_is_not_zero():
    assert normalise_usage(None) == normalise_usage({}) == Usage()
    silent = normalise_usage({"prompt_tokens": 50_000, "completion_tokens": 10})
    assert (silent.read_tokens, silent.written, silent.uncached_tokens) == (None, None, None)
    real_zero = normalise_usage({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0}})
    assert (real_zero.read_tokens, real_zero.uncached_tokens) == (0, 10)
    assert normalise_usage({"prompt_tokens": 10, "prompt_tokens_details": None}).read_tokens is None
    assert normalise_usage({"input_tokens": 10, "cache_read_input_tokens": None}).read_tokens is None


def test_impossible_figures_are_kept_and_named():
    above = normalise_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_tokens": 105,
            "prompt_tokens_details": {"cached_tokens": 500},
        }
    )
    assert (above.prompt_tokens, above.read_tokens, above.uncached_tokens) == (100, 500, -400)
    assert above.problems == ("500 tokens read from a prompt of 100",)
    both = normalise_usage(
        {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 80}}
    )
    assert both.problems == ("80 tokens read and 80 written in a prompt of 100",)
    assert normalise_usage({"prompt_tokens": -1}).problems == ("prompttokens is negative",)
    assert normalise_usage({"prompt_tokens": "12"}).problems == ("prompt_tokens is text, not a number",)
    uneven = normalise_usage(
        {"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 30}
    )
    assert uneven.problems == ("hit 64 + miss 30 tokens are not the 100 tokens of the prompt",)


def test_counters_larger_than_the_input_they_came_with_stand_beside_it():
    usage = normalise_usage({"prompt_tokens": 6, "cache_read_input_tokens": 50_000, "completion_tokens": 1})
    assert (usage.prompt_tokens, usage.problems) == (50_006, ())


def test_a_row_that_states_half_of_its_cache_says_so():
    usage = normalise_usage({"input_tokens": 6, "cache_read_input_tokens": 500})
    assert (usage.prompt_tokens, usage.written) == (506, None)
    assert usage.problems == ("the row does not state its written tokens, so its prompt may be larger",)


def test_written_tokens_that_no_lifetime_accounts_for_stay_visible():
    usage = normalise_usage(
        {
            "input_tokens": 1,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 90,
            "cache_creation": {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 0},
        }
    )
    assert usage.written == {300: 40, 3600: 0, UNSTATED_TTL: 50}
    assert usage.problems == ("written tokens by lifetime add to 40, the row says 90",)


def test_lifetimes_are_read_from_converse_and_responses():
    converse = normalise_usage(
        {
            "inputTokens": 3,
            "cacheReadInputTokens": 0,
            "cacheWriteInputTokens": 2074,
            "cacheDetails": [{"ttl": "5m", "inputTokens": 2000}, {"ttl": "1h", "inputTokens": 74}],
        }
    )
    assert converse.written == {300: 2000, 3600: 74}
    responses = normalise_usage(
        {
            "input_tokens": 20_000,
            "input_tokens_details": {
                "cached_tokens": 15_000,
                "cache_write_tokens": 4_000,
                "cache_write_tokens_details": {"ttl_30m_tokens": 1_000, "ttl_12h_tokens": 3_000},
            },
        }
    )
    assert responses.written == {1800: 1000, 43200: 3000}


def test_tier_speed_region_and_reported_cost_are_kept():
    usage = normalise_usage(
        {
            "input_tokens": 1,
            "service_tier": "batch",
            "speed": "fast",
            "inference_geo": "us",
            "cost": 0.01058775,
        }
    )
    assert (usage.service_tier, usage.speed, usage.inference_geo) == ("batch", "fast", "us")
    assert usage.reported_cost == Decimal("0.01058775")
    assert normalise_usage({"input_tokens": 1, "inference_geo": "not_available"}).inference_geo is None


@needs_shared
def test_the_chat_and_responses_rows_of_one_call_are_equal():
    lines = (SHARED / "cases/28-cached-is-inside-input/usage.jsonl").read_text().splitlines()
    chat, responses = (normalise_usage(json.loads(line)["usage"]) for line in lines)
    assert chat == responses
    assert (chat.uncached_tokens, *figures(chat)) == (2560, 20480, 17920, None, 900)
