from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError
from simulators.metrics_scrape import cache_counters, parse_scrape
from simulators.validation import Model, World, logged_against, unknown_outputs, validate, world_of_counters
from tests.trace_builder import trace_from_tokens

MODEL = Model("vllm", prompt_tokens=1000, hit_tokens=500, requests=10)
WORLD = World("vllm /metrics", 0.5, 1000, 500, 10)


def test_equal_figures_agree_without_reasons():
    result = validate(MODEL, WORLD, 0.0)
    assert result.agrees
    assert result.reasons == ()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5))
def test_the_ratio_holds_within_the_tolerance_in_points(model, world, tolerance):
    tokens = 10**9
    hits = round(model * tokens)
    result = validate(Model("m", tokens, hits, 1), World("w", world, None, None, None), tolerance)
    assert result.agrees == (abs(hits / tokens - world) <= tolerance)
    assert bool(result.reasons) != result.agrees


def test_other_traffic_parts_even_at_an_equal_ratio():
    result = validate(MODEL, replace(WORLD, prompt_tokens=1100, requests=11), 0.03)
    assert [check.holds for check in result.checks] == [False, True]
    assert result.checks[0].difference == pytest.approx(1000 / 1100 - 1)
    assert "10 requests and the world counts 11" in result.reasons[0]


@pytest.mark.parametrize(
    ("model", "world", "first"),
    [
        (MODEL, replace(WORLD, hit_ratio=0.7, lower_tier_hits=90), "90 tokens came from a lower tier"),
        (MODEL, replace(WORLD, hit_ratio=0.7), "the cache was warm when the period began"),
        (replace(MODEL, outputs_unknown=4), replace(WORLD, hit_ratio=0.7, since_start=True), "the answers of 4"),
        (MODEL, replace(WORLD, hit_ratio=0.3, engines=2), "2 engines count for themselves"),
        (MODEL, replace(WORLD, hit_ratio=0.3, preemptions=3), "3 requests were preempted"),
        (replace(MODEL, capacity_bound=False), replace(WORLD, hit_ratio=0.3), "the simulated cache has no bound"),
        (MODEL, replace(WORLD, hit_ratio=0.0), "nothing at all was read"),
        (replace(MODEL, by_provider=True), replace(WORLD, hit_ratio=0.3), "the provider dropped entries early"),
        (MODEL, replace(WORLD, prompt_tokens=2000, since_start=True), "the counters run since the server started"),
    ],
)  # fmt: skip
def test_what_the_figures_show_is_named_first(model, world, first):
    assert validate(model, world, 0.03).reasons[0].startswith(first)


def test_nothing_to_compare_is_no_agreement():
    with pytest.raises(CannotEvaluateError, match="no prompt tokens"):
        validate(replace(MODEL, prompt_tokens=0, hit_tokens=0), WORLD, 0.03)
    idle = cache_counters(parse_scrape("vllm:prefix_cache_queries 0\nvllm:prefix_cache_hits 0", "s"), "s")
    with pytest.raises(CannotEvaluateError, match="answered no request"):
        world_of_counters(idle, since_start=True)
    with pytest.raises(CannotEvaluateError, match="prefix caching off"):
        world_of_counters(replace(idle, queried=9, caching_on=False), since_start=True)


def test_logged_usage_is_compared_on_rows_that_state_it():
    trace = trace_from_tokens([[1, 2, 3, 4]] * 3)
    trace.requests.usage_prompt[:] = [4, 4, -1]
    trace.requests.usage_read[:] = [0, 2, 4]
    hits = np.array([0, 3, 3])
    model, world = logged_against(trace, "lru", trace.requests.prompt_tokens, hits)
    assert (model.prompt_tokens, model.hit_tokens, world.hit_tokens) == (8, 3, 2)
    assert world.hit_ratio == 0.25
    trace.requests.usage_read[:] = -1
    with pytest.raises(CannotEvaluateError, match="no request of the log states both"):
        logged_against(trace, "lru", trace.requests.prompt_tokens, hits)


def test_answers_with_known_ids_are_in_the_simulated_cache():
    assert unknown_outputs(trace_from_tokens([[1], [2]], [[5, 6, 7], [5]])) == 0
    assert unknown_outputs(trace_from_tokens([[1], [2]], output_lengths=[9, 1])) == 1
