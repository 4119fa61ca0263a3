"""Whatever a file holds, reading it ends with prompts or with located problems, never with an exception."""

import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.rules.checking import Checks, check_source
from analyzers.rules.registry import select_rules
from analyzers.templates.front_ends import Readers, read_bytes, read_file
from analyzers.templates.parts import Source, Text

NAMES = (
    "a.j2",
    "a.jinja",
    "a.hbs",
    "a.prompt",
    "a.prompty",
    "a.baml",
    "a.json",
    "a.jsonl",
    "a.yaml",
    "a.toml",
    "a.txt",
)
PIECES = [
    "{{", "}}", "{%", "%}", "{#", "#}", "{", "}", "if x", "endif", "for a in b", "endfor", "else", "now()", "user.name",
    "'", '"', "|", "upper", "(", ")", "[", "]", ":", ",", "\n", " ", "---\n", "#each d", "/each", "{{{", "set y = 1", "macro m(a)",
    "endmacro", "m(1)", "include 'a.j2'", "raw", "endraw", "-", "~", "messages", "role", "content", "template", "prompt #\"", "\"#",
    "system:\n", "${x}", "{x}", "null", "é", "\u0000", "block b", "endblock", "extends 'a.j2'", "super()", "not", "==",
]  # fmt: skip
RULES = select_rules()


def checked(name: str, data: bytes) -> Source:
    source = read_bytes(name, data, Readers())
    check_source(source, Checks(RULES, len))
    return source


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(NAMES), st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_mix_of_template_syntax_is_read_or_refused_with_a_place(name: str, pieces: list[str]) -> None:
    source = checked(name, "".join(pieces).encode())
    for problem in source.problems:
        assert problem.message
        assert problem.line is None or 1 <= problem.line <= "".join(pieces).count("\n") + 2


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(NAMES), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    checked(name, data)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=string.ascii_letters + " \n.,", max_size=200))
def test_text_without_placeholders_is_one_fixed_text(text: str) -> None:
    source = checked("a.txt", text.encode())
    parts = [part for prompt in source.prompts for part in prompt.parts]
    assert all(isinstance(part, Text) for part in parts)
    if text.strip():
        assert "".join(part.text for part in parts) == text


@pytest.mark.parametrize(
    ("name", "text", "line", "column"),
    [
        ("a.j2", "ok\n{% if x %}", 2, None),
        ("a.j2", "one\ntwo {{ a b }}", 2, 10),
        ("a.j2", "{% endfor %}", 1, 4),
        ("a.j2", "x\n{{ a | nosuchfilter }}", 2, None),
        ("a.hbs", "a\n{{#if x}}b", 2, None),
        ("a.json", '{"a": 1,\n "b" 2}', 2, 6),
        ("a.yaml", "a: [1,\nb: 2", 2, None),
        ("a.toml", "a = 1\nb = \n", 2, None),
        ("a.jsonl", '{"model": "m", "input": "x"}\n{"model": ', 2, None),
    ],
)
def test_syntax_errors_have_their_place(name: str, text: str, line: int, column: int | None) -> None:
    problem = checked(name, text.encode()).problems[0]
    assert problem.line == line
    if column is not None:
        assert problem.column == column


def test_a_byte_that_is_not_utf8_is_located() -> None:
    problem = checked("a.j2", "Grüße\nvon ".encode() + b"\xff!").problems[0]
    assert (problem.line, problem.column) == (2, 5)
    assert "0xff" in problem.message


def test_utf16_is_named() -> None:
    assert "UTF-16" in checked("a.j2", "x".encode("utf-16")).problems[0].message


def test_cyclic_includes_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("Start {% include 'b.j2' %} end {{ user.name }} of the story.")
    (tmp_path / "b.j2").write_text("middle {% include 'a.j2' %}")
    source = read_file(tmp_path / "a.j2", Readers())
    assert "includes itself" in source.problems[0].message
    assert "end" in "".join(part.text for part in source.prompts[0].parts if isinstance(part, Text))


def test_a_macro_that_calls_itself_ends() -> None:
    source = checked("a.j2", b"{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }} text")
    assert not source.problems


def test_ten_megabytes_are_read() -> None:
    text = "{{ user.name }}\n" + "Always answer briefly and kindly. " * 300_000
    assert len(checked("a.j2", text.encode()).prompts[0].parts) == 2


def test_deep_nesting_is_refused_not_crashed() -> None:
    assert checked("a.json", b"[" * 100_000).problems
    assert checked("a.j2", b"{{ " + b"(" * 50_000 + b" }}").problems
    assert checked("a.yaml", b"[" * 5_000).problems


def test_a_missing_include_is_located(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("x\n  {% include 'nowhere.j2' %}")
    problem = read_file(tmp_path / "a.j2", Readers()).problems[0]
    assert (problem.line, problem.column) == (2, 3)


def test_an_include_does_not_leave_the_project(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hidden")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.j2").write_text("{% include '../secret.txt' %}")
    assert read_file(inner / "a.j2", Readers()).problems
