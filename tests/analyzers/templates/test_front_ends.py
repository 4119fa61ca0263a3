"""Each front end gives the parts in the order in which they reach the model, each at its place in the file."""

from pathlib import Path

import pytest

from analyzers.templates.front_ends import Readers, read_bytes, read_file
from analyzers.templates.parts import Condition, Loop, Marker, Part, Source, Text, Value


def source_of(name: str, text: str) -> Source:
    source = read_bytes(name, text.encode(), Readers())
    assert not source.problems
    return source


def parts_of(name: str, text: str) -> list[Part]:
    return [part for prompt in source_of(name, text).prompts for part in prompt.parts]


def shape(parts: list[Part]) -> list[str]:
    """Each part in short: its text, `<expression>`, or `|` for a marker, with the guards before it."""
    result = []
    for part in parts:
        guards = "".join(f"[{g.over if isinstance(g, Loop) else f'{g.test}/{g.arm}'}]" for g in part.guards)
        shown = (
            part.text
            if isinstance(part, Text)
            else f"<{part.expression}>"
            if isinstance(part, Value)
            else "|"
        )
        result.append(guards + shown)
    return result


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.j2", "Hi {{ x }}!", ["Hi ", "<x>", "!"]),
        ("a.j2", "a{# c #}b{% raw %}{{ y }}{% endraw %}", ["a", "b", "{{ y }}"]),
        ("a.j2", "{% if a %}x{% elif b %}y{% else %}z{% endif %}", ["[a/0]x", "[a/1]y", "[a/2]z"]),
        ("a.j2", "{% for d in ds %}- {{ d.t }}{% endfor %}", ["[ds]- ", "[ds]<d.t>"]),
        ("a.j2", "{% set n = 'Ann' %}I am {{ n ~ '!' }}", ["I am ", "Ann!"]),
        ("a.j2", "{% set n %}Ann{% endset %}I am {{ n }}", ["I am ", "Ann"]),
        ("a.j2", "{% for x in ['a', 'b'] %}{{ x }}{% endfor %}", ["a", "b"]),
        ("a.j2", "{% macro m(a, b='k') %}<{{ a }}{{ b }}>{% endmacro %}{{ m(u) }}", ["<", "<a>", "k", ">"]),
        (
            "a.j2",
            "{% macro m() %}({{ caller() }}){% endmacro %}{% call m() %}in{% endcall %}",
            ["(", "in", ")"],
        ),
        ("a.j2", "{% if not false %}x{% endif %}{% if not true and y %}z{% endif %}", ["x"]),
        ("a.j2", "{% if 1 == 2 or true %}x{% endif %}{% if false %}y{% endif %}", ["x"]),
        ("a.hbs", "Hi {{x}}{{{y}}}!", ["Hi ", "<x>", "<y>", "!"]),
        ("a.hbs", "{{! note }}{{#if a}}x{{else}}y{{/if}}", ["[a/0]x", "[a/1]y"]),
        ("a.hbs", "{{#each ds}}- {{this}}{{/each}}", ["[ds]- ", "[ds]<this>"]),
        ("a.hbs", "{{#items}}{{name}}{{/items}}{{^items}}none{{/items}}", ["[items]<name>", "[items/0]none"]),
        ("a.txt", "Hi {x}, ${y} and %(z)s.", ["Hi ", "<x>", ", ", "<y>", " and ", "<z>", "."]),
        ("a.txt", '{"a": {b}, "c": [{d}]} {e}', ['{"a": {b}, "c": [{d}]} ', "<e>"]),
        ("a.txt", 'Escaped {{"a": 1}} {b}', ['Escaped {{"a": 1}} ', "<b>"]),
        ("a.yaml", "prompt: |\n  Hi {x}!\n", ["Hi ", "<x>", "!\n"]),
        ("a.json", '{"template": "Hi {{ x }}!"}', ["Hi ", "<x>", "!"]),
        ("a.toml", 'prompt = "Hi {x}!"\n', ["Hi ", "<x>", "!"]),
        ("a.yaml", "on: push\nrun: echo ${{ github.ref }}\n", []),
        ("a.json", '{"name": "x", "scripts": {"build": "echo ${HOME}"}}', []),
    ],
)
def test_parts_are_in_the_order_of_the_rendered_prompt(name: str, text: str, expected: list[str]) -> None:
    assert shape(parts_of(name, text)) == expected


def test_includes_and_blocks_are_in_place(tmp_path: Path) -> None:
    (tmp_path / "base.j2").write_text("A{% block b %}base{% endblock %}C{% include 'tail.j2' %}")
    (tmp_path / "child.j2").write_text(
        "{% extends 'base.j2' %}{% block b %}{{ super() }}+{{ x }}{% endblock %}"
    )
    (tmp_path / "tail.j2").write_text("D{{ y }}")
    source = read_file(tmp_path / "child.j2", Readers())
    parts = list(source.prompts[0].parts)
    assert shape(parts) == ["A", "base", "+", "<x>", "C", "D", "<y>"]
    assert [Path(part.span.path).name for part in parts[-2:]] == ["tail.j2", "tail.j2"]


