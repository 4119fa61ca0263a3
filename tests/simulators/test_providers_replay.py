"""The replay beside real and written logs: recorded provider answers, agent sessions, public cache reports."""

import glob
import json
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from analyzers import tokenization
from analyzers.errors import CannotEvaluateError, InputError
from analyzers.logs import read_log
from analyzers.pipeline import trace_log
from simulators.price_files import load_price_book
from simulators.providers.replay import Replay, Verdict, replay
from simulators.providers.rules import Matching, load_rule_book
from simulators.providers.served import Why
from simulators.providers.summary import replayed_requests, summarise_replay
from simulators.providers.what_if import parse_what_if
from tests.shared_folder import SHARED, needs_shared
from tests.simulators.provider_logs import Sent, trace_of

BOOK = load_rule_book()


@pytest.fixture(autouse=True, scope="module")
def one_tokenizer_for_all_logs():
    """Loading a vocabulary takes most of a second, and there are a hundred small logs here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenization, "load_tokenizer", cache(tokenization.load_tokenizer))
        yield


@cache
def replayed(path: Path):
    traced = trace_log(read_log([glob.escape(str(path))]))
    return traced, replay(traced.trace, BOOK, traced.log.requests)


def of_case(name: str) -> tuple:
    (folder,) = (SHARED / "cases").glob(f"{name}-*")
    return replayed(next(folder.glob("*s*.jsonl")))


def cassettes() -> list[tuple]:
    found = []
    for path in sorted(SHARED.glob("data/vcr_*/**/*.yaml")):
        try:
            found.append(replayed(path))
        except (InputError, CannotEvaluateError):
            continue
    return found


@needs_shared
@pytest.mark.parametrize(
    "case", ["03", "04", "11", "12", "13", "14", "16", "18", "19", "21", "23", "26", "27", "43"]
)
def test_every_request_of_a_public_report_is_reproduced(case):
    _, result = of_case(case)
    assert set(result.verdicts) == {Verdict.AGREES}


@needs_shared
@pytest.mark.parametrize(
    ("case", "request_id", "why"),
    [
        ("11", "r2", Why.LOOKBACK),
        ("12", "r1", Why.BELOW_MINIMUM),
        ("16", "r2", Why.PARAMETER),
        ("26", "r5", Why.NOT_YET),
        ("27", "r2", Why.ROUTING),
        ("08", "r1", Why.TOO_MANY_MARKERS),
        ("10", "r1", Why.TTL_ORDER),
    ],
)
def test_the_reason_of_a_miss_is_named(case, request_id, why):
    traced, result = of_case(case)
    assert result.why[traced.trace.requests.request_id.index(request_id)] is why


@needs_shared
def test_an_agent_session_reads_what_it_read_and_wrote_before():
    chained = total = 0
    for path in sorted((SHARED / "data/claude_code_sessions").glob("*/*.jsonl")):
        traced, result = replayed(path)
        usage = traced.trace.requests
        assert result.verdicts[0] is Verdict.WARM
        assert all(verdict is Verdict.AGREES for verdict in result.verdicts[1:])
        for row in range(1, len(traced.trace)):
            total += 1
            chained += int(result.read[row]) == int(usage.usage_read[row - 1] + usage.usage_written[row - 1])
            assert result.exact[row]
    assert total > 60
    assert chained == total


@needs_shared
def test_recorded_answers_with_breakpoints_agree_wherever_the_log_determines_them():
    agreed = 0
    for traced, result in cassettes():
        if all(rules.matching is not Matching.BREAKPOINTS for rules in result.rules):
            continue
        for request in replayed_requests(traced.trace, result):
            if not request.exact or request.verdict in (Verdict.WARM, Verdict.NOT_LOGGED):
                continue
            assert request.verdict is Verdict.AGREES, request
            if request.logged_written is not None:
                assert abs(sum(request.written.values()) - request.logged_written) <= 6, request
            agreed += 1
    assert agreed >= 25


@needs_shared
def test_recorded_automatic_caches_never_read_less_than_their_rules_but_for_routing():
    judged = [
        (traced.trace.requests.model.of(row), verdict)
        for traced, result in cassettes()
        for row, (verdict, exact) in enumerate(zip(result.verdicts, result.exact, strict=True))
        if exact
        and verdict in (Verdict.AGREES, Verdict.PROVIDER_SIDE)
        and all(rules.matching is Matching.BLOCKS for rules in result.rules)
    ]
    missed = [model for model, verdict in judged if verdict is Verdict.PROVIDER_SIDE]
    # Three of the recorded pairs of equal prompts, sent seconds apart, did not hit.
    assert len(missed) == 3
    assert len(judged) >= 20


@needs_shared
def test_a_named_cache_object_is_read_whole():
    path = SHARED / "data/vcr_pydantic_ai/cached_hits/models/google/cassettes/test_cache"
    _, result = replayed(path / "test_google_model_cached_content.yaml")
    assert result.read[1] == 3512
    assert bool(result.exact[1])
    assert result.verdicts[1] is Verdict.AGREES
    assert result.read[0] == pytest.approx(3512, abs=8)


@needs_shared
def test_the_money_of_a_marker_on_what_varies_and_of_its_fix(tmp_path):
    prices = tmp_path / "units.yaml"
    prices.write_text("claude-sonnet-4-5: {input: 1, output: 0, read: 0.1, write5m: 1.25, write1h: 2}\n")
    traced, result = of_case("13")
    book = load_price_book([prices])
    now = summarise_replay(traced.trace, result, book, traced.log.requests)
    assert now.logged_bills["USD"].paid * 1_000_000 == Decimal("11483.75")
    assert now.logged_bills["USD"].without_cache * 1_000_000 == 9187
    fixed = replay(traced.trace, BOOK, traced.log.requests, what_if=parse_what_if(["markers=best"]))
    bill = summarise_replay(traced.trace, fixed, book, traced.log.requests).bills["USD"]
    assert float(bill.paid) * 1e6 == pytest.approx(4879.9, rel=0.01)


def body(**parameters: object) -> dict[str, object]:
    """An Anthropic request with a marker on its tools, its system prompt and its message."""
    marker = {"cache_control": {"type": "ephemeral"}}
    return {
        "model": "claude-opus-5",
        "max_tokens": 9,
        "tools": [{"name": "look", "description": "look it up " * 400, "input_schema": {}, **marker}],
        "system": [{"type": "text", "text": "be brief " * 900, **marker}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "and so on " * 900, **marker}]}],
        **parameters,
    }


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({}, 3),
        ({"tool_choice": {"type": "any"}}, 2),
        ({"speed": "fast"}, 1),
        ({"thinking": {"type": "adaptive"}}, 0),
        ({"temperature": 0.3}, 3),
    ],
)
def test_a_changed_parameter_loses_the_sections_its_rule_names(tmp_path, changed, kept):
    log = tmp_path / "log.jsonl"
    rows = [
        {"id": f"r{n}", "timestamp": 1_790_000_000 + 20 * n, "provider": "anthropic", "request": sent}
        for n, sent in enumerate((body(), body(**changed)))
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    traced = trace_log(read_log([str(log)]))
    result = replay(traced.trace, BOOK, traced.log.requests)
    ends = [0, *traced.trace.markers.of(1).tolist()]
    assert result.read[1] == ends[kept]
    assert result.why[1] is (Why.NOTHING_MORE if kept == 3 else Why.PARAMETER)


def test_a_hash_only_trace_cannot_be_replayed():
    from dataclasses import replace

    trace = trace_of([Sent("a")])
    with pytest.raises(CannotEvaluateError, match="block hashes"):
        replay(replace(trace, info=replace(trace.info, unit=512)), BOOK)


def test_models_without_rules_are_named_as_such():
    with pytest.raises(CannotEvaluateError, match="--provider"):
        replay(trace_of([Sent("a")], "glm-x", "some-gateway"), BOOK)
    forced = replay(
        trace_of([Sent("S"), Sent("S", at=3)], "glm-x", "some-gateway"), BOOK, provider="deepseek"
    )
    assert forced.read.tolist() == [0, 896]


@needs_shared
def test_usage_rows_without_prompts_are_no_replay():
    with pytest.raises(CannotEvaluateError, match="no prompts"):
        replayed(SHARED / "cases/31-one-hour-writes-priced-as-five-minute/usage.jsonl")


def test_every_token_of_a_prompt_is_read_written_or_uncached():
    trace = trace_of([Sent("S a", {0: 3600, 1: 300}, at=60 * n, usage=(2500, 0, 2100)) for n in range(5)])
    result: Replay = replay(trace, BOOK)
    total = result.read + result.written_total + result.uncached
    assert total.tolist() == [2500] * 5
    summary = summarise_replay(trace, result, load_price_book())
    written = sum(summary.written_tokens.values())
    assert summary.read_tokens + written + summary.uncached_tokens == summary.prompt_tokens == 12_500
