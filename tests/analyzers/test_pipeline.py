"""From requests written out by hand to a Trace."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import CannotEvaluateError, UsageError
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.request import Dialect, Identity, Log, Part, PartKind, Request
from analyzers.reuse import reuse_by_request
from analyzers.tokenization import choose_tokenizer_of_log
from analyzers.usage import Usage

SECOND = 1_000_000_000


def chat(
    log: Log,
    *messages: tuple[str, str],
    at: float | None = None,
    model: str = "gpt-4.1",
    answer: str | None = None,
    identity: Identity | None = None,
    usage: Usage | None = None,
) -> Request:
    parts = tuple(
        log.parts.intern(
            Dialect.OPENAI_CHAT,
            PartKind.MESSAGE,
            json.dumps({"role": role, "content": text}).encode(),
        )
        for role, text in messages
    )
    output = None
    if answer is not None:
        raw = json.dumps({"role": "assistant", "content": answer}).encode()
        output = log.parts.intern(Dialect.OPENAI_CHAT, PartKind.RESPONSE, raw)
    request = Request(
        request_id=f"r{len(log.requests) + 1}",
        file="log.jsonl",
        line=len(log.requests) + 1,
        dialect=Dialect.OPENAI_CHAT,
        parts=parts,
        time_ns=None if at is None else int(at * SECOND),
        model=model,
        provider="openai",
        identity=identity or Identity(),
        output=output,
        usage=usage,
    )
    log.requests.append(request)
    log.records += 1
    return request


def ids(log: Log, prompt: list[int], output: list[int] | None = None) -> Request:
    def part(tokens: list[int]) -> Part:
        return log.parts.intern(Dialect.TOKENS, PartKind.TOKENS, np.array(tokens, "<u4").tobytes())

    request = Request(
        f"r{len(log.requests) + 1}",
        "ids.jsonl",
        len(log.requests) + 1,
        Dialect.TOKENS,
        (part(prompt),),
        output=None if output is None else part(output),
    )
    log.requests.append(request)
    log.records += 1
    return request


TEXT = st.text(alphabet="ab \n.é漢", max_size=12)
MESSAGES = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), TEXT), min_size=1, max_size=4)


@given(st.lists(MESSAGES, min_size=1, max_size=6))
@settings(max_examples=15)
def test_reuse_of_text_equals_the_longest_common_prefix_of_whole_token_lists(
    prompts: list[list[tuple[str, str]]],
) -> None:
    log = Log()
    for messages in prompts:
        chat(log, *messages)
    traced = trace_log(log)
    tokens = [traced.sequences.tokens(i).tolist() for i in range(len(prompts))]
    assert [len(t) for t in tokens] == traced.trace.requests.prompt_tokens.tolist()
    reusable = reuse_by_request(traced.trace).reusable.tolist()
    for i, mine in enumerate(tokens):
        best = 0
        for other in tokens[:i]:
            equal = [a == b for a, b in zip(mine, other, strict=False)]
            best = max(best, equal.index(False) if False in equal else len(equal))
        assert reusable[i] == best


def test_requests_are_put_in_time_order_and_equal_times_keep_file_order() -> None:
    log = Log()
    for at in (5.0, 1.0, 3.0, 3.0):
        chat(log, ("user", "hello"), at=at)
    traced = trace_log(log)
    assert traced.trace.requests.request_id == ["r2", "r3", "r4", "r1"]
    assert any("out of time order" in note for note in log.notes)


def test_a_log_in_reverse_is_turned_round_and_said_so() -> None:
    log = Log()
    for at in (9.0, 5.0, 5.0, 1.0):
        chat(log, ("user", "hello"), at=at)
    traced = trace_log(log)
    assert traced.trace.requests.request_id == ["r4", "r3", "r2", "r1"]
    assert any("reverse" in note for note in log.notes)


def test_without_times_file_order_stands_and_is_said_once() -> None:
    log = Log()
    chat(log, ("user", "a"))
    chat(log, ("user", "b"))
    assert trace_log(log).trace.requests.request_id == ["r1", "r2"]
    assert sum("file order" in note for note in log.notes) == 1


def test_models_and_tenants_do_not_share() -> None:
    log = Log()
    chat(log, ("user", "the same"), identity=Identity(tenant="a"))
    chat(log, ("user", "the same"), identity=Identity(tenant="b"))
    chat(log, ("user", "the same"), identity=Identity(tenant="a"), model="gpt-4o")
    chat(log, ("user", "the same"), identity=Identity(tenant="a"))
    reuse = reuse_by_request(trace_log(log).trace)
    assert (reuse.reusable > 0).tolist() == [False, False, False, True]
    shared = reuse_by_request(trace_log(log, TraceOptions(namespace=())).trace)
    assert (shared.reusable > 0).tolist() == [False, True, True, True]


def test_an_unknown_namespace_field_names_those_there_are() -> None:
    log = Log()
    chat(log, ("user", "x"), identity=Identity(labels=(("region", "eu"),)))
    with pytest.raises(UsageError, match=r"tenant.*region"):
        trace_log(log, TraceOptions(namespace=("colour",)))


def test_an_answer_stays_in_the_cache_behind_its_prompt() -> None:
    log = Log()
    chat(log, ("user", "Say hello"), answer="Hello there!")
    chat(log, ("user", "Say hello"), ("assistant", "Hello there!"), ("user", "Again"))
    trace = trace_log(log).trace
    table = trace.requests
    assert table.cached_tokens[0] > table.prompt_tokens[0]
    # The second prompt runs through the node at which the first request's cached sequence ends.
    node, path = int(table.leaf[1]), set()
    while node >= 0:
        path.add(node)
        node = int(trace.tree.parent[node])
    assert int(table.cached_leaf[0]) in path
    assert reuse_by_request(trace).reusable[1] == table.prompt_tokens[0]


def test_token_logs_keep_prompt_and_output_less_the_last_sampled_token() -> None:
    log = Log()
    ids(log, [1, 2, 3], [4, 5])
    ids(log, [1, 2, 3, 4, 9])
    trace = trace_log(log).trace
    assert trace.requests.prompt_tokens.tolist() == [3, 5]
    assert trace.requests.cached_tokens.tolist() == [4, 5]
    assert trace.requests.output_tokens.tolist() == [2, -1]
    assert reuse_by_request(trace).reusable.tolist() == [0, 3]
    assert trace.info.tokenizer == "none"


def test_text_and_ids_in_one_log_keep_their_order() -> None:
    log = Log()
    chat(log, ("user", "hi"))
    ids(log, [7, 8])
    chat(log, ("user", "hi"))
    ids(log, [7, 8, 9])
    reuse = reuse_by_request(trace_log(log, TraceOptions(namespace=())).trace)
    assert reuse.reusable.tolist() == [0, 0, int(reuse.prompt[2]), 2]


def test_usage_figures_become_columns_and_missing_ones_stay_unknown() -> None:
    log = Log()
    chat(
        log,
        ("user", "x"),
        usage=Usage(prompt_tokens=10, read_tokens=4, written={300: 3, 3600: 2}, output_tokens=1),
    )
    chat(log, ("user", "x"))
    trace = trace_log(log).trace
    assert trace.requests.usage_read.tolist() == [4, -1]
    assert trace.requests.usage_written.tolist() == [5, -1]
    assert trace.written.of(0).tolist() == [3, 2]
    assert trace.written_ttl_s.of(0).tolist() == [300, 3600]
    assert trace.written.of(1).tolist() == []


def test_boundaries_end_with_each_message_and_name_its_path() -> None:
    log = Log()
    chat(log, ("system", "Be brief."), ("user", "Hello"))
    trace = trace_log(log).trace
    ends = trace.boundaries.of(0)
    names = [trace.paths[p] for p in trace.boundary_paths.of(0)]
    assert len(ends) == 2
    assert names[0].startswith("messages[0]")
    assert names[1].startswith("messages[1]")
    assert 0 < ends[0] < ends[1] <= trace.requests.prompt_tokens[0]


def test_a_period_keeps_what_lies_in_it_and_counts_the_rest() -> None:
    log = Log()
    for at in (1.0, 2.0, 3.0):
        chat(log, ("user", "x"), at=at)
    trace = trace_log(log, TraceOptions(since_ns=2 * SECOND, until_ns=3 * SECOND)).trace
    assert trace.requests.request_id == ["r2"]
    assert log.skipped == {"outside the period": 2}
    assert log.records == len(log.requests) + sum(log.skipped.values())


def test_an_empty_log_cannot_be_evaluated() -> None:
    with pytest.raises(CannotEvaluateError, match="no model calls"):
        trace_log(Log())


def test_a_log_of_several_models_is_counted_with_the_tokenizer_that_fits_most_and_says_so() -> None:
    models = [("gpt-3.5-turbo", "openai"), *[("gpt-4o", "openai")] * 3, *[("command-r", "cohere")] * 2]
    choice = choose_tokenizer_of_log(models)
    assert choice.name == "o200k"
    assert choice.note == "the tokenizer of gpt-4o; a stand-in for 3 of 6 requests"


def test_a_log_of_one_model_needs_no_stand_in() -> None:
    assert choose_tokenizer_of_log([("gpt-4", None)] * 2).note == "the tokenizer of gpt-4"
    assert choose_tokenizer_of_log([("gpt-4o", None), ("gpt-4.1", None)]).note == "the tokenizer of gpt-4o"
    assert choose_tokenizer_of_log([(None, None)]).is_own is None
