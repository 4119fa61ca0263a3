from dataclasses import replace
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from simulators.cost import PricedRow
from simulators.explicit_caches import break_even_hits_per_hour, explicit_caches
from simulators.lifetimes import lifetime_choices
from simulators.price_files import load_price_book
from simulators.prices import Call, Rates
from simulators.providers.replay import replay
from simulators.providers.rules import load_rule_book
from simulators.touches import touches_of
from tests.simulators.provider_logs import Sent, trace_of

D = Decimal
RATES = Rates(D(1), D(0), D("0.1"), {300: D("1.25"), 3600: D(2)})
WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=5)


def priced(count: int) -> list[PricedRow]:
    return [PricedRow(row, None, RATES, "not billed") for row in range(count)]


def log(prompts: list[list[str]], gaps: list[int]) -> list[Sent]:
    """Requests that share beginnings and end each in a word of their own."""
    at = 0
    requests = []
    for number, words in enumerate(prompts):
        at += gaps[number % len(gaps)]
        requests.append(Sent(" ".join([*words, f"own{number}"]), at=at, sizes=dict.fromkeys("abc", 7)))
    return requests


@settings(max_examples=60, deadline=None)
@given(
    st.lists(WORDS, min_size=2, max_size=9),
    st.lists(st.sampled_from([1, 200, 400, 4000]), min_size=1, max_size=5),
)
def test_the_reads_of_a_lifetime_are_those_of_a_cache_played_request_by_request(prompts, gaps):
    trace = trace_of(log(prompts, gaps), "gpt-4o", "openai")
    choices = lifetime_choices(trace, touches_of(trace), priced(len(trace)), {})
    book = load_rule_book()
    for place, ttl in enumerate((300, 3600)):
        rules = replace(
            book.rules("openai", "gpt-4o"), lifetimes={ttl: D(1)}, minimum_tokens=0, unit_tokens=1
        )
        played = replay(trace, _OneRule(rules))
        found = sum(choice.options[place].read_tokens for choice in choices)
        assert found == int(played.read.sum())


class _OneRule:
    """A rule book with the same rules for everything."""

    def __init__(self, rules):
        self._rules = rules

    def rules(self, provider, model):
        return self._rules


@settings(max_examples=60, deadline=None)
@given(
    st.lists(WORDS, min_size=2, max_size=9),
    st.lists(st.sampled_from([1, 200, 400, 4000]), min_size=1, max_size=5),
)
def test_the_best_for_each_prefix_is_never_dearer_than_one_for_all(prompts, gaps):
    trace = trace_of(log(prompts, gaps))
    for choice in lifetime_choices(trace, touches_of(trace), priced(len(trace)), {}, top=100):
        assert choice.best_each <= min(choice.without, *(option.cost for option in choice.options))
        assert choice.best_each == sum(prefix.without - prefix.saving for prefix in choice.top)
        assert choice.without == sum(prefix.without for prefix in choice.top)


def test_an_hour_pays_when_gaps_are_between_five_minutes_and_an_hour():
    requests = [Sent(f"S own{n}", at=900 * n) for n in range(4)]
    trace = trace_of(requests)
    (choice,) = lifetime_choices(trace, touches_of(trace), priced(4), {})
    assert [(o.writes, o.reads) for o in choice.options] == [(4, 0), (1, 3)]
    assert choice.best_ttl_s == 3600
    (rare,) = lifetime_choices(*_shared_every(7200), priced(4), {})
    assert rare.best_ttl_s is None
    assert rare.best_each == rare.without


def _shared_every(seconds: int):
    trace = trace_of([Sent(f"S own{n}", at=seconds * n) for n in range(4)])
    return trace, touches_of(trace)


def test_a_kept_object_pays_from_two_and_a_half_hits_an_hour_on():
    rates = load_price_book().rates(Call("gemini-3.1-pro-preview", "gemini"))
    assert break_even_hits_per_hour(rates) == D("2.5")
    assert break_even_hits_per_hour(RATES) is None


def test_an_objects_net_turns_with_its_break_even():
    rates = replace(RATES, read=D("0.1"), storage_hour=D("1.8"), written={})
    for gap_s, pays in ((900, True), (3000, False)):
        trace = trace_of([Sent(f"S own{n}", at=gap_s * n, sizes={"S": 5000}) for n in range(40)])
        rows = [PricedRow(row, None, rates, None) for row in range(40)]
        (cache,) = explicit_caches(trace, touches_of(trace), rows)
        assert cache.break_even_hits_per_hour == 2
        assert (cache.hits_per_hour > 2) is pays
        assert (cache.net_per_hour > 0) is pays
