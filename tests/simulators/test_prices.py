import json
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.errors import InputError
from analyzers.usage import normalise_usage
from simulators.price_files import OVERLAY, load_price_book, load_price_file
from simulators.prices import Call, PriceBook, Rates, Tokens, UnknownPriceError
from tests.shared_folder import SHARED, needs_shared

NOVEMBER = datetime(2026, 11, 25, 12, tzinfo=UTC)
D = Decimal


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return load_price_book()


def cost(
    book: PriceBook, model: str, provider: str | None, tokens: Tokens, moment=NOVEMBER, **aspects
) -> Decimal:
    call = Call(model, provider, moment, tokens.prompt, **aspects)
    return book.rates(call).cost(tokens).total


def per_mtok(**rates: str | dict[int, str]) -> Rates:
    written = {ttl: D(rate) for ttl, rate in (rates.pop("written", None) or {}).items()}
    return Rates(**{kind: D(rate) for kind, rate in rates.items()}, written=written)


def test_a_hundred_calls_that_share_most_of_their_prompt():
    rates = per_mtok(input="1", read="0.1", output="2")
    whole, hit = Tokens(10_000, output=500), Tokens(2_000, read=8_000, output=500)
    without = 100 * rates.cost(whole).total
    assert without == D("1.10")
    assert rates.cost(whole).total + 99 * rates.cost(hit).total == D("0.3872")
    charged = per_mtok(input="1", read="0.1", output="2", written={300: "1.25"})
    first = charged.cost(Tokens(2_000, written={300: 8_000}, output=500)).total
    assert first + 99 * charged.cost(hit).total == D("0.3892")


def test_a_long_system_prompt_at_three_and_fifteen_dollars():
    rates = per_mtok(input="3", read="0.3", output="15", written={300: "3.75"})
    assert rates.cost(Tokens(24_000, output=512)).total == D("0.07968")
    assert rates.cost(Tokens(4_000, read=20_000, output=512)).total == D("0.02568")
    assert rates.cost(Tokens(4_000, written={300: 20_000}, output=512)).total == D("0.09468")
    assert 1_000_000 * rates.cost(Tokens(15_000, output=256)).total == D("48840")


@pytest.mark.parametrize("provider", ["anthropic", "openai", "my-gateway", None])
@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("eu.anthropic.claude-opus-5-5-v1:0", "0.0572"),
        ("us.anthropic.claude-opus-5-5-v1:0", "0.0572"),
        ("global.anthropic.claude-opus-5-5-v1:0", "0.052"),
        ("anthropic.claude-opus-5-5-v1:0", "0.0572"),
        ("bedrock/converse/eu.anthropic.claude-opus-5-5-v1:0", "0.0572"),
    ],
)
def test_an_id_that_only_bedrock_gives_out_has_bedrocks_price_whatever_api_is_spoken(
    book, provider, model, price
):
    tokens = Tokens(1_000, 20_000, {300: 2_000, 3600: 3_000}, 500)
    assert cost(book, model, provider, tokens) == D(price)


@pytest.mark.parametrize(
    "model", ["eu.claude-opus-5-5", "my.anthropic.claude-opus-5-5", "europe.anthropic.x"]
)
def test_what_only_looks_like_an_id_of_bedrock_has_no_price(book, model):
    with pytest.raises(UnknownPriceError):
        book.rates(Call(model, "my-gateway", NOVEMBER))


def test_opus_with_both_lifetimes_batch_and_region(book):
    tokens = Tokens(1_000, 20_000, {300: 2_000, 3600: 3_000}, 500)
    assert cost(book, "claude-opus-5-5", "anthropic", tokens) == D("0.052")
    assert cost(book, "claude-opus-5-5", "anthropic", tokens, tier="batch") == D("0.026")
    assert cost(book, "us.anthropic.claude-opus-5-5-v1:0", "bedrock", tokens) == D("0.0572")
    assert cost(book, "global.anthropic.claude-opus-5-5-v1:0", "bedrock", tokens) == D("0.052")
    assert cost(book, "claude-opus-5-5", "anthropic", tokens, region="us") == D("0.0572")
    assert cost(book, "claude-opus-5-5", "anthropic", tokens, speed="fast") == D("0.104")


