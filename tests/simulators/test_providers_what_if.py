import pytest

from analyzers.errors import UsageError
from simulators.price_files import load_price_book
from simulators.providers.replay import replay
from simulators.providers.rules import load_rule_book
from simulators.providers.summary import summarise_replay
from simulators.providers.what_if import AS_LOGGED, parse_what_if
from tests.simulators.provider_logs import Sent, trace_of

FIVE, HOUR = 300, 3600
BOOK = load_rule_book()


def played(requests, *words: str, model="claude-opus-5", provider="anthropic"):
    return replay(trace_of(requests, model, provider), BOOK, what_if=parse_what_if(words))


MARKED_ON_WHAT_VARIES = [Sent(f"S rubric answer{n}", {2: FIVE}, at=5 * n) for n in range(4)]


def test_best_markers_stand_where_requests_part():
    assert played(MARKED_ON_WHAT_VARIES).read.tolist() == [0, 0, 0, 0]
    best = played(MARKED_ON_WHAT_VARIES, "markers=best")
    assert best.read.tolist() == [0, 2000, 2000, 2000]
    assert best.written[FIVE].tolist() == [2000, 0, 0, 0]
    assert best.uncached.tolist() == [1000, 1000, 1000, 1000]


def test_best_markers_read_across_a_wide_turn():
    wide = " ".join(f"w{n}" for n in range(24))
    requests = [Sent("S a", {0: FIVE, 1: FIVE}), Sent(f"S a {wide}", {0: FIVE, 25: FIVE}, at=10)]
    assert played(requests).read.tolist() == [0, 1000]
    assert played(requests, "markers=best").read.tolist() == [0, 2000]


def test_best_markers_never_exceed_the_providers_limit():
    branching = [Sent(" ".join(f"m{d}" for d in range(n + 1)) + f" tail{n}", at=n) for n in range(9)]
    from simulators.providers.prompts import PromptMaker

    trace = trace_of(branching)
    rules = BOOK.rules("anthropic", "claude-opus-5")
    policy = parse_what_if(["markers=best"]).marker_policy(trace, rules)
    maker = PromptMaker(trace)
    counts = [len(maker.make(row, rules, policy).markers) for row in range(len(trace))]
    assert max(counts) <= 4
    assert max(counts) > 1


def test_automatic_marks_the_end_of_every_request():
    growing = [Sent("S a"), Sent("S a b", at=5), Sent("S a b c", at=10)]
    assert played(growing).read.tolist() == [0, 0, 0]
    assert played(growing, "automatic").read.tolist() == [0, 2000, 3000]


def test_another_lifetime_for_every_marker():
    slow = [Sent("S", {0: FIVE}), Sent("S", {0: FIVE}, at=900)]
    assert played(slow).read.tolist() == [0, 0]
    hour = played(slow, "ttl=1h")
    assert hour.read.tolist() == [0, 1000]
    assert hour.written[HOUR].tolist() == [1000, 0]


def test_another_model_brings_its_own_minimum():
    twice = [Sent("S", {0: FIVE}), Sent("S", {0: FIVE}, at=5)]
    assert played(twice).read.tolist() == [0, 1000]
    assert played(twice, "model=claude-haiku-4-5").read.tolist() == [0, 0]


def test_the_writers_logged_lengths_do_not_hold_for_other_markers():
    logged = [Sent(f"S t{n}", {1: FIVE}, at=n, usage=(2000, 0, 2000)) for n in range(3)]
    best = played(logged, "markers=best")
    assert best.read.tolist() == [0, 1000, 1000]


def test_the_writers_logged_lengths_do_not_hold_for_another_layout():
    logged = [
        Sent("S a", {1: FIVE}, usage=(2000, 0, 1900)),
        Sent("S a b", {1: FIVE}, at=5, usage=(3000, 1900, 0)),
    ]
    assert played(logged).read.tolist() == [0, 1900]
    fixed = played(logged, "layout=fixed")
    assert fixed.read.tolist() == [0, 2000]


def test_what_a_change_costs_is_priced():
    prices = load_price_book()
    bills = [
        summarise_replay(trace, replay(trace, BOOK, what_if=parse_what_if(words)), prices).bills["USD"]
        for trace in [trace_of(MARKED_ON_WHAT_VARIES)]
        for words in ([], ["markers=best"])
    ]
    # claude-opus-5 at 5 in, 0.5 read, 6.25 written: 4 x 3000 written, against 2000 written once and read 3 times.
    assert [float(bill.paid) for bill in bills] == pytest.approx(
        [0.075, (2000 * 6.25 + 6000 * 0.5 + 4000 * 5) / 1e6]
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["markers=all"], "'markers=all' is no what-if"),
        (["ttl=soon"], "'ttl=soon' is no what-if"),
        (["automatic", "markers=best"], "choose one"),
    ],
)
def test_other_words_are_refused(words, complaint):
    with pytest.raises(UsageError, match=complaint):
        parse_what_if(words)


def test_a_lifetime_the_provider_does_not_know_is_refused():
    with pytest.raises(UsageError, match="has no lifetime of 43200 s"):
        played([Sent("S", {0: FIVE})], "ttl=12h")


def test_no_words_change_nothing():
    assert parse_what_if([]) == AS_LOGGED
