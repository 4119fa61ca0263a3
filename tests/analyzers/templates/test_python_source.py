"""What the front end of Python source gives: parts in rendered order with their places, and located problems."""

import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.rules.checking import Checks, check_source
from analyzers.rules.registry import select_rules
from analyzers.templates.front_ends import Readers, read_bytes, read_file
from analyzers.templates.parts import Cause, Condition, Marker, Prompt, Scope, Source, Text, Value

RULES = select_rules()


def read(code: str) -> Source:
    return read_bytes("app.py", code.encode(), Readers())


def only_prompt(code: str) -> Prompt:
    source = read(code)
    assert not source.problems
    (prompt,) = source.prompts
    return prompt


def test_tools_come_before_the_system_text_and_this_before_the_messages() -> None:
    prompt = only_prompt("""
import anthropic
def ask(q):
    return anthropic.Anthropic().messages.create(
        messages=[{"role": "user", "content": q}], system="Be brief.",
        tools=[{"name": "look"}], model="claude-sonnet-4-5")
""")
    assert [part.place.section for part in prompt.parts if part.place.section] == (
        ["tools"] * 4 + ["system", "messages"]
    )
    assert (prompt.provider, prompt.model, prompt.name) == ("anthropic", "claude-sonnet-4-5", "ask")


def test_a_part_stands_where_its_source_does_also_behind_wide_characters_and_in_long_strings() -> None:
    code = '''
from openai import OpenAI
import time
def ask(q):
    text = "ÄÖ€", f"""Zeit:
  {time.time()} und {q}"""
    return OpenAI().responses.create(input=text[1], model="m")
'''
    source = read(code)
    for part in source.prompts[0].parts:
        shown = source.text[part.span.start : part.span.end]
        if isinstance(part, Value):
            assert shown == "{" + part.expression + "}"
            assert source.text.split("\n")[part.span.line - 1][part.span.column - 1 :].startswith(shown)


def test_text_added_in_a_branch_is_under_its_condition() -> None:
    prompt = only_prompt("""
from openai import OpenAI
def ask(user, q):
    system = "Be kind. "
    if user.admin:
        system += "You may delete. "
    return OpenAI().responses.create(instructions=system + "Be brief.", input=q, model="m")
""")
    texts = [part for part in prompt.parts if isinstance(part, Text)]
    assert [part.text for part in texts] == ["Be kind. ", "You may delete. ", "Be brief."]
    assert [len(part.guards) for part in texts] == [0, 1, 0]
    assert isinstance(texts[1].guards[0], Condition)
    assert texts[1].guards[0].names == ("user.admin",)


def test_a_clock_at_import_lasts_as_long_as_the_process() -> None:
    prompt = only_prompt("""
from datetime import datetime
from openai import OpenAI
STARTED = datetime.now()
def ask(q):
    return OpenAI().responses.create(instructions=f"{STARTED} Be brief.", input=q, model="m")
""")
    value = next(part for part in prompt.parts if isinstance(part, Value))
    assert (value.cause, value.scope) == (Cause.CLOCK, Scope.SESSION)
    assert value.origin is not None
    assert (value.origin.line, value.span.line) == (4, 6)


def test_markers_know_their_lifetime_and_block() -> None:
    prompt = only_prompt("""
import anthropic
MARK = {"type": "ephemeral", "ttl": "1h"}
def ask(q):
    system = [{"type": "text", "text": "Rules.", "cache_control": MARK}]
    return anthropic.Anthropic().messages.create(system=system, messages=[{"role": "user", "content": q}], model="m")
""")
    (marker,) = [part for part in prompt.parts if isinstance(part, Marker)]
    assert (marker.on, marker.ttl, marker.block_text) == ("text", "1h", "Rules.")


def test_a_helper_is_judged_by_the_calls_that_the_file_shows() -> None:
    source = read("""
from openai import OpenAI
def send(prompt, context):
    return OpenAI().responses.create(input=context + prompt, model="m")
def ask(q):
    return send(q, "Answer in one word. ")
""")
    assert [prompt.name for prompt in source.prompts] == ["send"]
    assert isinstance(source.prompts[0].parts[0], Text)


def test_syntax_errors_have_a_place_and_the_other_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n    pass\n")
    source = read_file(tmp_path / "broken.py", Readers())
    assert [(problem.line, "not Python" in problem.message) for problem in source.problems] == [(2, True)]


def test_a_file_that_sends_no_prompt_has_no_parts() -> None:
    assert (
        read("import time\nprint(f'{time.time()} is a long text that nobody sends to any model')\n").prompts
        == ()
    )