def test_gpt_writes_by_lifetime_and_the_cliff_above_272k(book):
    tokens = Tokens(1_000, 15_000, {1800: 1_000, 43200: 3_000}, 500)
    assert cost(book, "gpt-6.1-sol", "openai", tokens) == D("0.026")
    assert cost(book, "gpt-6.1-sol", "openai", Tokens(20_000, 270_000, {1800: 10_000}, 500)) == D("0.1915")
    assert cost(book, "gpt-5.5", "openai", Tokens(5_000, 15_000, output=500)) == D("0.0475")
    assert cost(book, "gpt-6.1-sol", "openai", tokens, tier="flex") == D("0.013")
    assert cost(book, "gpt-6.1-sol", "openai", tokens, tier="ultrafast") == D("0.156")


def test_gemini_implicit_reads(book):
    tokens = Tokens(10_000, 40_000, output=800)
    assert cost(book, "gemini-3.1-pro-preview", "google", tokens) == D("0.0376")
    storage = book.rates(Call("gemini-3.1-pro-preview", "gemini", NOVEMBER)).storage_hour
    assert storage == D("4.50")


def test_gemini_batch_halves_input_and_output_but_not_reads(book):
    tokens = Tokens(10_000, 40_000, output=800)
    expected = D("0.010") + D("0.008") + D("0.0048")
    assert cost(book, "gemini-3.1-pro-preview", "google", tokens, tier="batch") == expected
    assert (
        cost(book, "gemini-3.1-pro-preview", "google", tokens, datetime(2026, 9, 1, tzinfo=UTC), tier="batch")
        == expected
    )


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 11, 25, 2, tzinfo=UTC), "0.001248"),
        (datetime(2026, 11, 25, 5, tzinfo=UTC), "0.000624"),
        (datetime(2026, 11, 25, 6, tzinfo=UTC), "0.001248"),
        (datetime(2026, 11, 25, 10, tzinfo=UTC), "0.000624"),
        (datetime(2026, 11, 28, 2, tzinfo=UTC), "0.000624"),
        (datetime(2026, 11, 29, 7, tzinfo=UTC), "0.000624"),
        (datetime(2026, 10, 1, 7, tzinfo=UTC), "0.000624"),
    ],
)
def test_deepseek_is_dearer_in_peak_hours_of_working_days(book, moment, expected):
    assert cost(book, "deepseek-flash", "deepseek", Tokens(2_000, 8_000, output=500), moment) == D(expected)


def test_an_hourly_price_without_a_time_is_unknown(book):
    with pytest.raises(UnknownPriceError, match="by the hour"):
        cost(book, "deepseek-flash", "deepseek", Tokens(10), moment=None)


def test_a_context_tier_is_a_cliff_on_the_whole_request(book):
    below = cost(book, "claude-haiku-5-5", "anthropic", Tokens(10_000, 90_000, output=100))
    above = cost(book, "claude-haiku-5-5", "anthropic", Tokens(10_001, 90_000, output=100))
    assert below == D("0.00195")
    assert above == D("0.0097505")
    assert above.quantize(D("0.000001"), ROUND_HALF_UP) == D("0.009751")


def test_a_price_change_holds_from_its_day(book):
    million = Tokens(0, 1_000_000)
    assert cost(
        book, "claude-sonnet-5-5", "anthropic", million, datetime(2026, 10, 6, 23, 59, tzinfo=UTC)
    ) == D("0.2")
    assert cost(book, "claude-sonnet-5-5", "anthropic", million, datetime(2026, 10, 7, tzinfo=UTC)) == D(
        "0.1"
    )
    argon = Tokens(1_000_000)
    assert cost(book, "gemini-4-argon", "gemini", argon, datetime(2026, 11, 30, 23, tzinfo=UTC)) == D("2")
    assert cost(book, "gemini-4-argon", "gemini", argon, datetime(2026, 12, 1, tzinfo=UTC)) == D("4")


