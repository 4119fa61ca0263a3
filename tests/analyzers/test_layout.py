"""The order that a route's prompts should have, from how often each part really changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.divergences import find_divergences
from analyzers.layout import RouteLayout, propose_layouts, scope_of
from analyzers.logs import read_log
from analyzers.pipeline import TraceOptions, trace_log
from analyzers.slots import find_slots
from analyzers.usage_record import usage_record
from tests.analyzers.tokenizer_builder import byte_level

RULES = [
    f"{n}. In case {n} quote the order, name the depot and answer in the short form." for n in range(1, 21)
]
TOOL = {"type": "function", "function": {"name": "find", "description": "Finds a parcel.", "parameters": {}}}


def layouts(folder: Path, systems: list[str], **fields: list[str]) -> list[RouteLayout]:
    lines = []
    for i, system in enumerate(systems):
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": f"Where is parcel {i}?"},
        ]
        body: dict[str, Any] = {"model": "gpt-4.1", "tools": [TOOL], "messages": messages}
        body |= {name: values[i] for name, values in fields.items()}
        row = {"id": f"r{i}", "timestamp": f"2026-10-{5 + i // 4:02}T09:00:{i:02}Z", "request": body}
        lines.append(json.dumps(row))
    (folder / "log.jsonl").write_text("\n".join(lines))
    vocabulary = byte_level(folder / "tokenizer.json")
    traced = trace_log(
        read_log([str(folder / "log.jsonl")]), TraceOptions(answers=False, tokenizer=str(vocabulary))
    )
    divergences = find_divergences(traced, usage_record(traced))
    return propose_layouts(traced, divergences, find_slots(traced, divergences))


def test_a_value_of_each_request_goes_behind_the_messages(tmp_path: Path) -> None:
    (layout,) = layouts(tmp_path, ["\n".join([f"Request {i * 7919:08x}ab", *RULES]) for i in range(8)])
    assert [part.name for part in layout.parts] == ["tools", "system", "messages", "random id"]
    assert layout.parts[-1].scope == "request"
    assert layout.changed


def test_a_date_goes_behind_the_system_text_and_stays_in_front_of_the_messages(tmp_path: Path) -> None:
    systems = ["\n".join([f"Today is 2026-10-{5 + i // 4:02}", *RULES]) for i in range(8)]
    (layout,) = layouts(tmp_path, systems)
    assert [part.name for part in layout.parts] == ["tools", "system", "date", "messages"]
    assert [part.scope for part in layout.parts] == ["global", "global", "day", "turn"]


def test_what_changes_less_stands_in_front_of_what_changes_more(tmp_path: Path) -> None:
    def system(i: int) -> str:
        user = f"Signed in: user-{i % 2 + 7:04}x"
        return "\n".join([f"Request {i * 7919:08x}ab", *RULES[:9], user, *RULES[9:]])

    systems = [system(i) for i in range(12)]
    (layout,) = layouts(tmp_path, systems, user=[f"u{i % 2}" for i in range(12)])
    scopes = [part.scope for part in layout.parts]
    assert scopes.index("user") < scopes.index("turn") < scopes.index("request")


def test_prompts_that_do_not_vary_keep_their_order(tmp_path: Path) -> None:
    (layout,) = layouts(tmp_path, ["\n".join(RULES)] * 6)
    assert not layout.changed
    assert [part.name for part in layout.parts] == ["tools", "system", "messages"]


@pytest.mark.parametrize(
    ("values", "scope"),
    [("aaaa", "global"), ("abab", "parity"), ("aabb", "half"), ("abcd", "request"), ("abba", "turn")],
)
def test_a_scope_is_the_widest_group_with_one_value_each(values: str, scope: str) -> None:
    groups = (("half", lambda row: row // 2), ("parity", lambda row: row % 2))
    assert scope_of(list(enumerate(values)), groups) == scope
