import pytest

from analyzers.errors import CannotEvaluateError, InputError
from simulators.metrics_scrape import between, cache_counters, parse_scrape

VLLM = """\
# HELP vllm:prefix_cache_queries_total Prefix cache queries, in terms of number of queried tokens.
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="a \\"b\\", {c}"} 1.2e+03
vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.76e+09
vllm:prefix_cache_hits_total{engine="0",model_name="a"} 300.0
vllm:cache_config_info{block_size="16",enable_prefix_caching="True",num_gpu_blocks="573",sliding_window="None"} 1.0
vllm:num_preemptions_total{engine="0"} 2.0 1760000000000
vllm:request_success_total{engine="0",finished_reason="stop"} 5.0
vllm:request_success_total{engine="0",finished_reason="length"} 1.0
vllm:time_to_first_token_seconds_bucket{le="+Inf"} NaN
"""
SGLANG = """\
sglang:prompt_tokens_total{model_name="m"} 5000
sglang:cached_tokens_total{cache_source="device",model_name="m"} 1000
sglang:cached_tokens_total{cache_source="host",model_name="m"} 200
sglang:cached_tokens_total{cache_source="total",model_name="m"} 40
sglang:max_total_num_tokens{model_name="m"} 65536
sglang:cache_hit_rate{model_name="m"} 0.9
"""


def counters(text: str):
    return cache_counters(parse_scrape(text, "scrape"), "scrape")


def test_vllm_counts_tokens_and_states_its_cache():
    found = counters(VLLM)
    assert (found.server, found.queried, found.hits, found.in_tokens) == ("vllm", 1200, 300, True)
    assert found.settings == {"num-gpu-blocks": 573, "block-size": 16}
    assert (found.caching_on, found.preemptions, found.requests) == (True, 2, 6)
    assert found.prompt_tokens is None


def test_counters_without_the_ending_are_read_too():
    assert counters("vllm:prefix_cache_queries 10\nvllm:prefix_cache_hits 4").hits == 4


def test_engines_of_a_server_are_added_up():
    two = (
        VLLM
        + 'vllm:prefix_cache_hits_total{engine="1"} 50\nvllm:prefix_cache_queries_total{engine="1"} 100\n'
    )
    found = counters(two)
    assert (found.queried, found.hits, found.series) == (1300, 350, 2)


def test_old_names_give_a_ratio_but_no_tokens():
    old = counters("vllm:gpu_prefix_cache_queries_total 100\nvllm:gpu_prefix_cache_hits_total 25\n")
    assert not old.in_tokens


def test_sglang_adds_each_request_to_its_sources_or_to_total():
    found = counters(SGLANG)
    assert (found.server, found.queried, found.hits) == ("sglang", 5000, 1240)
    assert found.lower_tier_hits == 200
    assert found.settings == {"max-total-tokens": 65536}


def test_a_gauge_of_the_last_moments_is_no_period():
    with pytest.raises(CannotEvaluateError, match="only the gauge sglang:cache_hit_rate"):
        counters("sglang:cache_hit_rate 0.4\nsglang:prompt_tokens_total 100\n")


def test_a_page_that_is_no_scrape_is_refused():
    with pytest.raises(InputError, match="no metrics in the Prometheus text format"):
        parse_scrape("<html>not found</html>", "page")
    with pytest.raises(CannotEvaluateError, match="has neither"):
        counters("process_cpu_seconds_total 12\n")


def test_what_was_counted_between_two_scrapes():
    later = VLLM.replace("1.2e+03", "2200").replace("300.0", "800.0")
    found = between(counters(VLLM), counters(later))
    assert (found.queried, found.hits, found.preemptions) == (1000, 500, 0)


def test_a_restart_between_scrapes_is_noticed():
    with pytest.raises(CannotEvaluateError, match="restarted in between"):
        between(counters(VLLM), counters(VLLM.replace("300.0", "3.0")))
    with pytest.raises(CannotEvaluateError, match="not of the same server"):
        between(counters(VLLM), counters(SGLANG))