@pytest.mark.parametrize(
    ("model", "provider", "tokens", "aspects", "reason"),
    [
        ("glm-x", "some-gateway", Tokens(10), {}, "no price for glm-x on some-gateway"),
        ("claude-opus-5-5", "anthropic", Tokens(10), {"tier": "priority"}, "no tier price 'priority'"),
        ("gpt-4.1", "openai", Tokens(10), {"speed": "fast"}, "no speed price 'fast'"),
        ("gpt-6.2-astra", "openai", Tokens(10, output=1), {}, "no output price"),
        ("gpt-6.1-sol", "openai", Tokens(10, written={3600: 5}), {}, "writes that live 3600 s"),
        ("claude-opus-5-5", "anthropic", Tokens(10, written={43200: 5}), {}, "writes that live 43200 s"),
    ],
)
def test_what_nobody_states_is_unknown(book, model, provider, tokens, aspects, reason):
    with pytest.raises(UnknownPriceError, match=reason):
        cost(book, model, provider, tokens, **aspects)


def test_written_tokens_without_a_lifetime_cost_the_shortest_one(book):
    assert cost(book, "claude-opus-4-5", "anthropic", Tokens(0, written={0: 1_000_000})) == D("6.25")
    assert cost(book, "gpt-6.1-sol", "openai", Tokens(0, written={0: 100_000})) == D("0.25")
    assert cost(book, "gpt-4.1", "openai", Tokens(0, written={0: 1_000_000})) == D("2")


def test_the_price_of_a_routed_call_equals_what_the_router_charged(book):
    usage = normalise_usage(
        {
            "prompt_tokens": 2572,
            "completion_tokens": 63,
            "cost": 0.01058775,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 2569},
        }
    )
    tokens = Tokens(usage.uncached_tokens, usage.read_tokens, usage.written, usage.output_tokens)
    assert cost(book, "anthropic/claude-sonnet-4.5", "openrouter", tokens) == usage.reported_cost


