import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcache_cli.app import app
from tests.shared_folder import SHARED, needs_shared

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
CLOCK = SAMPLES / "support_bot_clock.jsonl"
PROMPTS, HITS = 55_423, 8_960
"""Prompt tokens of the sample, and its hit tokens in blocks of 16 (pcache simulate)."""


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["validate", *map(str, words)])
    assert result.exit_code == code, result.output
    return result.output


def scrape(queries: int, hits: int, requests: int = 36, on: str = "True") -> str:
    return (
        f'vllm:cache_config_info{{block_size="16",num_gpu_blocks="4000",enable_prefix_caching="{on}"}} 1.0\n'
        f'vllm:prefix_cache_queries_total{{engine="0"}} {queries}\n'
        f'vllm:prefix_cache_hits_total{{engine="0"}} {hits}\n'
        f'vllm:request_success_total{{finished_reason="stop"}} {requests}\n'
    )


@pytest.fixture
def write(tmp_path):
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_server_that_did_what_the_model_says(write):
    before, after = write("a", scrape(1000, 300, 5)), write("b", scrape(1000 + PROMPTS, 300 + HITS, 41))
    said = run(CLOCK, "--metrics", before, "--metrics", after, "--tolerance", "0%")
    assert (
        "agree within 0 %: 16.2 % of the prompt tokens are hits by vllm, 16.2 % by vllm /metrics"
        in said.replace("\n", " ")
    )
    assert "num-gpu-blocks=4,000, block-size=16, as the server states" in said


def test_server_that_read_less_fails_with_reasons(write):
    said = run(CLOCK, "--metrics", write("m", scrape(PROMPTS, HITS // 2)), code=1)
    assert "part: the hit-token ratio differs by more than 3 %" in said
    assert "Requests that ran at the same time" in said


def test_server_with_other_traffic_fails_and_says_so(write):
    said = run(CLOCK, "--metrics", write("m", scrape(2 * PROMPTS, 2 * HITS, 72)), code=1)
    assert "number of prompt tokens differs" in said
    assert "36 requests and the world counts 72" in said.replace("\n", " ")


def test_sglang_is_simulated_with_its_own_room(write):
    text = f"sglang:prompt_tokens_total {PROMPTS}\nsglang:cached_tokens_total 9000\nsglang:max_total_num_tokens 99999\n"
    said = run(CLOCK, "--metrics", write("m", text))
    assert "by sglang," in said
    assert "max-total-tokens=99,999" in said


@pytest.fixture
def server() -> Iterator[str]:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(scrape(PROMPTS, HITS).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Metrics) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


def test_address_is_scraped_on_request(server):
    assert "agree" in run(CLOCK, "--metrics", f"{server}/metrics", "--tolerance", "0.1%")
    assert "cannot be scraped (HTTP Error 404" in run(CLOCK, "--metrics", f"{server}/nothing", code=2)


def test_logged_usage_agrees_with_the_providers_rules():
    said = run(SAMPLES / "coding_agent_markers.jsonl")
    assert "by the providers' rules, 89.4 % by logged usage" in said.replace("\n", " ")


def test_logged_usage_that_read_nothing_parts_from_the_model():
    assert "Nothing at all was read" in run(CLOCK, "--capacity", "none", code=1)


def test_json_states_checks_and_definitions(write):
    found = json.loads(run(CLOCK, "--metrics", write("m", scrape(PROMPTS, HITS)), "--json", "-q"))
    assert found["validation"]["agrees"] is True
    assert [check["name"] for check in found["validation"]["checks"]] == ["prompt_tokens", "hit_token_ratio"]
    assert set(found["definitions"]) == {"prompt_tokens", "hit_token_ratio", "tolerance"}


def test_what_cannot_be_evaluated_exits_with_3(write):
    assert "prefix caching off" in run(CLOCK, "--metrics", write("m", scrape(9, 0, on="False")), code=3)
    assert "answered no request" in run(CLOCK, "--metrics", write("m", scrape(0, 0)), code=3)
    assert "states both" in run(
        SAMPLES / "hash_trace.jsonl", "--capacity", "none", "--block-size", 512, code=3
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--engine", "vllm", "--capacity", "none"], "different models"),
        (["--ttl", "5m"], "--ttl belongs to --capacity"),
        (["--tolerance", "lots"], "is no share"),
        (["--metrics", "nowhere.prom"], "cannot be read (No such file"),
        (["--metrics", "a", "--metrics", "b", "--metrics", "c"], "one scrape or two"),
        (["--metrics", "a", "--provider", "openai"], "a server of your own"),
    ],
)
def test_questions_that_make_no_sense_are_refused(words, says):
    assert says in run(CLOCK, *words, code=2)


@needs_shared
def test_what_the_real_cache_managers_counted_is_what_the_model_says(write):
    """The hits that vLLM's and SGLang's own cache managers returned, added up as their servers count them."""
    assert SHARED is not None
    folder = SHARED / "golden" / "engines"
    hits = json.loads((folder / "hits.json").read_text())
    prompts = [len(json.loads(line)["prompt"]) for line in (folder / "trace.jsonl").read_text().splitlines()]
    vllm, sglang = hits["vllm-0.33.0"][0], hits["sglang-0.5.23"][0]
    scrapes = {
        "vllm": f'vllm:cache_config_info{{block_size="{vllm["block_size"]}",num_gpu_blocks="{vllm["num_gpu_blocks"]}"}} 1\n'
        f"vllm:prefix_cache_queries_total {sum(prompts)}\n"
        f"vllm:prefix_cache_hits_total {sum(vllm['hit_tokens'])}\n",
        "sglang": f"sglang:prompt_tokens_total {sum(prompts)}\n"
        f'sglang:cached_tokens_total{{cache_source="device"}} {sum(sglang["hit_tokens"])}\n'
        f"sglang:max_total_num_tokens {sglang['capacity_tokens']}\n"
        f'sglang:cache_config_info{{page_size="{sglang["page_size"]}"}} 1\n',
    }
    for name, text in scrapes.items():
        said = run(folder / "trace.jsonl", "--metrics", write(name, text), "--tolerance", "0%")
        assert f"agree within 0 %: {100 * sum(hits_of(hits, name)) / sum(prompts):.1f} %" in said.replace(
            "\n", " "
        )


def hits_of(hits: dict, name: str) -> list[int]:
    """The hits of the first configuration of an engine."""
    return next(runs for engine, runs in hits.items() if engine.startswith(name))[0]["hit_tokens"]
