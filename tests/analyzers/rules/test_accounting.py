import json
from decimal import Decimal

import pytest

from analyzers.findings import Finding
from analyzers.logs import read_log
from pcache_cli.usage_audit import audit_usage
from simulators.price_files import load_price_book
from tests.shared_folder import SHARED, needs_shared

D = Decimal
BOOK = load_price_book()


def audited(tmp_path, *rows: dict) -> dict[str, Finding]:
    log = tmp_path / "usage.jsonl"
    log.write_text("".join(json.dumps({"provider": "anthropic", **row}) + "\n" for row in rows))
    return {finding.rule: finding for finding in audit_usage(read_log([str(log)]), BOOK)}


def case(name: str) -> dict[str, Finding]:
    (folder,) = (SHARED / "cases").glob(f"{name}-*")
    files = sorted(str(path) for path in folder.glob("*.jsonl"))
    return {finding.rule: finding for finding in audit_usage(read_log(files), BOOK)}


def anthropic(uncached: int, read: int, five: int = 0, hour: int = 0, output: int = 0) -> dict:
    return {
        "input_tokens": uncached,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": five + hour,
        "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour},
        "output_tokens": output,
    }


def openai(prompt: int, cached: int, output: int, **more: int) -> dict:
    details = {"cached_tokens": cached, **more}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": details,
    }


@needs_shared
def test_creation_charged_twice_is_explained():
    finding = case("29")["PC707"]
    assert finding.evidence.request_id == "via-proxy"
    assert finding.money_lost == D("0.0282")
    assert "9,400 tokens" in finding.message


@needs_shared
def test_rows_without_a_field_are_set_apart_from_misses():
    finding = case("32")["PC705"]
    assert finding.evidence.affected_requests == ("c",)
    assert "11.4 %" in finding.message
    assert "40.0 %" in finding.message


@needs_shared
def test_repeated_rows_of_a_transcript_are_counted():
    finding = case("30")["PC703"]
    assert finding.message.startswith("4 of 7 rows repeat")


@needs_shared
def test_two_rows_that_count_alike_are_no_finding():
    assert not {rule for rule in case("28") if rule != "PC703"}


def test_cached_tokens_priced_on_top_of_the_input(tmp_path):
    row = {"id": "a", "provider": "openai", "model": "gpt-4.1", "usage": openai(20480, 17920, 900)}
    found = audited(tmp_path, {**row, "reported_cost_usd": 0.05712})["PC701"]
    assert found.money_lost == D("0.05712") - D("0.02128")
    assert not audited(tmp_path, {**row, "reported_cost_usd": 0.02128})


def test_rows_of_one_model_that_count_in_two_ways(tmp_path):
    inside = {"prompt_tokens": 106, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 100}}
    rows = [
        {"id": "a", "model": "claude-opus-5", "usage": anthropic(6, 100, output=1)},
        {"id": "b", "model": "claude-opus-5", "usage": inside},
        {"id": "c", "model": "claude-opus-5", "usage": anthropic(9, 100, output=1)},
    ]
    finding = audited(tmp_path, *rows)["PC701"]
    assert finding.evidence.affected_requests == ("b",)
    rows[1]["model"] = "claude-haiku-4-5"
    assert "PC701" not in audited(tmp_path, *rows)


def test_more_cached_than_sent(tmp_path):
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "total_tokens": 105,
        "prompt_tokens_details": {"cached_tokens": 500},
    }
    finding = audited(tmp_path, {"id": "a", "model": "gpt-4.1", "provider": "openai", "usage": usage})[
        "PC702"
    ]
    assert "500 tokens read from a prompt of 100" in finding.message
    assert "PC702" not in audited(
        tmp_path, {"id": "a", "model": "claude-opus-5", "usage": anthropic(100, 500)}
    )


def test_one_hour_writes_at_the_five_minute_price(tmp_path):
    row = {"id": "a", "model": "claude-opus-4-5", "usage": anthropic(10, 8000, 6000, 24000, 100)}
    finding = audited(tmp_path, {**row, "reported_cost_usd": 0.19405})["PC704"]
    assert finding.money_lost == D("0.19405") - D("0.28405")
    assert "PC704" not in audited(tmp_path, {**row, "reported_cost_usd": 0.28405})


def test_written_tokens_without_a_lifetime_are_named_as_assumed(tmp_path):
    usage = {key: value for key, value in anthropic(10, 0, 6000).items() if key != "cache_creation"}
    finding = audited(tmp_path, {"id": "a", "model": "claude-opus-4-5", "usage": usage})["PC704"]
    assert "of 6,000 written tokens" in finding.message


@pytest.mark.parametrize(
    ("model", "usage", "stated", "right"),
    [
        ("gpt-6.1-sol", openai(300_000, 270_000, 500, cache_write_tokens=10_000), "0.097", "0.1915"),
        (
            "claude-opus-5-5",
            {**anthropic(1000, 20000, 2000, 3000, 500), "service_tier": "batch"},
            "0.052",
            "0.026",
        ),
    ],
)
def test_a_tier_left_out_of_the_price(tmp_path, model, usage, stated, right):
    provider = "openai" if model.startswith("gpt") else "anthropic"
    row = {
        "id": "a",
        "model": model,
        "provider": provider,
        "usage": usage,
        "timestamp": "2026-11-20T10:00:00Z",
    }
    finding = audited(tmp_path, {**row, "reported_cost_usd": float(stated)})["PC706"]
    assert finding.money_lost == D(stated) - D(right)
    assert "PC706" not in audited(tmp_path, {**row, "reported_cost_usd": float(right)})


def test_a_cost_that_no_known_mistake_explains_is_not_explained(tmp_path):
    row = {"id": "a", "model": "claude-opus-4-5", "usage": anthropic(10, 8000, 6000, 24000, 100)}
    assert not audited(tmp_path, {**row, "reported_cost_usd": 0.5})
