from dataclasses import replace

import pytest

from simulators.providers.replay import Replay, replay
from simulators.providers.rules import load_rule_book
from simulators.providers.served import Why
from tests.simulators.provider_logs import Sent, trace_of

FIVE, HOUR = 300, 3600


def played(requests, model="claude-opus-5", provider="anthropic") -> Replay:
    return replay(trace_of(requests, model, provider), load_rule_book())


def words(count: int, prefix: str = "m") -> str:
    return " ".join(f"{prefix}{n}" for n in range(count))


def test_a_marker_reads_what_an_earlier_marker_wrote():
    result = played([Sent("S a", {1: FIVE}), Sent("S a b", {2: FIVE}, at=10)])
    assert result.read.tolist() == [0, 2000]
    assert result.written[FIVE].tolist() == [2000, 1000]
    assert result.uncached.tolist() == [0, 0]


def test_equal_text_that_was_never_marked_is_not_read():
    result = played([Sent("S a", {1: FIVE}), Sent("S b", {1: FIVE}, at=10)])
    assert result.read.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("blocks_behind", "hit"), [(0, True), (1, True), (19, True), (20, False), (24, False)]
)
def test_the_look_back_covers_twenty_blocks_with_the_marked_one(blocks_behind, hit):
    first = Sent("S a", {1: FIVE})
    longer = Sent(f"S a {words(blocks_behind)}".strip(), {1 + blocks_behind: FIVE}, at=10)
    result = played([first, longer])
    assert result.read.tolist()[1] == (2000 if hit else 0)
    assert result.why[1] is (Why.NOTHING_MORE if hit else Why.LOOKBACK)


def test_each_marker_has_a_look_back_of_its_own():
    first = Sent("S a", {0: FIVE, 1: FIVE})
    wide = Sent(f"S a {words(24)}", {0: FIVE, 25: FIVE}, at=10)
    result = played([first, wide])
    assert (result.read[1], result.why[1]) == (1000, Why.LOOKBACK)


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-opus-5-5", 512),
        ("claude-sonnet-4-5", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-haiku-4-5", 4096),
        ("claude-opus-4-6", 4096),
    ],
)
def test_shorter_prefixes_than_the_models_minimum_are_not_cached(model, minimum):
    for size, cached in ((minimum - 1, 0), (minimum, minimum)):
        sizes = {"S": size}
        twice = [Sent("S a", {0: FIVE}, sizes=sizes), Sent("S b", {0: FIVE}, at=5, sizes=sizes)]
        result = played(twice, model)
        assert result.read.tolist() == [0, cached]
        if not cached:
            assert result.why == [Why.BELOW_MINIMUM, Why.BELOW_MINIMUM]


def test_five_markers_cache_nothing():
    five = Sent(words(5), dict.fromkeys(range(5), FIVE))
    result = played([five, replace(five, at=5)])
    assert result.read.tolist() == [0, 0]
    assert set(result.why) == {Why.TOO_MANY_MARKERS}


@pytest.mark.parametrize(("gap", "read"), [(300, 1000), (301, 0)])
def test_an_entry_lives_as_long_as_its_lifetime_from_the_start_of_the_request(gap, read):
    result = played([Sent("S", {0: FIVE}), Sent("S", {0: FIVE}, at=gap)])
    assert result.read.tolist() == [0, read]
    assert result.why[1] is (Why.NOTHING_MORE if read else Why.EXPIRED)


def test_a_read_restarts_the_lifetime():
    every_four_minutes = [Sent("S", {0: FIVE}, at=240 * n) for n in range(5)]
    result = played(every_four_minutes)
    assert result.read.tolist() == [0, 1000, 1000, 1000, 1000]
    assert sum(result.written[FIVE]) == 1000


def test_one_hour_entries_outlive_five_minute_ones():
    first = Sent("S a", {0: HOUR, 1: FIVE})
    result = played([first, replace(first, at=900)])
    assert result.read.tolist() == [0, 1000]
    assert (result.written[HOUR].tolist(), result.written[FIVE].tolist()) == ([1000, 0], [1000, 1000])


def test_mixed_lifetimes_are_billed_up_to_the_last_marker_of_each():
    result = played([Sent("T S a b", {0: HOUR, 1: HOUR, 3: FIVE})])
    assert (result.written[HOUR][0], result.written[FIVE][0], result.uncached[0]) == (2000, 2000, 0)


def test_what_stands_behind_the_last_marker_is_uncached():
    result = played([Sent("S a tail", {1: FIVE}), Sent("S a other", {1: FIVE}, at=3)])
    assert result.uncached.tolist() == [1000, 1000]
    assert result.read.tolist() == [0, 2000]


def test_parallel_requests_all_write_and_the_next_one_reads():
    burst = [Sent("S", {0: FIVE}, at=0.04 * n, first_token=1.8) for n in range(5)]
    result = played([*burst, Sent("S", {0: FIVE}, at=10)])
    assert result.read.tolist() == [0, 0, 0, 0, 0, 1000]
    assert result.written[FIVE].tolist() == [1000] * 5 + [0]
    assert result.why[1] is Why.NOT_YET


def test_gpt_5_6_reads_only_where_a_breakpoint_stood():
    fixed_head = [Sent("D ask1"), Sent("D ask2", at=60), Sent("D ask3", at=120)]
    result = played(fixed_head, "gpt-5.6-sol", "openai")
    assert result.read.tolist() == [0, 0, 0]
    assert result.written[1800].tolist() == [2000, 2000, 2000]
    marked = [replace(sent, marked={0: 1800}, sizes={"D": 1100}) for sent in fixed_head]
    assert played(marked, "gpt-5.6-sol", "openai").read.tolist() == [0, 1100, 1100]


def test_gpt_5_6_goes_on_with_a_conversation_from_its_earlier_newest_message():
    turns = [Sent("D ask1"), Sent("D ask1 answer ask2", at=60)]
    result = played(turns, "gpt-5.6-sol", "openai")
    assert result.read.tolist() == [0, 2000]
    assert result.written[1800].tolist() == [2000, 2000]


def test_the_same_log_before_gpt_5_6_reads_the_longest_prefix_in_steps_of_128():
    fixed_head = [Sent("D ask1"), Sent("D ask2", at=60)]
    sizes = {"D": 1100}
    result = played([replace(sent, sizes=sizes) for sent in fixed_head], "gpt-4.1", "openai")
    assert result.read.tolist() == [0, 1024]
    assert result.written == {}


def test_the_logged_figures_of_the_writer_are_what_a_later_hit_reads():
    first = Sent("S a", {1: FIVE}, usage=(2300, 0, 2290))
    second = Sent("S a b", {2: FIVE}, at=10, usage=(3500, 2290, 1200))
    result = played([first, second])
    assert (result.read[1], bool(result.exact[1])) == (2290, True)


def test_without_markers_nothing_is_cached():
    result = played([Sent("S a"), Sent("S a", at=3)])
    assert result.read.tolist() == [0, 0]
    assert result.why == [Why.NO_MARKER, Why.NO_MARKER]


def test_a_longer_lifetime_after_a_shorter_one_caches_nothing():
    wrong = Sent("S a", {0: FIVE, 1: HOUR})
    result = played([wrong, replace(wrong, at=5), replace(wrong, marked={0: HOUR, 1: FIVE}, at=9)])
    assert result.read.tolist() == [0, 0, 0]
    assert result.why == [Why.TTL_ORDER, Why.TTL_ORDER, Why.NOTHING_MORE]
