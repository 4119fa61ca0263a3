"""Cache markers are noted where they stand and never become text."""

import json

import pytest

from analyzers.request import Dialect
from tests.analyzers.rendered_requests import (
    MESSAGE,
    SYSTEM,
    TOOLS,
    Value,
    content,
    marked,
    one,
    rendering,
    request_of,
    texts,
)


@pytest.mark.parametrize("marker", [{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}])
@pytest.mark.parametrize("position", ["first", "last"])
def test_a_marker_changes_no_text(marker: Value, position: str) -> None:
    def with_marker(value: dict[str, Value]) -> dict[str, Value]:
        return (
            {"cache_control": marker, **value} if position == "first" else {**value, "cache_control": marker}
        )

    text, call = {"type": "text", "text": "x"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    odd, tool = {"type": "odd", "z": [1, {"a": "}"}], "e": '"'}, {"name": "f", "input_schema": {"b": 1}}
    blocks = [text, call, odd]
    ttl = 3600 if "ttl" in marker else -1
    plain = one(Dialect.ANTHROPIC, {"role": "user", "content": blocks})
    for index in range(len(blocks)):
        sent = [with_marker(block) if i == index else block for i, block in enumerate(blocks)]
        part = one(Dialect.ANTHROPIC, {"role": "user", "content": sent})
        assert texts([part]) == texts([plain])
        assert [end.marker_ttl_s for end in part.block_ends] == [
            ttl if i == index else None for i in range(len(blocks))
        ]
    part = one(Dialect.ANTHROPIC, [with_marker(tool), tool], TOOLS)
    assert texts([part]) == texts([one(Dialect.ANTHROPIC, [tool, tool], TOOLS)])
    assert [end.marker_ttl_s for end in part.block_ends] == [ttl, None]


def test_the_same_text_with_and_without_marker_is_the_same_segments() -> None:
    made = rendering()
    block = {"type": "text", "text": "x"}
    plain = made.render(request_of(Dialect.ANTHROPIC, [(MESSAGE, {"role": "user", "content": [block]})]))[0]
    there = made.render(
        request_of(
            Dialect.ANTHROPIC,
            [(MESSAGE, {"role": "user", "content": [marked(block, {"type": "ephemeral"})]})],
        )
    )[0]
    assert there.segments == plain.segments
    assert there is not plain


def test_markers_of_gateways_and_of_openai() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"a": 1}}}
    nested = {"type": "function", "function": marked(tool["function"], {"type": "ephemeral", "ttl": "5m"})}
    part = one(Dialect.OPENAI_CHAT, [nested], TOOLS)
    assert content(part) == {"[0]": json.dumps(tool)}
    assert part.block_ends[0].marker_ttl_s == 300
    block = {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}}
    part = one(Dialect.OPENAI_CHAT, {"role": "user", "content": [block]})
    assert part.block_ends[0].marker_ttl_s == 1800
    part = one(Dialect.OPENAI_CHAT, marked({"role": "system", "content": "s"}, {"type": "ephemeral"}))
    assert [(end.path, end.marker_ttl_s) for end in part.block_ends] == [(".content", -1)]
    block = {"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}
    part = one(Dialect.OPENAI_RESPONSES, {"role": "user", "content": [block]})
    assert part.block_ends[0].marker_ttl_s == -1


def test_cache_points_mark_the_block_before_them() -> None:
    point = {"cachePoint": {"type": "default", "ttl": "1h"}}
    plain = one(Dialect.BEDROCK, {"role": "user", "content": [{"text": "a"}, {"text": "b"}]})
    part = one(Dialect.BEDROCK, {"role": "user", "content": [{"text": "a"}, point, {"text": "b"}]})
    assert texts([part]) == texts([plain])
    assert [(end.path, end.marker_ttl_s) for end in part.block_ends] == [
        (".content[0]", 3600),
        (".content[2]", None),
    ]
    part = one(Dialect.BEDROCK, [{"toolSpec": {"name": "f"}}, point], TOOLS)
    assert [(end.path, end.marker_ttl_s) for end in part.block_ends] == [("[0]", 3600)]
    part = one(Dialect.BEDROCK, [{"text": "s"}, point], SYSTEM)
    assert [(end.path, end.marker_ttl_s) for end in part.block_ends] == [("[0]", 3600)]


def test_a_null_marker_is_no_marker_and_no_text() -> None:
    part = one(Dialect.ANTHROPIC, [{"name": "f", "cache_control": None, "x": 1}], TOOLS)
    assert content(part) == {"[0]": '{"name": "f", "x": 1}'}
    assert part.block_ends[0].marker_ttl_s is None


def test_a_marker_on_an_empty_block_is_kept() -> None:
    block = marked({"type": "text", "text": ""}, {"type": "ephemeral"})
    part = one(Dialect.ANTHROPIC, {"role": "user", "content": [{"type": "text", "text": "a"}, block]})
    assert [(end.segments, end.marker_ttl_s) for end in part.block_ends] == [(4, None), (4, -1)]


def test_a_tool_parameter_that_is_called_cache_control_stays() -> None:
    raw = b'[{"name":"f","input_schema":{"properties":{"cache_control":{"type":"string"}}}}]'
    assert content(one(Dialect.ANTHROPIC, raw, TOOLS)) == {"[0]": raw[1:-1].decode()}


def test_blocks_of_a_tool_result_are_one_block_but_may_carry_a_marker() -> None:
    inner = [{"type": "text", "text": "a"}, marked({"type": "text", "text": "b"}, {"type": "ephemeral"})]
    value = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": inner}]}
    part = one(Dialect.ANTHROPIC, value)
    assert [(end.path, end.marker_ttl_s) for end in part.block_ends] == [
        (".content[0].content[1]", -1),
        (".content[0]", None),
    ]
