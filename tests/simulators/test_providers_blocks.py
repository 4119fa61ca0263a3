import pytest

from simulators.providers.replay import Verdict, replay
from simulators.providers.rules import load_rule_book
from simulators.providers.served import Why
from tests.simulators.provider_logs import Sent, trace_of


def played(requests, model="gpt-4.1", provider="openai"):
    return replay(trace_of(requests, model, provider), load_rule_book())


@pytest.mark.parametrize(
    ("shared", "read"), [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (3000, 2944), (5000, 4992)]
)
def test_openai_before_5_6_reads_from_1024_in_steps_of_128(shared, read):
    sizes = {"S": shared}
    result = played([Sent("S a", sizes=sizes), Sent("S b", sizes=sizes, at=5)])
    assert result.read.tolist() == [0, read]
    assert result.why[1] is (Why.NOTHING_MORE if read else Why.BELOW_MINIMUM)


def test_the_last_token_of_an_equal_prompt_is_computed():
    sizes = {"S": 1152}
    result = played([Sent("S", sizes=sizes), Sent("S", sizes=sizes, at=5)])
    assert result.read.tolist() == [0, 1024]


@pytest.mark.parametrize(("gap", "read"), [(599, 1920), (601, 0)])
def test_idle_entries_expire(gap, read):
    result = played([Sent("S a"), Sent("S a", at=gap)], "gpt-4o")
    assert result.read.tolist() == [0, read]
    assert result.why[1] is (Why.NOTHING_MORE if read else Why.EXPIRED)


def test_a_shared_head_outlives_the_tails_behind_it():
    result = played([Sent("S a"), Sent("S b", at=400), Sent("S a", at=800)], "gpt-4o")
    assert result.read[2] == 0
    long = {"S": 1300}
    result = played(
        [Sent("S a", sizes=long), Sent("S b", sizes=long, at=400), Sent("S a", sizes=long, at=800)], "gpt-4o"
    )
    assert (result.read[2], result.why[2]) == (1280, Why.EXPIRED)


def test_requests_in_flight_are_not_readable():
    result = played([Sent("S a", first_token=3), Sent("S a", at=1, first_token=4), Sent("S a", at=5)])
    assert result.read.tolist() == [0, 0, 1920]
    assert result.why[1] is Why.NOT_YET


def test_deepseek_hits_are_whole_units_of_prompt_and_answer():
    conversation = [
        Sent("S a", answer="yes", sizes={"S": 300, "a": 66, "yes": 63}),
        Sent("S a yes b", at=9, sizes={"S": 300, "a": 66, "yes": 63, "b": 15}),
    ]
    assert played(conversation, "deepseek-v4-flash", "deepseek").read.tolist() == [0, 384]
    assert played(conversation, "deepseek-chat", "deepseek").read.tolist() == [0, 384]


@pytest.mark.parametrize(("shared", "read"), [(3000, 2944), (5170, 5120), (6070, 6016), (40, 0)])
def test_deepseek_v3_rounds_to_units_of_64(shared, read):
    sizes = {"S": shared}
    result = played([Sent("S a", sizes=sizes), Sent("S b", sizes=sizes, at=30)], "deepseek-chat", "deepseek")
    assert result.read.tolist() == [0, read]


def test_gemini_needs_4096_tokens_on_its_newer_models():
    sizes = {"S": 4000}
    twice = [Sent("S a", sizes=sizes), Sent("S b", sizes=sizes, at=30)]
    assert played(twice, "gemini-3.8-flash", "gemini").read.tolist() == [0, 0]
    assert played(twice, "gemini-2.5-pro", "gemini").read.tolist() == [0, 4000]


def test_what_the_provider_read_is_set_beside_what_its_rules_allow():
    result = played(
        [
            Sent("S a", usage=(2000, 1920, None)),
            Sent("S a", at=5, usage=(2000, 1920, None)),
            Sent("S a", at=9, usage=(2000, 0, None)),
            Sent("S a", at=12),
        ]
    )
    assert result.verdicts == [Verdict.WARM, Verdict.AGREES, Verdict.PROVIDER_SIDE, Verdict.NOT_LOGGED]
