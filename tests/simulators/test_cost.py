import json
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from analyzers.logs import read_log
from analyzers.pipeline import TracedLog, trace_log
from analyzers.trace import Names
from simulators.cost import cost_report, priced_rows
from simulators.cost_losses import price_losses
from simulators.lifetimes import forecast, lifetime_choices
from simulators.prewarm import prewarming
from simulators.price_files import load_price_book
from simulators.touches import touches_of
from tests.shared_folder import SHARED, needs_shared

D = Decimal


@pytest.fixture(scope="module")
def book():
    return load_price_book()


def row(id: str, prompt: str, usage: dict, model="claude-opus-5", second=0, **more) -> dict:
    return {
        "id": id,
        "timestamp": f"2026-11-25T12:00:{second:02d}Z",
        "provider": more.pop("provider", "anthropic"),
        "request": {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": prompt}]},
        "response": {"usage": usage, **more},
    }


def anthropic(uncached: int, read: int, written: int, output: int, **more) -> dict:
    return {
        "input_tokens": uncached,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        **more,
    }


def traced(tmp_path, rows: list[dict]) -> TracedLog:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return trace_log(read_log([str(log)]))


def report(log: TracedLog, book, by=("model",)):
    rows = priced_rows(log.trace, log.log.requests, book)
    return cost_report(log.trace, rows, touches_of(log.trace), by)


SHARED_TEXT = "A long instruction that every request repeats. " * 200


def test_the_bill_is_the_sum_of_its_parts(tmp_path, book):
    log = traced(
        tmp_path,
        [
            row("a", SHARED_TEXT + "one", anthropic(10, 0, 2000, 100)),
            row("b", SHARED_TEXT + "two", anthropic(20, 2000, 0, 100), second=5),
        ],
    )
    bill = report(log, book).bills["USD"]
    # claude-opus-5: 5 in, 25 out, 0.5 read, 6.25 written for 5 minutes.
    assert bill.paid == (30 * 5 + 2000 * D("0.5") + 2000 * D("6.25") + 200 * 25) / 1_000_000
    assert bill.without_cache == D(4030 * 5 + 200 * 25) / 1_000_000
    assert bill.read_saving == 2000 * D("4.5") / 1_000_000
    assert bill.write_premium == 2000 * D("1.25") / 1_000_000
    assert bill.saving == bill.read_saving - bill.write_premium
    assert bill.written_tokens == {300: 2000, 3600: 0}


def test_possible_reads_what_repeats_and_writes_it_once(tmp_path, book):
    usage = anthropic(2000, 0, 0, 10)
    log = traced(tmp_path, [row(f"r{n}", f"{SHARED_TEXT}{n}", usage, second=n) for n in range(4)])
    bill = report(log, book).bills["USD"]
    assert bill.possible_read_tokens is not None
    shared = bill.possible_read_tokens // 3
    assert 1500 < shared < 2000
    expected = 3 * shared * D("0.5") + shared * D("6.25") + (8000 - 4 * shared) * 5 + 40 * 25
    assert abs(bill.possible * 1_000_000 - expected) < 10
    assert bill.possible < bill.paid == bill.without_cache


def test_many_hits_on_cheap_prompts_deceive_nobody(tmp_path, book):
    cheap = [row(f"c{n}", f"hi {n}", anthropic(100, 900, 0, 1), "claude-haiku-5-5", n) for n in range(9)]
    dear = row("d", "long", anthropic(90_000, 0, 0, 1), "claude-opus-5", 20)
    rates = report(traced(tmp_path, [*cheap, dear]), book).bills["USD"].hit_rates
    assert rates.requests == 0.9
    assert rates.tokens == pytest.approx(8100 / 99_000)
    assert rates.money == pytest.approx(8100 * 0.1 / (9000 * 0.1 + 90_000 * 5))
    assert rates.money < 0.002 < rates.tokens < rates.requests


def test_tier_speed_and_region_come_from_the_row(tmp_path, book):
    usage = anthropic(1_000_000, 0, 0, 0)
    variants = [
        usage,
        {**usage, "service_tier": "batch"},
        {**usage, "speed": "fast"},
        {**usage, "inference_geo": "us"},
    ]
    log = traced(tmp_path, [row(f"r{n}", f"{n}", u, second=n) for n, u in enumerate(variants)])
    rows = priced_rows(log.trace, log.log.requests, book)
    assert [r.rates.cost(r.tokens).total for r in rows] == [D(5), D("2.5"), D(10), D("5.5")]


@pytest.mark.parametrize(
    ("usage", "model", "reason"),
    [
        (None, "claude-opus-5", "the log gives no usage"),
        (anthropic(1, 0, 0, 0), "some-model", "no price for some-model"),
        ({"prompt_tokens": 10, "completion_tokens": 1}, "gpt-4.1", "does not state cached tokens"),
        (
            {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
            "gpt-6.1-sol",
            "does not state written tokens",
        ),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0}}, "gpt-4.1", "output tokens"),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 1,
                "total_tokens": 11,
                "prompt_tokens_details": {"cached_tokens": 90},
            },
            "gpt-4.1",
            "more tokens cached than sent",
        ),
    ],
)
def test_what_is_not_known_is_left_out_and_counted(tmp_path, book, usage, model, reason):
    provider = "anthropic" if model.startswith("claude") else "openai"
    result = report(traced(tmp_path, [row("a", "hello", usage, model, provider=provider)]), book)
    assert not result.bills
    assert len(result.unknown) == 1
    assert reason in next(iter(result.unknown))
    assert result.unpriced == ("no price" in reason)


