"""A chat template renders as it does in transformers, from requests of any dialect, and in a sandbox."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings

from analyzers.errors import InputError, UsageError
from analyzers.rendering import Rendering, make_rendering
from analyzers.request import Dialect, PartKind, PartStore, Request
from analyzers.tokenization import Tokenizer, load_tokenizer
from tests.analyzers.test_rendering import JSON, MESSAGE, SYSTEM, TOOLS, Parts, request_of, texts
from tests.analyzers.tokenizer_builder import byte_level

SHOW = "{{ messages | tojson }}\n{{ tools | tojson }}"
_FOLDER = TemporaryDirectory()
HERMES = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- for tool in tools %}
        {{- tool | tojson }}
        {{- '\\n' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'skip' %}{% continue %}{% endif %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- generation %}
    {{- message.content }}
    {%- endgeneration %}
    {%- for call in message.tool_calls or [] %}
        {{- '<tool_call>' + call.function.name + call.function.arguments | tojson + '</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}
{%- endif %}
"""


@pytest.fixture
def tokenizer_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    byte_level(folder / "tokenizer.json")
    flags = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
    eos = {"__type": "AddedToken", "content": "</s>", **flags}
    config = {"bos_token": "<s>", "eos_token": eos, "chat_template": HERMES}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def template(folder: Path, source: str) -> Rendering:
    file = folder / "mine.jinja"
    file.write_text(source, "utf-8")
    return make_rendering(str(file), load_tokenizer(str(folder)))


def rendered(rendering: Rendering, request: Request) -> str:
    return "".join(texts(rendering.render(request)))


def shown(folder: Path, request: Request) -> tuple[list[dict[str, Any]], Any]:
    messages, tools = rendered(template(folder, SHOW), request).split("\n")
    return json.loads(messages), json.loads(tools)


_TOOL = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"b": {}, "a": {}}}}
_CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "Zürich <s> 北京?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"b": 1, "a": "é"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "42"},
]


def chat_request(**fields: Any) -> Request:
    parts: Parts = [(TOOLS, [{"type": "function", "function": _TOOL}]), *((MESSAGE, turn) for turn in _CHAT)]
    request = request_of(Dialect.OPENAI_CHAT, parts)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def test_the_prompt_is_the_one_transformers_renders(tokenizer_folder: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    theirs = PreTrainedTokenizerFast.from_pretrained(str(tokenizer_folder))
    tokenizer = load_tokenizer(str(tokenizer_folder))
    rendering = make_rendering("tokenizer", tokenizer)
    messages = json.loads(json.dumps(_CHAT))
    messages[2]["tool_calls"][0]["function"]["arguments"] = {"b": 1, "a": "é"}
    settings: dict[str, Any] = {
        "tools": [{"type": "function", "function": _TOOL}],
        "add_generation_prompt": True,
    }
    request = chat_request()
    assert rendered(rendering, request) == theirs.apply_chat_template(messages, tokenize=False, **settings)
    segments = [segment for part in rendering.render(request) for segment in part.segments]
    ids = theirs.apply_chat_template(messages, tokenize=True, return_dict=False, **settings)
    assert tokenizer.encode_segments(segments)[0].tolist() == list(ids)


def test_arguments_of_the_request_reach_the_template(tokenizer_folder: Path) -> None:
    rendering = make_rendering("tokenizer", load_tokenizer(str(tokenizer_folder)))
    request = chat_request(parameters=(("chat_template_kwargs", b'{"enable_thinking": false}'),))
    assert rendered(rendering, request).endswith("<think>\n\n</think>\n\n")


def test_messages_of_every_dialect_become_openai_style(tokenizer_folder: Path) -> None:
    function = {"type": "function", "function": _TOOL}
    anthropic_tool = {"name": "f", "description": "d", "input_schema": _TOOL["parameters"]}
    call = {"b": 1}
    requests = [
        request_of(
            Dialect.ANTHROPIC,
            [
                (TOOLS, [{**anthropic_tool, "cache_control": {"type": "ephemeral"}}]),
                (SYSTEM, [{"type": "text", "text": "s"}]),
                (MESSAGE, {"role": "user", "content": [{"type": "text", "text": "q"}]}),
                (
                    MESSAGE,
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "thinking", "thinking": "hm"},
                            {"type": "text", "text": "t"},
                            {"type": "tool_use", "id": "c", "name": "f", "input": call},
                        ],
                    },
                ),
                (
                    MESSAGE,
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r"}],
                    },
                ),
            ],
        ),
        request_of(
            Dialect.OPENAI_RESPONSES,
            [
                (TOOLS, [{"type": "function", **_TOOL}]),
                (SYSTEM, "s"),
                (MESSAGE, "q"),
                (MESSAGE, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
                (
                    MESSAGE,
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "t"}],
                    },
                ),
                (
                    MESSAGE,
                    {"type": "function_call", "call_id": "c", "name": "f", "arguments": json.dumps(call)},
                ),
                (MESSAGE, {"type": "function_call_output", "call_id": "c", "output": "r"}),
            ],
        ),
        request_of(
            Dialect.BEDROCK,
            [
                (
                    TOOLS,
                    [
                        {
                            "toolSpec": {
                                "name": "f",
                                "description": "d",
                                "inputSchema": {"json": _TOOL["parameters"]},
                            }
                        }
                    ],
                ),
                (SYSTEM, [{"text": "s"}, {"cachePoint": {"type": "default"}}]),
                (MESSAGE, {"role": "user", "content": [{"text": "q"}]}),
                (
                    MESSAGE,
                    {
                        "role": "assistant",
                        "content": [
                            {"reasoningContent": {"reasoningText": {"text": "hm"}}},
                            {"text": "t"},
                            {"toolUse": {"toolUseId": "c", "name": "f", "input": call}},
                        ],
                    },
                ),
                (
                    MESSAGE,
                    {
                        "role": "user",
                        "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "r"}]}}],
                    },
                ),
            ],
        ),
        request_of(
            Dialect.GEMINI,
            [
                (TOOLS, [{"functionDeclarations": [_TOOL]}]),
                (SYSTEM, {"parts": [{"text": "s"}]}),
                (MESSAGE, {"role": "user", "parts": [{"text": "q"}]}),
                (
                    MESSAGE,
                    {
                        "role": "model",
                        "parts": [
                            {"text": "hm", "thought": True},
                            {"text": "t"},
                            {"functionCall": {"id": "c", "name": "f", "args": call}},
                        ],
                    },
                ),
                (
                    MESSAGE,
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"name": "f", "response": {"out": "r"}}}],
                    },
                ),
            ],
        ),
    ]
    for request in requests:
        messages, tools = shown(tokenizer_folder, request)
        assert tools == [function]
        assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
        assert [message["content"] for message in messages][:3] == ["s", "q", "t"]
        assert messages[2]["reasoning_content"] == "hm"
        assert messages[2]["tool_calls"][0]["function"] == {"name": "f", "arguments": call}
        assert messages[3]["content"] in ("r", '{"out": "r"}')
        assert list(tools[0]["function"]["parameters"]["properties"]) == ["b", "a"]


