import csv
import json
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from pcache_cli.app import app
from pcache_cli.reports.money import money
from simulators.latency import dump_calibration
from tests.shared_folder import SHARED, needs_shared
from tests.simulators.sample_calibration import sample_calibration

SAMPLE = Path(__file__).resolve().parents[2] / "sample_logs" / "coding_agent_markers.jsonl"


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["cost", *map(str, words)])
    assert result.exit_code == code, result.output
    return result.stdout if code in (0, 1) else result.output


def as_json(*words: object) -> dict:
    return json.loads(CliRunner().invoke(app, ["cost", *map(str, words), "--json", "-q"]).stdout)


def usage_log(tmp_path: Path, *rows: dict) -> Path:
    path = tmp_path / "usage.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"r{n}", "provider": "openai", **row}) + "\n" for n, row in enumerate(rows))
    )
    return path


ROW = {
    "model": "gpt-4.1",
    "usage": {
        "prompt_tokens": 20480,
        "completion_tokens": 900,
        "total_tokens": 21380,
        "prompt_tokens_details": {"cached_tokens": 17920},
    },
}


def test_the_verdict_comes_first_and_names_what_was_paid():
    first = run(SAMPLE, "-q").splitlines()[0]
    assert first.startswith("29 requests cost $0.04683; without a cache they would have cost $0.1741")


def test_half_a_digit_of_money_is_rounded_up():
    assert money(Decimal("0.0097505")) == "$0.009751"
    assert money(Decimal("-1.0005")) == "-$1.001"
    assert money(Decimal("9.9996")) == "$10.000"
    assert money(Decimal("1234.565")) == "$1,234.57"


def test_a_log_without_models_is_sent_to_the_option_that_names_one(tmp_path):
    unnamed = {key: value for key, value in ROW.items() if key != "model"}
    assert "--assume-model" in run(usage_log(tmp_path, unnamed), code=3)
    assert "--prices" in run(usage_log(tmp_path, {**ROW, "model": "nobody-sells-this"}), code=3)


def test_money_is_exact_text_in_json(tmp_path):
    bill = as_json(usage_log(tmp_path, ROW))["overview"]["report"]["bills"]["USD"]
    assert bill["paid"] == "0.02128"
    assert bill["hit_rates"]["tokens"] == 0.875


def test_the_json_has_a_version_definitions_and_keeps_its_shape():
    shape = {
        "type": "object",
        "required": ["schema_version", "command", "overview", "findings", "trace", "definitions"],
        "properties": {
            "schema_version": {"const": 1},
            "overview": {
                "required": ["report", "advice", "forecasts", "lifetimes", "prewarming", "explicit_caches"],
                "properties": {
                    "report": {
                        "required": ["requests", "bills", "groups", "unknown", "unpriced", "notes"],
                        "properties": {
                            "bills": {
                                "additionalProperties": {
                                    "required": [
                                        "paid",
                                        "without_cache",
                                        "saving",
                                        "write_premium",
                                        "possible",
                                    ],
                                    "properties": {"paid": {"type": "string", "pattern": r"^-?\d+(\.\d+)?$"}},
                                }
                            }
                        },
                    }
                },
            },
        },
    }
    document = as_json(SAMPLE)
    jsonschema.validate(document, shape)
    assert {"paid", "possible", "money_hit_rate"} <= set(document["definitions"])


def test_the_same_input_gives_the_same_bytes():
    assert run(SAMPLE, "--json", "-q") == run(SAMPLE, "--json", "-q")


def test_an_unknown_price_is_counted_and_ends_with_3(tmp_path):
    log = usage_log(tmp_path, ROW, {**ROW, "model": "house-model"})
    output = run(log, code=3)
    assert "Not in the bill: 1 of 2 requests (1: no price for house-model on openai)" in " ".join(
        output.split()
    )
    assert "1 request has no known price" in output
    prices = tmp_path / "mine.yaml"
    prices.write_text("house-model: {input: 2, output: 8, read: 0.5}\n")
    assert "2 requests cost $0.04256" in run(log, "--prices", prices, "-q")


def test_no_price_at_all_cannot_be_evaluated(tmp_path):
    output = run(usage_log(tmp_path, {**ROW, "model": "house-model"}), code=3)
    assert "no request has a known price (no price for house-model on openai)" in output


def test_a_log_without_models_is_priced_as_the_model_assumed(tmp_path):
    rows = [
        {"id": f"r{n}", "timestamp": 1_790_000_000 + 60 * n, "prompt": "word " * 2000 + str(n)}
        for n in range(3)
    ]
    log = tmp_path / "prompts.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "does not name the model" in run(log, code=3)
    overview = as_json(log, "--assume-model", "claude-sonnet-5")["overview"]
    (forecast,) = overview["forecasts"]
    assert (
        float(forecast["prompt_best"]) < float(forecast["prompt_careful"]) < float(forecast["prompt_without"])
    )
    assert "an estimate" in " ".join(overview["report"]["notes"])


