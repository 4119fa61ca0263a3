"""The provider's order: every kind of content is kept, as it was sent, and markers never become text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.rendering import RenderedPart
from analyzers.request import Dialect, PartKind, PartStore
from tests.analyzers.rendered_requests import (
    MESSAGE,
    SCHEMA,
    SYSTEM,
    TOOLS,
    Parts,
    Value,
    content,
    marked,
    one,
    rendering,
    request_of,
    texts,
)

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
HEAD = ["<|im_start|>", "assistant", "<|im_sep|>"]


def without_role(part: RenderedPart) -> dict[str, str]:
    return {path: text for path, text in content(part).items() if path != ".role"}


def test_a_message_stands_in_its_frame() -> None:
    rendered = rendering().render(
        request_of(Dialect.OPENAI_CHAT, [(MESSAGE, {"role": "user", "content": "hi"})])
    )
    assert texts(rendered) == ["<|im_start|>", "user", "<|im_sep|>", "hi", "<|im_end|>", *HEAD]
    assert [segment.special for segment in rendered[0].segments] == [True, False, True, False, True]
    assert rendered[0].paths == (None, ".role", None, ".content", None)


def test_parts_keep_the_order_of_the_request_and_their_paths() -> None:
    request = request_of(
        Dialect.ANTHROPIC,
        [(TOOLS, [{"name": "f"}]), (SYSTEM, "be kind"), (MESSAGE, {"role": "user", "content": "hi"})],
    )
    made = rendering()
    rendered = made.render(request)
    assert list(made.paths(request)) == ["tools", "system", "messages[0]", ""]
    assert len(rendered) == 4
    order = texts(rendered)
    assert order.index('{"name": "f"}') < order.index("be kind") < order.index("hi")


def test_prompt_and_answer_are_a_prefix_of_the_next_prompt() -> None:
    made = rendering()
    store = PartStore()
    question = (MESSAGE, {"role": "user", "content": "2+2?"})
    answer = {"role": "assistant", "content": "4"}
    first = request_of(Dialect.OPENAI_CHAT, [question], {"choices": [{"message": answer}]}, store)
    following = [question, (MESSAGE, answer), (MESSAGE, {"role": "user", "content": "sure?"})]
    second = request_of(Dialect.OPENAI_CHAT, following, store=store)
    said = made.render_response(first)
    assert said is not None
    behind = texts(made.render(first)) + texts([said])
    assert texts(made.render(second))[: len(behind)] == behind


@pytest.mark.parametrize(
    ("dialect", "answer", "response"),
    [
        (
            Dialect.OPENAI_CHAT,
            [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
            lambda messages: {"choices": [{"message": messages[0]}]},
        ),
        (
            Dialect.OPENAI_RESPONSES,
            [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}]},
                {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
            ],
            lambda items: {"id": "r", "output": items},
        ),
        (
            Dialect.ANTHROPIC,
            [{"role": "assistant", "content": [{"type": "thinking", "thinking": "so", "signature": "s"}]}],
            lambda messages: {"id": "m", "type": "message", **messages[0]},
        ),
        (
            Dialect.ANTHROPIC,
            [{"role": "assistant", "content": [{"type": "text", "text": "so"}]}],
            lambda messages: messages[0]["content"],
        ),
        (
            Dialect.GEMINI,
            [{"role": "model", "parts": [{"text": "so"}]}],
            lambda contents: {"candidates": [{"content": contents[0]}]},
        ),
        (
            Dialect.BEDROCK,
            [{"role": "assistant", "content": [{"text": "so"}]}],
            lambda messages: {"output": {"message": messages[0]}},
        ),
    ],
)
def test_answers_of_every_dialect_continue_the_prompt(dialect: Dialect, answer: Value, response: Any) -> None:
    made = rendering()
    store = PartStore()
    question = {"role": "user", "content": [{"text": "?"}], "parts": [{"text": "?"}]}
    if dialect in (Dialect.OPENAI_CHAT, Dialect.OPENAI_RESPONSES, Dialect.ANTHROPIC):
        question = {"role": "user", "content": "?"}
    first = request_of(dialect, [(MESSAGE, question)], response(answer), store)
    turns = [(MESSAGE, question), *((MESSAGE, message) for message in answer), (MESSAGE, question)]
    said = made.render_response(first)
    assert said is not None
    assert said.segments[-1].text == "<|im_end|>"
    behind = texts(made.render(first)) + texts([said])
    assert texts(made.render(request_of(dialect, turns, store=store)))[: len(behind)] == behind


def test_an_answer_logged_as_text_counts_as_the_message() -> None:
    made = rendering()
    question: Parts = [(MESSAGE, {"role": "user", "content": "?"})]
    for output in (b'"yes"', b"yes", {"role": "assistant", "content": "yes"}):
        said = made.render_response(request_of(Dialect.OPENAI_CHAT, question, output))
        assert said is not None
        assert texts([said]) == ["yes", "<|im_end|>"]
    assert made.render_response(request_of(Dialect.OPENAI_CHAT, question)) is None


def test_an_assistant_message_at_the_end_is_the_start_of_the_answer() -> None:
    made = rendering()
    prefill: Parts = [
        (MESSAGE, {"role": "user", "content": "list"}),
        (MESSAGE, {"role": "assistant", "content": "1."}),
    ]
    request = request_of(Dialect.ANTHROPIC, prefill)
    rendered = made.render(request)
    assert texts(rendered)[-2:] == ["<|im_sep|>", "1."]
    assert len(made.paths(request)) == len(rendered) == 2
    assert texts(made.render(request_of(Dialect.OPENAI_CHAT, prefill)))[-4:] == ["<|im_end|>", *HEAD]


def test_tools_are_the_json_sent_each_a_block() -> None:
    raw = b'[ {"name":"b",  "input_schema":{"z":1,"a":2}} ,{"a":1,"name":"a"}]'
    part = one(Dialect.ANTHROPIC, raw, TOOLS)
    assert content(part) == {
        "[0]": '{"name":"b",  "input_schema":{"z":1,"a":2}}',
        "[1]": '{"a":1,"name":"a"}',
    }
    assert [(end.segments, end.path) for end in part.block_ends] == [(4, "[0]"), (5, "[1]")]


def test_a_schema_is_the_json_sent() -> None:
    part = one(Dialect.OPENAI_CHAT, b'{"type":"json_schema","json_schema":{"b":1,"a":2}}', SCHEMA)
    assert content(part) == {"": '{"type":"json_schema","json_schema":{"b":1,"a":2}}'}


_CASES: list[tuple[Dialect, PartKind, Value, dict[str, str]]] = [
    (
        Dialect.OPENAI_CHAT,
        MESSAGE,
        {
            "role": "assistant",
            "content": "a",
            "reasoning_content": "r",
            "refusal": "no",
            "tool_calls": [CALL],
        },
        {
            ".reasoning_content": "r",
            ".content": "a",
            ".refusal": "no",
            ".tool_calls[0].function.name": "f",
            ".tool_calls[0].function.arguments": "{}",
            ".tool_calls[0].id": "c",
        },
    ),
    (
        Dialect.OPENAI_CHAT,
        MESSAGE,
        b'{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\\"b\\":  1,\\"a\\":2}"}}]}',
        {
            ".tool_calls[0].function.name": "f",
            ".tool_calls[0].function.arguments": '{"b":  1,"a":2}',
            ".tool_calls[0].id": "c",
        },
    ),
    (
        Dialect.OPENAI_CHAT,
        MESSAGE,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{ }"}},
        {".function_call.name": "f", ".function_call.arguments": "{ }"},
    ),
    (
        Dialect.OPENAI_CHAT,
        MESSAGE,
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
        },
        {
            ".tool_calls[0].custom.name": "sh",
            ".tool_calls[0].custom.input": "ls",
            ".tool_calls[0].id": "c",
        },
    ),
    (
        Dialect.OPENAI_CHAT,
        MESSAGE,
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "42"}]},
        {".tool_call_id": "c", ".content[0].text": "42"},
    ),
    (
        Dialect.OPENAI_CHAT,
        MESSAGE,
        b'{"role":"user","name":"ann","content":[{"type":"refusal","refusal":"no"},{"type":"new_kind","z":1,"a":2}]}',
        {
            ".name": "ann",
            ".content[0].refusal": "no",
            ".content[1]": '{"type":"new_kind","z":1,"a":2}',
        },
    ),
    (Dialect.OPENAI_RESPONSES, SYSTEM, "be kind", {"": "be kind"}),
    (Dialect.OPENAI_RESPONSES, MESSAGE, "hello", {"": "hello"}),
    (
        Dialect.OPENAI_RESPONSES,
        MESSAGE,
        {"role": "developer", "content": [{"type": "input_text", "text": "x"}]},
        {".content[0].text": "x"},
    ),
    (
        Dialect.OPENAI_RESPONSES,
        MESSAGE,
        {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
        {".call_id": "c", ".output": "done"},
    ),
    (
        Dialect.OPENAI_RESPONSES,
        MESSAGE,
        b'{"type":"web_search_call","id":"w","action":{"query":"q"}}',
        {"": '{"type":"web_search_call","id":"w","action":{"query":"q"}}'},
    ),
    (Dialect.ANTHROPIC, SYSTEM, [{"type": "text", "text": "s"}], {"[0].text": "s"}),
    (
        Dialect.ANTHROPIC,
        MESSAGE,
        b'{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"z": 1,"a":2}}]}',
        {".content[0].name": "f", ".content[0].input": '{"z": 1,"a":2}', ".content[0].id": "t"},
    ),
    (
        Dialect.ANTHROPIC,
        MESSAGE,
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "r", "is_error": True},
                {"type": "document", "title": "T", "source": {"type": "text", "data": "body"}},
            ],
        },
        {
            ".content[0].tool_use_id": "t",
            ".content[0].content": "r",
            ".content[0].is_error": "is_error",
            ".content[1].title": "T",
            ".content[1].source.data": "body",
        },
    ),
    (Dialect.GEMINI, SYSTEM, {"parts": [{"text": "s"}]}, {".parts[0].text": "s"}),
    (
        Dialect.GEMINI,
        MESSAGE,
        b'{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{"z": 1}}}]}',
        {
            ".parts[0].text": "hm",
            ".parts[1].functionCall.name": "f",
            ".parts[1].functionCall.args": '{"z": 1}',
        },
    ),
    (
        Dialect.GEMINI,
        MESSAGE,
        b'{"role":"user","parts":[{"function_response":{"name":"f","response":{"z": 1}}},{"executableCode":{"c":1}}]}',
        {
            ".parts[0].function_response.name": "f",
            ".parts[0].function_response.response": '{"z": 1}',
            ".parts[1]": '{"executableCode":{"c":1}}',
        },
    ),
    (Dialect.BEDROCK, SYSTEM, [{"text": "s"}], {"[0].text": "s"}),
    (
        Dialect.BEDROCK,
        MESSAGE,
        b'{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"json":{"z": 1}}],"status":"error"}}]}',
        {
            ".content[0].toolResult.toolUseId": "t",
            ".content[0].toolResult.content[0].json": '{"z": 1}',
            ".content[0].toolResult.status": "error",
        },
    ),
    (
        Dialect.BEDROCK,
        MESSAGE,
        b'{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm"}}},'
        b'{"toolUse":{"toolUseId":"t","name":"f","input":{"z": 1}}}]}',
        {
            ".content[0].reasoningContent.reasoningText.text": "hm",
            ".content[1].toolUse.name": "f",
            ".content[1].toolUse.input": '{"z": 1}',
            ".content[1].toolUse.toolUseId": "t",
        },
    ),
]


@pytest.mark.parametrize(("dialect", "kind", "value", "expected"), _CASES)
def test_every_kind_of_content_is_kept_as_sent(
    dialect: Dialect, kind: PartKind, value: Value, expected: dict[str, str]
) -> None:
    assert without_role(one(dialect, value, kind)) == expected


def test_reasoning_and_calls_are_not_mistaken_for_text() -> None:
    def block(kind: str) -> list[str]:
        value = {"role": "assistant", "content": [{"type": kind, kind: "so"}]}
        return texts([one(Dialect.ANTHROPIC, value)])

    assert block("thinking") != block("text")


def test_the_key_order_sent_is_the_key_order_rendered() -> None:
    one_way = one(Dialect.ANTHROPIC, b'[{"name":"f","input_schema":{"a":1,"b":2}}]', TOOLS)
    other = one(Dialect.ANTHROPIC, b'[{"name":"f","input_schema":{"b":2,"a":1}}]', TOOLS)
    assert texts([one_way]) != texts([other])


@pytest.mark.parametrize("dialect", [d for d in Dialect if d not in (Dialect.TEXT, Dialect.TOKENS)])
@pytest.mark.parametrize(
    "raw",
    [
        b"null",
        b"[]",
        b"{}",
        b"17",
        b'"text"',
        b"not json",
        b'{"role": null, "content": null, "parts": null}',
        b'{"role": "user", "content": "\\ud800 lone", "parts": [{"text": "\\ud800 lone"}]}',
        b'{"role": "user", "content": "bad \xff byte", "parts": [{"text": "bad \xff byte"}]}',
        b'{"role": 1, "content": [1, null, "x", [], {"type": 7}], "tool_calls": [1, {}, {"function": null}]}',
        b'{"type": "message", "role": "user", "content": [{"type": "input_image"}]}',
        b'{"role": "user", "content": [{"type": "image"}, {"image": {}}, {"type": "image_url", "image_url": {}}]}',
        b'{"role": "user", "content": 123456789012345678901234567890}',
    ],
)
def test_odd_messages_are_written_down_somehow(dialect: Dialect, raw: bytes) -> None:
    for kind in (MESSAGE, SYSTEM, TOOLS, SCHEMA):
        request = request_of(dialect, [(kind, raw)], raw)
        made = rendering()
        assert len(made.render(request)) == len(made.paths(request))
        made.render_response(request)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "role", "content", "input", "cache_control", "parts", "tool_calls", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("dialect", [d for d in Dialect if d not in (Dialect.TEXT, Dialect.TOKENS)])
@given(value=JSON, marker=st.sampled_from([{"type": "ephemeral"}, None]))
@settings(max_examples=60, deadline=None)
def test_any_json_is_rendered_and_block_ends_ascend(dialect: Dialect, value: Value, marker: Value) -> None:
    part = one(dialect, value)
    ends = [end.segments for end in part.block_ends]
    assert ends == sorted(ends)
    assert all(0 <= end <= len(part.segments) for end in ends)
    assert len(part.paths) == len(part.segments)
    tool = {"name": "f", "value": value}
    plain, sent = one(dialect, [tool], TOOLS), one(dialect, [marked(tool, marker)], TOOLS)
    assert texts([sent]) == texts([plain])


def test_a_part_is_rendered_once_and_numbered_when_first_given() -> None:
    made = rendering()
    store = PartStore()
    turns = [(MESSAGE, {"role": "user", "content": str(n)}) for n in range(5)]
    seen: list[RenderedPart] = []
    for count in range(1, 6):
        for part in made.render(request_of(Dialect.OPENAI_CHAT, turns[:count], store=store)):
            if part.number == len(seen):
                seen.append(part)
            assert seen[part.number] is part
    assert [segment.number for segment in made.segments] == list(range(len(made.segments)))
    assert len({(segment.text, segment.special) for segment in made.segments}) == len(made.segments)


def test_whitespace_between_members_of_a_message_does_not_count() -> None:
    made = rendering()
    one_way = request_of(Dialect.OPENAI_CHAT, [(MESSAGE, b'{"role":"user","content":"x"}')])
    other = request_of(Dialect.OPENAI_CHAT, [(MESSAGE, b'{ "content": "x",\n "role": "user" }')])
    assert made.render(one_way)[0] is made.render(other)[0]


def test_a_prompt_that_came_as_text_has_no_frame() -> None:
    request = request_of(Dialect.TEXT, [(PartKind.TEXT, b"Once upon")], b" a time")
    made = rendering()
    assert texts(made.render(request)) == ["Once upon"]
    assert list(made.paths(request)) == ["prompt"]
    said = made.render_response(request)
    assert said is not None
    assert texts([said])[0] == " a time"


def test_a_request_without_parts_is_an_empty_prompt() -> None:
    request = request_of(Dialect.OPENAI_CHAT, [])
    assert list(rendering().render(request)) == []
    assert list(rendering().paths(request)) == []