def test_imported_macros_are_expanded(tmp_path: Path) -> None:
    (tmp_path / "m.j2").write_text("{% macro greet(who) %}Hi {{ who }}{% endmacro %}")
    (tmp_path / "a.j2").write_text("{% import 'm.j2' as m %}{% from 'm.j2' import greet as g %}{{ g(user) }}")
    source = read_file(tmp_path / "a.j2", Readers())
    (text, value) = source.prompts[0].parts
    assert isinstance(value, Value)
    assert value.names == ("user",)
    assert text.span.path.endswith("m.j2")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.j2", "one\n  {{ who }} two"),
        ("a.hbs", "one\n  {{ who }} two"),
        ("a.txt", "one\n  {who} two"),
        ("a.prompty", "---\nname: x\n---\nsystem:\n  {{ who }} two"),
        ("a.yaml", "prompt: |\n  one\n  {who} two\n"),
        ("a.yaml", "a:\n  prompt: 'see {who} two'\n"),
        ("a.json", '{\n  "prompt": "see {who} two"\n}'),
        ("a.toml", '[a]\nprompt = """\n  {who} two\n"""\n'),
        (
            "a.baml",
            'function F(who: string) -> string {\n  client X\n  prompt #"\n    {{ who }} two\n  "#\n}',
        ),
    ],
)
def test_values_stand_where_the_file_has_them(name: str, text: str) -> None:
    (value,) = (part for part in parts_of(name, text) if isinstance(part, Value))
    line = text.split("\n")[value.span.line - 1]
    assert line[value.span.column - 1 :].startswith("{")
    assert text[value.span.start : value.span.end].strip("{} ") == "who"


def test_roles_of_prompty_and_dotprompt_and_baml_are_sections() -> None:
    for name, text in (
        ("a.prompty", "---\nname: x\n---\nsystem:\nBe kind.\nuser:\n{{question}}\n"),
        ("a.prompt", '---\nmodel: m/x\n---\n{{role "system"}}Be kind.{{role "user"}}{{question}}'),
        (
            "a.baml",
            'function F(q: string) -> string { client X prompt #"{{ _.role("system") }}Be.{{ _.role("user") }}{{ q }}"# }',
        ),
    ):
        sections = [part.place.section for part in parts_of(name, text)]
        assert sections[0] == "system", name
        assert sections[-1] == "messages", name


def test_a_template_string_of_baml_is_expanded_at_its_place() -> None:
    text = 'template_string Head(n: string) #"Hello {{ n }}"#\nfunction F(who: string) -> string {\n prompt #"{{ Head(who) }}!"#\n}'
    parts = parts_of("a.baml", text)
    assert shape(parts) == ["Hello ", "<n>", "!"]
    value = parts[1]
    assert isinstance(value, Value)
    assert value.names == ("who",)
    assert value.span.line == 1


def test_messages_in_yaml_are_one_prompt_with_sections() -> None:
    text = "model: gpt-4.1\nmessages:\n  - role: system\n    content: Be kind to {user}.\n  - role: user\n    content: '{question}'\n"
    (prompt,) = source_of("a.yaml", text).prompts
    assert prompt.model == "gpt-4.1"
    assert [part.place.section for part in prompt.parts] == ["system", "system", "system", "messages"]


def test_request_bodies_are_in_the_providers_order_with_their_markers() -> None:
    text = (
        '{"id": "r1", "request": {"model": "claude-opus-5", "messages": [{"role": "user", "content": "Hi"}], '
        '"system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}], '
        '"tools": [{"name": "f"}]}}'
    )
    (prompt,) = source_of("a.json", text).prompts
    assert (prompt.name, prompt.provider) == ("r1", "anthropic")
    assert [part.place.path for part in prompt.parts] == [
        "tools[0]",
        "system[0].text",
        "system[0]",
        "messages[0].content",
    ]
    marker = prompt.parts[2]
    assert isinstance(marker, Marker)
    assert (marker.ttl, marker.on, marker.block_text) == ("1h", "text", "Be kind.")


def test_a_template_of_a_request_is_no_request() -> None:
    for text in (
        '{"model": "m", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "{{ q }}"}]}',
        '{"messages": [{"role": "system", "content": "It is {{ now }}."}, {"role": "user", "content": "Hello"}]}',
    ):
        (prompt,) = source_of("a.json", text).prompts
        assert prompt.kind == "structured"


def test_records_of_a_json_lines_file_are_prompts_with_their_line() -> None:
    text = '{"model": "m", "messages": [{"role": "user", "content": "a"}]}\n\n{"model": "m", "messages": [{"role": "user", "content": "b"}]}\n'
    prompts = source_of("a.jsonl", text).prompts
    assert [prompt.parts[0].span.line for prompt in prompts] == [1, 3]


def test_guards_name_what_they_read() -> None:
    (part,) = parts_of("a.j2", "{% if user.plan == 'pro' and now() %}x{% endif %}")
    (guard,) = part.guards
    assert isinstance(guard, Condition)
    assert guard.names == ("user.plan",)
    assert guard.calls == ("now()",)


def test_windows_line_ends_and_the_mark_are_noted_not_lost() -> None:
    source = read_bytes("a.j2", b"\xef\xbb\xbfa\r\nb\n", Readers())
    assert source.text == "a\nb\n"
    assert (source.had_bom, source.windows_lines, source.line_count) == (True, 1, 2)