def test_groups_are_asked_for_by_name():
    found = as_json(SAMPLE, "--by", "model,session")["overview"]["report"]["groups"]
    assert list(found) == ["model", "session"]
    assert len(found["session"]) > 1
    assert "--by colour is not a field of the bill" in run(SAMPLE, "--by", "colour", code=2)


def test_each_requests_bill_goes_to_a_table(tmp_path):
    table = tmp_path / "bills.csv"
    run(SAMPLE, "-q", "-o", table)
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 29
    assert sum(int(row["read_tokens"]) for row in rows) == 48_691
    assert {row["currency"] for row in rows} == {"USD"}


def test_model_names_from_a_log_are_text_not_markup(tmp_path):
    log = usage_log(tmp_path, ROW, {**ROW, "model": "[red]x[/red]\x1b[31m"})
    output = run(log, code=3)
    assert "[red]x[/red]" in output.replace("\n", "")
    assert "\x1b" not in output


def test_what_breaks_the_prefix_is_priced(tmp_path):
    """A clock in front of a long fixed text: only its own place is read, and all behind it is computed anew."""
    rows = []
    rules = "\n".join(
        f"Rule {n}: answer question {n} in one short sentence and name page {n * 7}." for n in range(100)
    )
    for minute in range(4):
        prompt = f"It is 2026-11-25 12:{minute:02d}:07.\n{rules}"
        body = {
            "model": "gpt-4.1",
            "messages": [{"role": "system", "content": prompt}, {"role": "user", "content": "hi"}],
        }
        usage = {"prompt_tokens": 1850, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}
        stamp = f"2026-11-25T12:{minute:02d}:07Z"
        rows.append({"id": f"r{minute}", "timestamp": stamp, "request": body, "response": {"usage": usage}})
    log = tmp_path / "clock.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = as_json(log, "--by", "breaker")
    breaker = document["breakers"][0]
    assert (breaker["rule"], breaker["requests"]) == ("PC101", 3)
    lost = breaker["tokens_lost"]
    assert float(breaker["money"]["USD"]) == pytest.approx(lost * 1.5 / 1e6)
    assert document["overview"]["advice"][0]["rule"] == "PC101"
    assert "take out what breaks the prefix (PC101)" in " ".join(run(log, "--by", "breaker", "-q").split())


@needs_shared
def test_a_wrongly_stated_cost_is_explained():
    log = SHARED / "cases/29-creation-charged-twice/usage.jsonl"
    findings = as_json(log)["findings"]
    assert [f["rule"] for f in findings] == ["PC707", "PC704"]
    assert findings[0]["money_lost"] == "0.028200"


def hosted(*words: object, code: int = 0) -> str:
    return run(SAMPLE, "--gpu-hour", "2.50", *words, "-q", code=code)


def test_self_hosting_from_assumptions():
    output = hosted(
        "--prefill-rate", 8000, "--kv-bytes-per-token", 131072, "--kv-memory", "40GB", "--hold", "5m"
    )
    assert "Keeping KV" in output
    assert "assumed, as stated" in output
    assert "capacity of the accelerator" in output


def test_self_hosting_from_a_calibration(tmp_path):
    path = tmp_path / "calibration.json"
    calibration = sample_calibration()
    path.write_bytes(dump_calibration(calibration))
    tier = calibration.tiers[0].name
    words = ("--calibration", path, "--tier", tier, "--tier-price", "0.01")
    assert "pcache probe's calibration of tiny-llama" in hosted(*words)
    document = as_json(SAMPLE, "--gpu-hour", "2.5", *words)
    parts = document["self_hosted"]
    assert float(parts["effective"]) == pytest.approx(
        float(parts["saving"]) - float(parts["storage"]) - float(parts["restore"]) - float(parts["capacity"])
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--gpu-hour", "2"), "give --kv-memory"),
        (("--gpu-hour", "2", "--tier", "dram"), "give --tier-price for dram"),
        (("--gpu-hour", "two", "--kv-memory", "40GB"), "--gpu-hour 'two' is no price"),
        (("--gpu-hour", "2", "--kv-memory", "40GB"), "give --calibration"),
        (("--gpu-hour", "2", "--prices", "x.yaml"), "leave them out"),
        (("--hold", "5m"), "give --gpu-hour as well"),
        (("--prices", "nowhere.yaml"), "nowhere.yaml: cannot be read as a price file"),
    ],
)
def test_options_that_make_no_sense_say_what_to_do(words, complaint):
    assert complaint in run(SAMPLE, *words, code=2)