def test_modules_that_import_each_other_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "from b import text\nfrom openai import OpenAI\nHEAD = 'Be kind.'\n"
        "def ask(q):\n    return OpenAI().responses.create(instructions=text(), input=q)\n"
    )
    (tmp_path / "b.py").write_text("from a import HEAD\ndef text():\n    return HEAD + text()\n")
    source = read_file(tmp_path / "a.py", Readers())
    assert [part.text for part in source.prompts[0].parts if isinstance(part, Text)][:1] == ["Be kind."]


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "(" * 5000 + ")" * 5000,
        "x = " + "+".join(["'a'"] * 20000),
        "x = " + "[" * 150 + "]" * 150,
        "x = " + "-" * 3000 + "1",
        "def f():\n" + "".join(" " * (d + 1) + "if x:\n" for d in range(90)) + " " * 92 + "pass\n",
        "\n".join(f"if a{n}:\n    s = s + s + 'x'\nelse:\n    s = 'y' + s" for n in range(60)),
        "def f(a):\n    return [f(a)] + f(a) if a else f(a) + f(a)\nf(1)",
    ],
    ids=["parentheses", "sum", "lists", "signs", "branches", "doubling", "recursion"],
)
def test_deep_or_growing_source_ends(code: str) -> None:
    source = read(f"{code}\nfrom openai import OpenAI\nOpenAI().responses.create(input=x, instructions=s)\n")
    for problem in source.problems:
        assert problem.line is not None


def test_a_very_large_file_is_refused_with_its_size() -> None:
    source = read("x = [\n" + "'openai.chat.completions.create',\n" * 320_000 + "]\n")
    assert [problem.line for problem in source.problems] == [1]
    assert "10,8" in source.problems[0].message


PIECES = [
    "def f(a, *b, c=1, **d):\n", "    ", "return ", "x = ", "x += ", "for x in y:\n", "if x:\n", "else:\n", "while x:\n", "f'{x}'",
    "'a'", "[x, *y]", "{'role': 'user', **x}", "{1, 2}", "x.append(y)", "x.insert(0, y)", "x.pop(0)", "del x[0]", "(", ")", "+", "%",
    "x[-3:]", "lambda z: z", "[i for i in x if i]", "client.messages.create(messages=x, **y)", "client.responses.create(input=x)",
    "'{}'.format(x)", "','.join(x)", "json.dumps(x)", "class C(B):\n", "self.x", "import a.b\n", "from . import c\n", "\n", "await ",
    "yield x", "with x as y:\n", "try:\n", "except E as e:\n", "match x:\n", "case [a, b]:\n", "global x\n", "é", "\\", '"""', "\x00",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_mix_of_python_is_read_or_refused_with_a_place(pieces: list[str]) -> None:
    source = read("import openai\n" + "".join(pieces))
    check_source(source, Checks(RULES, len))
    for problem in source.problems:
        assert problem.line is not None


NAMES = st.sampled_from(["a", "b", "msgs", "text"])
EXPRESSIONS = st.recursive(
    st.one_of(NAMES, st.just("[]"), st.just("{}"), st.just("datetime.now()"), st.text(string.ascii_letters, max_size=4).map(repr)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "%", "or", "and", "|", "*", "=="]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda e: f"[{e}, *{e}]"),
        inner.map(lambda e: f"{{'role': 'system', 'content': {e}}}"),
        inner.map(lambda e: f"[i for i in {e} if {e}]"),
        inner.map(lambda e: f"sorted({e})[-2:]"),
        inner.map(lambda e: f"({e} if {e} else b)"),
        inner.map(lambda e: f"helper({e}, k={e})"),
        inner.map(lambda e: f"set({e})"),
    ),
    max_leaves=8,
)  # fmt: skip
STATEMENTS = st.one_of(
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"{t[0]} = {t[1]}"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"{t[0]} += {t[1]}"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"{t[0]}.append({t[1]})"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"{t[0]}[0] = {t[1]}"),
    st.tuples(EXPRESSIONS, NAMES).map(lambda t: f"if {t[0]}: {t[1]} = {t[0]}"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"for {t[0]} in {t[1]}: msgs.append({t[0]})"),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(STATEMENTS, max_size=8))
def test_any_program_that_sends_a_prompt_is_followed(statements: list[str]) -> None:
    body = "\n    ".join(["msgs = []", *statements])
    source = read(
        "from datetime import datetime\nimport openai\ndef helper(x, k):\n    return [x] + k\n"
        f"def ask(a, b, text):\n    {body}\n    openai.OpenAI().chat.completions.create(messages=msgs)\n"
    )
    assert not source.problems
    check_source(source, Checks(RULES, len))
    for prompt in source.prompts:
        for part in prompt.parts:
            assert 0 <= part.span.start <= part.span.end <= len(source.text)