def test_blocks_reach_templates_that_read_them_and_text_the_others(tokenizer_folder: Path) -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    request = request_of(Dialect.OPENAI_CHAT, [(MESSAGE, {"role": "user", "content": blocks})])
    assert shown(tokenizer_folder, request)[0][0]["content"] == "a\nb"
    reads = template(
        tokenizer_folder,
        "{% for block in messages[0]['content'] %}{{ block.text }},{% endfor %}",
    )
    assert rendered(reads, request) == "a,b,"


def test_prompts_share_the_stretches_they_begin_with(tokenizer_folder: Path) -> None:
    rendering = make_rendering("tokenizer", load_tokenizer(str(tokenizer_folder)))
    store = PartStore()
    turns: Parts = [(MESSAGE, {"role": "user", "content": f"turn {n}"}) for n in range(4)]
    shorter = rendering.render(request_of(Dialect.OPENAI_CHAT, turns[:3], store=store))
    request = request_of(Dialect.OPENAI_CHAT, turns, store=store)
    longer = rendering.render(request)
    assert all(a is b for a, b in zip(shorter[:-1], longer, strict=False))
    paths = [path for path in rendering.paths(request) if path]
    assert paths == [f"messages[{n}]" for n in range(4)]


def test_the_answer_goes_on_where_the_prompt_ends(tokenizer_folder: Path) -> None:
    rendering = make_rendering("tokenizer", load_tokenizer(str(tokenizer_folder)))
    answer = {"choices": [{"message": {"role": "assistant", "content": "yes"}}]}
    request = request_of(Dialect.OPENAI_CHAT, [(MESSAGE, {"role": "user", "content": "q"})], answer)
    said = rendering.render_response(request)
    assert said is not None
    assert texts([said]) == ["yes", "<|im_end|>"]


def test_a_template_that_rewrites_history_still_gives_the_answer(tokenizer_folder: Path) -> None:
    source = "{% for m in messages %}{{ loop.length ~ m.content }}{% endfor %}"
    answer = {"choices": [{"message": {"role": "assistant", "content": "yes"}}]}
    request = request_of(Dialect.OPENAI_CHAT, [(MESSAGE, {"role": "user", "content": "q"})], answer)
    said = template(tokenizer_folder, source).render_response(request)
    assert said is not None
    assert texts([said]) == ["yes", "</s>"]


