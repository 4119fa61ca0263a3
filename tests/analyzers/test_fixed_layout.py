"""A log with its fixes applied, beside the same log written without the mistakes, under providers' rules."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analyzers.counterfactual_remedies import Remedy
from analyzers.fixed_layout import FixedLayout, trace_with_fixes
from analyzers.logs import read_log
from analyzers.pipeline import TracedLog, trace_log
from simulators.providers.replay import Replay, replay
from simulators.providers.rules import load_rule_book
from simulators.providers.what_if import WhatIf
from tests.analyzers.chat_log import assistant, chat, system, user

BOOK = load_rule_book()
RULES = " ".join(f"Rule {n}: keep answers short and name the shelf of part {n}." for n in range(120))
"""About two thousand tokens, more than the providers' minimum."""
HALF = RULES.index("Rule 30:")
MARK = {"cache_control": {"type": "ephemeral"}}
Row = dict[str, Any]


def traced(folder: Path, rows: Sequence[Row]) -> TracedLog:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return trace_log(read_log([str(path)]))


def fixed(folder: Path, rows: Sequence[Row]) -> FixedLayout:
    layout = trace_with_fixes(traced(folder, rows))
    assert layout is not None
    return layout


def played(layout: FixedLayout) -> Replay:
    return replay(layout.trace, BOOK, layout.requests, what_if=WhatIf(fixed_layout=True))


def played_as_written(folder: Path, rows: Sequence[Row]) -> Replay:
    log = traced(folder, rows)
    return replay(log.trace, BOOK, log.log.requests)


def assert_equal_but_for_seams(one: Replay, other: Replay) -> None:
    """No request is more than a token longer or shorter, read or written, where text was put together."""
    for mine, theirs in (
        (one.prompt, other.prompt),
        (one.read, other.read),
        (one.written_total, other.written_total),
    ):
        assert np.abs(mine - theirs).max() <= 1
    assert one.why == other.why


def clock(n: int) -> str:
    return f"2026-10-05T09:{n:02}:{7 * n % 60:02}Z"


def with_clock(n: int, line: str) -> str:
    return f"{RULES[:HALF]}{line}\n{RULES[HALF:]}"


def conversation(n: int) -> tuple[str, list[str]]:
    """The session of call n and its questions so far: three conversations of three turns."""
    return f"s{n // 3}", [f"Question {turn} of {n // 3}: where is my parcel?" for turn in range(n % 3 + 1)]


def openai_call(n: int, system_text: str, newest: str, **body: Any) -> Row:
    session, questions = conversation(n)
    said = [m for q in questions[:-1] for m in (user(q), assistant("It is on its way."))]
    messages = [system(system_text), *said, user(questions[-1] + newest)]
    return {**chat(messages, second=10 * n, session=session, **body), "provider": "openai"}


def test_a_clock_in_front_of_stable_text_costs_what_the_log_without_it_does(tmp_path: Path) -> None:
    broken = [openai_call(n, with_clock(n, f"Now: {clock(n)}"), "") for n in range(9)]
    twin = [openai_call(n, with_clock(n, "Now: "), f"\n{clock(n)}") for n in range(9)]
    as_it_was = played_as_written(tmp_path, broken)
    layout = fixed(tmp_path, broken)
    assert [(fix.remedy, fix.path) for fix in layout.fixes] == [
        (Remedy.MOVE_TO_NEWEST, "messages[0].content")
    ]
    assert_equal_but_for_seams(played(layout), played_as_written(tmp_path, twin))
    assert as_it_was.read.sum() == 0
    assert (played(layout).read[1:] >= 1024).all()


def anthropic_call(n: int, system_blocks: list[Row], newest: list[Row], **body: Any) -> Row:
    session, questions = conversation(n)
    said = [m for q in questions[:-1] for m in (user(q), assistant("It is on its way."))]
    asked = [{"type": "text", "text": questions[-1], **MARK}, *newest]
    return {
        "id": f"call {n}",
        "timestamp": 1_790_000_000 + 10 * n,
        "provider": "anthropic",
        "session": session,
        "request": {
            "model": "claude-opus-4-1",
            "max_tokens": 100,
            "system": system_blocks,
            "messages": [*said, {"role": "user", "content": asked}],
            **body,
        },
    }


def text(words: str, **more: Any) -> Row:
    return {"type": "text", "text": words, **more}


def test_markers_stand_in_front_of_a_clock_that_moves(tmp_path: Path) -> None:
    broken = [anthropic_call(n, [text(with_clock(n, f"Now: {clock(n)}"), **MARK)], []) for n in range(9)]
    twin = [
        anthropic_call(n, [text(with_clock(n, "Now: "), **MARK)], [text(f"\n{clock(n)}")]) for n in range(9)
    ]
    layout, written = fixed(tmp_path, broken), traced(tmp_path, twin)
    assert np.abs(layout.trace.markers.values - written.trace.markers.values).max() <= 1
    assert np.abs(layout.trace.boundaries.values - written.trace.boundaries.values).max() <= 1
    assert_equal_but_for_seams(played(layout), played_as_written(tmp_path, twin))
    assert played_as_written(tmp_path, broken).read.sum() == 0
    assert (played(layout).read[1:] >= 1024).all()