def test_a_users_list_replaces_the_bundled_one_and_a_patch_changes_it(tmp_path):
    whole = tmp_path / "mine.yaml"
    whole.write_text("gpt-6.1-sol: {input: 1.5, output: 6.5, read: 0.05, write30m: 1.6}\n")
    book = load_price_book([whole])
    tokens = Tokens(1_000_000)
    assert cost(book, "gpt-6.1-sol", "openai", tokens) == D("1.5")
    assert cost(book, "gpt-6.1-sol", "openai", tokens, tier="batch") == D("0.75")
    assert cost(book, "gpt-6.1-sol", "openai", Tokens(0, written={43200: 1_000_000})) == D("3.75")
    patch = tmp_path / "patch.yaml"
    patch.write_text("prices: [{models: ['gpt-6.1-*'], per_mtok: {read: 0.07}}]\n")
    patched = load_price_book([patch])
    assert cost(patched, "gpt-6.1-sol", "openai", Tokens(0, 1_000_000 // 10)) == D("0.007")
    assert cost(patched, "gpt-6.1-sol", "openai", Tokens(100_000)) == D("0.2")


def test_a_litellm_file_gives_tiers_lifetimes_and_context_prices(tmp_path):
    file = tmp_path / "litellm.json"
    file.write_text(
        json.dumps(
            {
                "sample_spec": {"input_cost_per_token": 0},
                "claude-x": {
                    "litellm_provider": "anthropic",
                    "input_cost_per_token": 3e-06,
                    "output_cost_per_token": 1.5e-05,
                    "cache_read_input_token_cost": 3e-07,
                    "cache_creation_input_token_cost": 3.75e-06,
                    "cache_creation_input_token_cost_above_1hr": 6e-06,
                    "input_cost_per_token_above_200k_tokens": 6e-06,
                    "input_cost_per_token_batches": 1.5e-06,
                    "max_tokens": 8192,
                },
            }
        )
    )
    book = load_price_book([file])
    assert cost(book, "claude-x", None, Tokens(1_000, 1_000, {300: 1_000, 3600: 1_000}, 1_000)) == D(
        "0.02805"
    )
    assert cost(book, "claude-x", None, Tokens(200_001)) == D("1.200006")
    assert cost(book, "claude-x", None, Tokens(1_000), tier="batch") == D("0.0015")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[1, 2]", "holds no prices"),
        ("m: {output: 3}", "has no input price"),
        ("m: {input: 3, ouput: 4}", "'ouput' is no price"),
        ("m: {input: -3}", "not negative"),
        ("m: {input: 3, write2x: 4}", "'2x' is no lifetime"),
        ("m: {input: 3, per: token}", "per '1M tokens'"),
        ("prices: [{models: [m], per_mtok: {inputs: 3}}]", "unknown field `inputs`"),
        ("prices: [{models: [m]}]", "needs one of"),
        ("prices: [{models: [m], hours: ['01:07-02:00'], per_mtok: {input: 3}}]", "quarter of an hour"),
        ("prices: [{models: [m], weekdays: [mo], per_mtok: {input: 3}}]", "'mo' is no weekday"),
        ("prices: [", "cannot be read"),
        ("m: !!python/object/apply:os.system [ls]", "cannot be read"),
    ],
)
def test_a_wrong_price_file_is_refused_with_its_name(tmp_path, text, complaint):
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=complaint) as refused:
        load_price_file(file)
    assert str(file) in str(refused.value)


def test_every_overlay_entry_is_dated_by_a_source_and_a_confidence():
    rules = load_price_file(OVERLAY)
    assert len(rules) > 15
    assert all(rule.source and rule.confidence in ("A", "B", "C", "D") for rule in rules)
    assert date(2027, 1, 1) in {rule.end for rule in rules}


amounts = st.decimals(0, 100, places=4)
counts = st.integers(0, 10**7)


@given(amounts, amounts, amounts, amounts, amounts, counts, counts, counts, counts, counts)
def test_the_billing_formula_holds_to_the_last_digit(p, r, w5, w1, q, u, read, five, hour, out):
    rates = Rates(p, q, r, {300: w5, 3600: w1})
    money = rates.cost(Tokens(u, read, {300: five, 3600: hour}, out))
    assert money.total * 1_000_000 == u * p + read * r + five * w5 + hour * w1 + out * q


@needs_shared
@pytest.mark.parametrize(
    ("case", "row", "model", "expected"),
    [
        ("28-cached-is-inside-input", 0, "gpt-4.1", "0.02128"),
        ("28-cached-is-inside-input", 1, "gpt-4.1", "0.02128"),
        ("29-creation-charged-twice", 0, "claude-sonnet-4-5", "0.041568"),
        ("29-creation-charged-twice", 1, "anthropic/claude-sonnet-4-5", "0.041568"),
        ("31-one-hour-writes-priced-as-five-minute", 0, "claude-opus-4-5", "0.28405"),
    ],
)
def test_the_accounting_cases_cost_what_their_own_price_lists_say(book, case, row, model, expected):
    folder = SHARED / "cases" / case
    usage = normalise_usage(json.loads((folder / "usage.jsonl").read_text().splitlines()[row])["usage"])
    tokens = Tokens(usage.uncached_tokens, usage.read_tokens, usage.written or {}, usage.output_tokens)
    theirs = load_price_book([folder / "prices.json"])
    assert cost(theirs, model, None, tokens) == D(expected)
    assert cost(book, model, None, tokens) == D(expected)