def test_the_clock_a_template_reads_is_the_time_of_the_request(tokenizer_folder: Path) -> None:
    rendering = template(tokenizer_folder, "{{ strftime_now('%d %b %Y') }}: {{ messages[0].content }}")
    store = PartStore()
    turns: Parts = [(MESSAGE, {"role": "user", "content": "q"})]
    request = request_of(Dialect.OPENAI_CHAT, turns, store=store)
    request.time_ns = 1_764_428_400_000_000_000
    assert rendered(rendering, request) == "29 Nov 2025: q"
    assert rendering.account.notes() == []
    assert rendered(rendering, request_of(Dialect.OPENAI_CHAT, turns, store=store)) == "01 Jan 2000: q"
    assert any("1 January 2000 stands in" in note for note in rendering.account.notes())


def test_a_template_that_refuses_gives_way_to_the_providers_order(tokenizer_folder: Path) -> None:
    rendering = template(tokenizer_folder, "{{ raise_exception('roles must alternate') }}")
    request = request_of(Dialect.OPENAI_CHAT, [(MESSAGE, {"role": "user", "content": "q"})], b"a")
    assert rendered(rendering, request).startswith("<|im_start|>user<|im_sep|>q")
    assert any("roles must alternate (1 prompt)" in note for note in rendering.account.notes())
    assert rendering.render_response(request) is not None


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{% for i in range(10000000) %}x{% endfor %}",
        "{{ raise_exception.__globals__['json'] }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
    ],
)
def test_a_template_cannot_leave_the_sandbox(tokenizer_folder: Path, source: str) -> None:
    rendering = template(tokenizer_folder, source)
    request = request_of(Dialect.OPENAI_CHAT, [(MESSAGE, {"role": "user", "content": "q"})])
    rendering.render(request)
    assert any("the template refused" in note for note in rendering.account.notes())


def test_templates_lie_in_files_and_folders(tokenizer_folder: Path) -> None:
    tokenizer = load_tokenizer(str(tokenizer_folder))
    request = request_of(Dialect.OPENAI_CHAT, [(MESSAGE, {"role": "user", "content": "q"})])
    (tokenizer_folder / "t.json").write_text(
        json.dumps({"chat_template": [{"name": "default", "template": "D {{ bos_token }}{{ eos_token }}"}]})
    )
    assert rendered(make_rendering(str(tokenizer_folder / "t.json"), tokenizer), request) == "D <s></s>"
    (tokenizer_folder / "chat_template.jinja").write_text("beside")
    assert rendered(make_rendering("tokenizer", tokenizer), request) == "beside"


def test_what_is_no_template_is_said_in_one_sentence(tokenizer_folder: Path, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(str(tokenizer_folder))
    with pytest.raises(UsageError, match="No chat template at nowhere"):
        make_rendering("nowhere", tokenizer)
    with pytest.raises(UsageError, match="has no folder to hold a chat template"):
        make_rendering("tokenizer", load_tokenizer("o200k"))
    (tmp_path / "broken.jinja").write_text("{% for %}")
    with pytest.raises(InputError, match="line 1"):
        make_rendering(str(tmp_path / "broken.jinja"), tokenizer)
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(InputError, match="holds no chat_template"):
        make_rendering(str(tmp_path / "empty.json"), tokenizer)
    (tmp_path / "bytes.jinja").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8"):
        make_rendering(str(tmp_path / "bytes.jinja"), tokenizer)
    (tokenizer_folder / "tokenizer_config.json").write_text("{}")
    with pytest.raises(UsageError, match="No chat template lies in"):
        make_rendering("tokenizer", load_tokenizer(str(tokenizer_folder)))


def test_a_schema_has_no_place_in_a_template_and_that_is_told(tokenizer_folder: Path) -> None:
    rendering = make_rendering("tokenizer", load_tokenizer(str(tokenizer_folder)))
    parts: Parts = [(PartKind.SCHEMA, {"type": "json_schema"}), (MESSAGE, {"role": "user", "content": "q"})]
    rendering.render(request_of(Dialect.OPENAI_CHAT, parts))
    assert any("no place for the schema" in note for note in rendering.account.notes())


@pytest.mark.parametrize("dialect", [d for d in Dialect if d not in (Dialect.TEXT, Dialect.TOKENS)])
@given(value=JSON)
@settings(max_examples=40, deadline=None)
def test_any_json_is_rendered(dialect: Dialect, value: Any) -> None:
    rendering = make_rendering(_show_file(), load_o200k())
    request = request_of(dialect, [(TOOLS, [value]), (SYSTEM, value), (MESSAGE, value)], value)
    assert len(rendering.render(request)) == len(rendering.paths(request))
    rendering.render_response(request)


@cache
def load_o200k() -> Tokenizer:
    return load_tokenizer("o200k")


@cache
def _show_file() -> str:
    file = Path(_FOLDER.name) / "show.jinja"
    file.write_text(SHOW)
    return str(file)