def test_unlike_currencies_are_never_added(tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("a: {input: 1, output: 1, currency: USD}\nb: {input: 7, output: 7, currency: CNY}\n")
    usage = {"prompt_tokens": 1000, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}
    rows = [row("1", "x", usage, "a", provider="p"), row("2", "y", usage, "b", second=1, provider="p")]
    result = report(traced(tmp_path, rows), load_price_book([prices]))
    assert {currency: bill.paid for currency, bill in result.bills.items()} == {
        "CNY": D("0.007"),
        "USD": D("0.001"),
    }
    assert list(result.groups["model"]["b"]) == ["CNY"]


def test_groups_add_up_to_the_whole(tmp_path, book):
    rows = [
        row(f"r{n}", f"{n}", anthropic(n, 0, 0, n), ["claude-opus-5", "claude-haiku-5-5"][n % 2], n)
        for n in range(9)
    ]
    log = traced(tmp_path, rows)
    route = Names(np.array([n % 3 for n in range(9)], np.int32), ["chat", "search", "sum"])
    log = replace(log, trace=replace(log.trace, requests=replace(log.trace.requests, route=route)))
    result = report(log, book, ("model", "route"))
    for groups in result.groups.values():
        assert sum(bills["USD"].paid for bills in groups.values()) == result.bills["USD"].paid
    assert list(result.groups["route"]) == ["chat", "search", "sum"]


@needs_shared
def test_gemini_rows_without_a_cached_count_mean_zero_where_others_carry_it(book):
    log = trace_log(read_log([str(SHARED / "cases/17-response-schema-changes/requests.jsonl")]))
    assert not [r for r in priced_rows(log.trace, log.log.requests, book) if r.unknown]


@needs_shared
def test_a_transcript_that_repeats_its_usage_is_billed_once(book):
    folder = SHARED / "cases/30-transcript-rows-repeat-usage"
    log = trace_log(read_log([str(path) for path in sorted(folder.glob("*.jsonl"))]))
    bill = report(log, book).bills["USD"]
    assert bill.requests == 3
    assert (bill.uncached_tokens, sum(bill.written_tokens.values())) == (8, 2550)
    assert (bill.read_tokens, bill.output_tokens) == (154_500, 331)


def test_lost_tokens_cost_the_difference_of_input_and_read_price(tmp_path, book):
    rows = [
        row("a", "x", anthropic(10, 0, 0, 1)),
        row("b", "y", anthropic(10, 0, 0, 1), "some-model", 1),
        row("c", "z", anthropic(10, 0, 0, 1), "claude-haiku-5-5", 2),
    ]
    log = traced(tmp_path, rows)
    priced = priced_rows(log.trace, log.log.requests, book)
    losses = price_losses(priced, [0, 1, 2], [1000, 5000, 200])
    assert losses.money == {"USD": (1000 * D("4.5") + 200 * D("0.09")) / 1_000_000}
    assert losses.unpriced == 1


@needs_shared
def test_rows_without_a_cache_field_are_no_misses(book):
    log = trace_log(read_log([str(SHARED / "cases/32-missing-field-is-not-zero/usage.jsonl")]))
    result = report(log, book)
    assert result.bills["USD"].hit_rates.tokens == 0.4
    assert sum(result.unknown.values()) == 2


def units_book(tmp_path, model: str):
    """Prices of 1 for a million input tokens, so that money is the cost in input-price tokens."""
    prices = tmp_path / "units.yaml"
    prices.write_text(f"{model}: {{input: 1, output: 0, read: 0.1, write5m: 1.25, write1h: 2}}\n")
    return load_price_book([prices])


@needs_shared
def test_one_hour_would_have_paid_before_caching_was_on(tmp_path):
    log = trace_log(read_log([str(SHARED / "cases/43-estimate-before-turning-it-on/requests.jsonl")]))
    book = units_book(tmp_path, "claude-sonnet-4-5")
    rows = priced_rows(log.trace, log.log.requests, book)
    touches = touches_of(log.trace)
    (choice,) = lifetime_choices(log.trace, touches, rows, {})
    whole = choice.top[0]
    five, hour = whole.options
    assert (five.writes, five.reads, hour.writes, hour.reads) == (3, 9, 1, 11)
    assert choice.best_ttl_s == whole.best_ttl_s == 3600
    # Counted tokens scaled to the logged prompt: within 1 % of the 3,007 tokens of the stable part.
    tokens = five.written_tokens // 3
    assert tokens == pytest.approx(3007, rel=0.01)
    assert float(1 - five.cost / whole.without) == pytest.approx(0.6125)
    assert float(1 - hour.cost / whole.without) == pytest.approx(0.7417, abs=1e-4)
    (outlook,) = forecast(log.trace, touches, rows, [choice])
    assert outlook.prompt_best < outlook.prompt_careful < outlook.prompt_without
    assert outlook.prompt_without * 1_000_000 == 12 * 3111


@needs_shared
def test_a_parallel_cold_start_wrote_four_times_for_nothing(tmp_path):
    log = trace_log(read_log([str(SHARED / "cases/26-parallel-cold-start/requests.jsonl")]))
    rows = priced_rows(log.trace, log.log.requests, units_book(tmp_path, "claude-sonnet-4-5"))
    warm = prewarming(log.trace, touches_of(log.trace), rows)
    (burst,) = warm.bursts
    assert [log.trace.requests.request_id[r] for r in burst.rows] == ["r1", "r2", "r3", "r4", "r5"]
    assert burst.needless == 4
    assert burst.saving * 1_000_000 == burst.needless * burst.tokens * D("1.15")
    assert burst.tokens == pytest.approx(5007, rel=0.01)


def test_keeping_a_prefix_warm_pays_while_reads_are_cheaper_than_a_write(tmp_path):
    minutes = [0, 20, 40, 200]
    rows = [
        {
            **row(f"r{n}", f"{SHARED_TEXT}{n}", anthropic(2000, 0, 0, 1)),
            "timestamp": f"2026-11-25T{12 + m // 60}:{m % 60:02d}:00Z",
        }
        for n, m in enumerate(minutes)
    ]
    log = traced(tmp_path, rows)
    priced = priced_rows(log.trace, log.log.requests, units_book(tmp_path, "claude-opus-5"))
    keep = prewarming(log.trace, touches_of(log.trace), priced, minimum_tokens=512).keep[0]
    # 20 minutes cost 3 reads (0.3) against a write less its read (1.15); 160 minutes would cost 31.
    assert (keep.rewrites, keep.pings) == (2, 6)
    assert keep.saving * 1_000_000 == keep.tokens * (2 * D("1.15") - 6 * D("0.1"))
    assert keep.worth_up_to_s == 300 * 12
    assert keep.hours_utc == (12,)
