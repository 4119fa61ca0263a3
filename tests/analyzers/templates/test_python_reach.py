"""Which functions may send a prompt: nothing that sends one is passed over, and much that cannot is."""

import ast
from pathlib import Path

import pytest

from analyzers.templates.front_ends import Readers, read_file
from analyzers.templates.parts import Condition, Source, Span
from analyzers.templates.python_project import PythonFile, PythonProject
from analyzers.templates.python_reach import Reach
from analyzers.templates.python_values import MOST_PARTS, Abstract, Choice, Known, merged

CASES = sorted((Path(__file__).parent / "python_cases").rglob("*.py"))
CREATE = 'create(model="m", max_tokens=9, messages=[{"role": "user", "content": q}])'

SENDS = {
    "a client": f"import anthropic\ndef ask(q):\n    return anthropic.Anthropic().messages.{CREATE}\n",
    "an import under another name": (
        "from litellm import completion as c\n"
        'def ask(q):\n    return c(model="m", messages=[{"role": "user", "content": q}])\n'
    ),
    "a method under another name": (
        "import anthropic\nsend = anthropic.Anthropic().messages.create\n"
        'def ask(q):\n    return send(model="m", messages=[{"role": "user", "content": q}])\n'
    ),
    "a method under another name, with no message": (
        "from openai import OpenAI\nsend = OpenAI().responses.create\n"
        'def ask(q):\n    return send(model="m", input=q)\n'
    ),
    "a method looked for by its name": (
        "import anthropic\ndef ask(q):\n    send = getattr(anthropic.Anthropic().messages, 'create')\n"
        '    return send(model="m", messages=[{"role": "user", "content": q}])\n'
    ),
    "arguments in a dict": (
        "from openai import OpenAI\ndef ask(q):\n"
        '    body = {"model": "m", "messages": [{"role": "user", "content": q}]}\n'
        "    return OpenAI().chat.completions.create(**body)\n"
    ),
    "a function that is handed on": (
        "import anthropic\ndef again(send, q):\n"
        '    return send(model="m", messages=[{"role": "user", "content": q}])\n'
        "def ask(q):\n    return again(anthropic.Anthropic().messages.create, q)\n"
    ),
    "a thread": (
        "import asyncio, anthropic\nasync def ask(q):\n"
        "    return await asyncio.to_thread(anthropic.Anthropic().messages.create, "
        'model="m", messages=[{"role": "user", "content": q}])\n'
    ),
    "a table of functions": (
        f"import anthropic\ndef one(q):\n    return anthropic.Anthropic().messages.{CREATE}\n"
        'ways = {}\nways["one"] = one\ndef ask(q):\n    return ways["one"](q)\n'
    ),
    "an inherited method": (
        f"import anthropic\nclass Base:\n    def send(self, q):\n        return self.client.messages.{CREATE}\n"
        "class Own(Base):\n    def __init__(self):\n        self.client = anthropic.Anthropic()\n"
        "    def ask(self, q):\n        return self.send(q)\n"
    ),
    "a posted body": (
        "import requests\ndef ask(q):\n"
        '    return requests.post("https://api.openai.com/v1/chat/completions", '
        'json={"model": "m", "messages": [{"role": "user", "content": q}]})\n'
    ),
    "a chat model": (
        "from langchain_openai import ChatOpenAI\n"
        "from langchain_core.messages import SystemMessage\n"
        "def ask(q):\n    return ChatOpenAI().invoke([SystemMessage(content=q)])\n"
    ),
    "an engine": (
        "from vllm import LLM\nengine = LLM(model='m')\ndef ask(q):\n    return engine.generate([q])\n"
        "# messages = from vllm\n"
    ),
}

SENDS_NOTHING = {
    "messages that are read": 'def count(body):\n    return len(body["messages"]) + len(body.get("messages", ()))\n',
    "a field of that name": (
        "class Record:\n    def __init__(self, messages):\n        self.messages = messages\n"
        "def made(rows):\n    return Record(messages=list(rows))\n"
    ),
    "arguments of Python's own functions": (
        "from dataclasses import replace\ndef changed(body, **more):\n    return replace(body, **more)\n"
    ),
    "a chunk that is encoded": "def size(messages):\n    return len(str(messages).encode('utf-8'))\n",
}


def parsed(code: str, path: str = "app.py") -> tuple[PythonProject, PythonFile]:
    project = PythonProject()
    file = project.parse(path, code)
    assert isinstance(file, PythonFile)
    project.files[path] = file
    return project, file


def last_function(file: PythonFile) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.ClassDef | None]:
    last = file.tree.body[-1]
    owner = last if isinstance(last, ast.ClassDef) else None
    node = owner.body[-1] if owner is not None else last
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node, owner


@pytest.mark.parametrize("code", SENDS.values(), ids=SENDS)
def test_what_sends_a_prompt_is_reached(code: str, tmp_path: Path) -> None:
    project, file = parsed(code)
    assert Reach(project).may_send(file, *last_function(file))
    (tmp_path / "app.py").write_text(code)
    assert read_file(tmp_path / "app.py", Readers()).prompts


@pytest.mark.parametrize("code", SENDS_NOTHING.values(), ids=SENDS_NOTHING)
def test_what_calls_no_model_is_passed_over(code: str) -> None:
    project, file = parsed(code)
    assert not Reach(project).may_send(file, *last_function(file))


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from gate import send", "send"),
        ("import gate", "gate.send"),
        ("import gate as g", "g.send"),
        ("from gate import *", "send"),
        ("from again import send as s", "s"),
        ("from again import gate", "gate.send"),
    ],
)
def test_names_are_followed_into_the_files_that_they_come_from(
    imported: str, called: str, tmp_path: Path
) -> None:
    (tmp_path / "gate.py").write_text(
        f"import anthropic\ndef send(q):\n    return anthropic.Anthropic().messages.{CREATE}\n"
        "def size(q):\n    return len(q)\n"
    )
    (tmp_path / "again.py").write_text("import gate\nfrom gate import send, size\n")
    for name, expected in (("send", True), ("size", False)):
        code = f"{imported}\ndef ask(q):\n    return {called}(q)\n".replace("send", name)
        project, file = parsed(code, str(tmp_path / "app.py"))
        assert Reach(project).may_send(file, *last_function(file)) is expected


def test_an_import_inside_a_function_counts(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(
        f"import anthropic\ndef send(q):\n    return anthropic.Anthropic().messages.{CREATE}\n"
    )
    code = "def ask(q):\n    from gate import send\n    return send(q)\n"
    project, file = parsed(code, str(tmp_path / "app.py"))
    assert Reach(project).may_send(file, *last_function(file))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_say_the_same_as_when_every_function_is_followed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> Source:
        return read_file(path, Readers())

    some = read()
    monkeypatch.setattr(Reach, "may_send", lambda *_: True)
    assert read() == some


def test_a_choice_does_not_double_with_every_round() -> None:
    def guard(line: int) -> Condition:
        return Condition("x", Span("a.py", line, line, line, 1, line, 2))

    value: Abstract = Known(0)
    for line in range(60):
        value = merged(guard(line), merged(guard(-line), value, Known(line)), value)
    assert isinstance(value, Choice)
    assert 100 < value.leaves <= MOST_PARTS