def test_a_name_moves_behind_the_marked_text_of_its_block(tmp_path: Path) -> None:
    names = ["Ashworth", "Bramble", "Cobalt"]

    def call(n: int, head: str, *behind: Row) -> Row:
        return anthropic_call(n, [text(f"{head}\n{RULES}", **MARK), *behind], [])

    layout = fixed(tmp_path, [call(n, f"Customer: {names[n // 3]}") for n in range(9)])
    twin = [call(n, "Customer: ", text(f"\n{names[n // 3]}")) for n in range(9)]
    assert [fix.remedy for fix in layout.fixes] == [Remedy.MOVE_BEHIND_PART]
    assert_equal_but_for_seams(played(layout), played_as_written(tmp_path, twin))
    assert played(layout).read[3] >= 1024


def tool(name: str) -> Row:
    return {
        "name": name,
        "description": f"{name} looks up a record by its number. {RULES[:600]}",
        "input_schema": {"type": "object", "properties": {name: {"type": "string"}}},
    }


def test_shuffled_tools_cost_what_sorted_ones_do(tmp_path: Path) -> None:
    names = ["find_order", "list_parts", "open_case", "refund", "track"]

    def row(n: int, order: Sequence[str]) -> Row:
        tools = [tool(name) for name in order]
        tools[-1] = {**tools[-1], **MARK}
        return anthropic_call(n, [text("Be brief.")], [], tools=tools)

    chance = random.Random(5)
    broken = [row(n, chance.sample(names, len(names))) for n in range(9)]
    layout = fixed(tmp_path, broken)
    assert {fix.remedy for fix in layout.fixes} == {Remedy.SORT}
    assert_equal_but_for_seams(played(layout), played_as_written(tmp_path, [row(n, names) for n in range(9)]))


def test_a_sliding_window_costs_what_the_whole_history_does(tmp_path: Path) -> None:
    turns = [(user(f"Question {n}: {RULES[:1500]}"), assistant(f"Answer {n}.")) for n in range(8)]

    def row(n: int, first: int) -> Row:
        said = [m for pair in turns[first:n] for m in pair]
        call = chat([system(RULES), *said, turns[n][0]], second=10 * n, session="one")
        return {**call, "provider": "openai"}

    layout = fixed(tmp_path, [row(n, max(0, n - 3)) for n in range(8)])
    twin = [row(n, 0) for n in range(8)]
    assert {fix.remedy for fix in layout.fixes} == {Remedy.KEEP_HISTORY}
    assert_equal_but_for_seams(played(layout), played_as_written(tmp_path, twin))
    assert [len(r.parts) for r in layout.requests] == [len(row["request"]["messages"]) for row in twin]


def test_a_history_that_would_be_written_differently_stays_as_logged(tmp_path: Path) -> None:
    """An answer that the request begins stays open at its end, and is closed in front of other messages."""
    turns = [(user(f"Question {n}: {RULES[:1500]}"), assistant(f"Answer {n}.")) for n in range(8)]

    def row(n: int) -> Row:
        said = [m for pair in turns[max(0, n - 3) : n] for m in pair]
        call = anthropic_call(n, [text(RULES)], [])
        call["request"]["messages"] = [*said, turns[n][0], assistant("Answer")]
        return {**call, "session": "one"}

    log = traced(tmp_path, [row(n) for n in range(8)])
    layout = trace_with_fixes(log)
    assert layout is not None
    assert layout.histories_left == 4
    assert layout.requests == log.log.requests


def test_the_logged_prompt_grows_with_what_a_fix_adds(tmp_path: Path) -> None:
    turns = [(user(f"Question {n}: {RULES[:1500]}"), assistant(f"Answer {n}.")) for n in range(6)]

    def row(n: int) -> Row:
        said = [m for pair in turns[max(0, n - 2) : n] for m in pair]
        call = chat([system(RULES), *said, turns[n][0]], second=10 * n, session="one")
        return {**call, "provider": "openai"}

    rows = [row(n) for n in range(6)]
    counts = traced(tmp_path, rows).trace.requests.prompt_tokens.tolist()
    for each, tokens in zip(rows, counts, strict=True):
        each["usage"] = {"prompt_tokens": 2 * tokens - 700, "completion_tokens": 5}
    log = traced(tmp_path, rows)
    layout = trace_with_fixes(log)
    assert layout is not None
    before, after = log.trace.requests, layout.trace.requests
    grown = after.prompt_tokens != before.prompt_tokens
    assert 0 < grown.sum() < len(grown)
    assert (after.usage_prompt[~grown] == before.usage_prompt[~grown]).all()
    scale = before.usage_prompt / before.prompt_tokens
    assert np.allclose(after.usage_prompt, after.prompt_tokens * scale, atol=1)


def test_a_log_without_a_breaker_has_nothing_to_fix(tmp_path: Path) -> None:
    assert trace_with_fixes(traced(tmp_path, [openai_call(n, RULES, "") for n in range(9)])) is None


def test_logged_answers_stay_behind_their_prompts(tmp_path: Path) -> None:
    def rows(now: str, newest: str) -> list[Row]:
        calls = [
            openai_call(n, with_clock(n, now.format(clock(n))), newest.format(clock(n))) for n in range(9)
        ]
        answer = {"choices": [{"message": {"role": "assistant", "content": "It is on its way."}}]}
        return [{**call, "provider": "deepseek", "response": answer} for call in calls]

    layout, twin = fixed(tmp_path, rows("Now: {}", "")), traced(tmp_path, rows("Now: ", "\n{}"))
    kept = layout.trace.requests.cached_tokens - layout.trace.requests.prompt_tokens
    assert (kept == twin.trace.requests.cached_tokens - twin.trace.requests.prompt_tokens).all()
    assert (kept > 0).all()
