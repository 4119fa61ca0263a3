"""Which front end reads a file, by its name and content. A new kind of file is one reader and one line here."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from analyzers.errors import InputError
from analyzers.templates.baml import read_baml
from analyzers.templates.comments import directives
from analyzers.templates.front_matter import has_front_matter, read_front_matter
from analyzers.templates.jinja import read_jinja
from analyzers.templates.jinja_files import JinjaFiles
from analyzers.templates.parts import LineIndex, Place, Problem, Source
from analyzers.templates.placeholders import style_of
from analyzers.templates.python_project import PythonProject
from analyzers.templates.reading import FileText, decode, read_text
from analyzers.templates.request_body import is_request, read_requests
from analyzers.templates.structured import read_structured
from analyzers.templates.text_blocks import node_source, read_style
from analyzers.templates.trees import Node, TreeError, json_at, parse_json, parse_toml, parse_yaml

_CHAT = re.compile(
    r"add_generation_prompt|\bfor\s+\w+\s+in\s+(?:loop_)?messages\b.*?(?:\.role\b|\[['\"]role)", re.S
)
_WITH_COMMENTS = {".yaml", ".yml", ".toml", ".md", ".txt", ".prompt", ".prompty", ".baml"}


@dataclass
class Readers:
    """What the front ends share in one run: where includes are looked for, and the project's own filters."""

    roots: tuple[Path, ...] = ()
    filters: frozenset[str] = frozenset()
    files: JinjaFiles = field(init=False)
    python: PythonProject = field(default_factory=PythonProject)

    def __post_init__(self) -> None:
        self.files = JinjaFiles(self.roots)


def read_file(path: Path, readers: Readers) -> Source:
    """The file as prompts. What cannot be read is in `problems`; nothing is raised for it."""
    try:
        return read_source(str(path), read_text(path), readers)
    except InputError as problem:
        return Source(str(path), "", problems=(_unreadable(str(path), str(problem)),))


def read_bytes(name: str, data: bytes, readers: Readers) -> Source:
    """Like `read_file`, for what was given on standard input; `name` decides the front end."""
    try:
        return read_source(name, decode(data, name), readers)
    except InputError as problem:
        return Source(name, "", problems=(_unreadable(name, str(problem)),))


def _unreadable(path: str, message: str) -> Problem:
    place = re.match(rf"{re.escape(path)}:(\d+):(\d+): (.*)", message, re.S)
    return Problem(path, place[3], int(place[1]), int(place[2])) if place else Problem(path, message)


def read_source(path: str, file: FileText, readers: Readers) -> Source:
    """The text as prompts, by the front end that its name and content ask for."""
    suffix = Path(path).suffix.lower()
    reader = _BY_SUFFIX.get(suffix, _plain)
    try:
        source = reader(path, file.text, readers)
    except RecursionError:
        source = Source(path, file.text, problems=(Problem(path, "nested too deeply to be read", 1),))
    if suffix in SOURCE_CODE:
        # Python itself reads past the mark and turns line ends into \n: neither reaches the prompt.
        return source
    comments = source.comments
    if suffix in _WITH_COMMENTS:
        comments = (*comments, *directives(path, file.text, comments))
    return replace(
        source,
        comments=comments,
        had_bom=file.had_bom,
        windows_lines=file.windows_lines,
        line_count=file.lines,
    )


def _jinja(path: str, text: str, readers: Readers) -> Source:
    chat = "messages" in text and _CHAT.search(text) is not None
    return read_jinja(path, text, readers.files, chat=chat, filters=readers.filters)


def _handlebars(path: str, text: str, readers: Readers) -> Source:
    return read_style(path, text, readers.files, "handlebars", readers.filters)


def _plain(path: str, text: str, readers: Readers) -> Source:
    if has_front_matter(text):
        return read_front_matter(path, text, readers.files, readers.filters)
    return read_style(path, text, readers.files, style_of(text), readers.filters)


def _prompt_file(path: str, text: str, readers: Readers) -> Source:
    """`.prompt` files: dotprompt when they have a head, plain text with placeholders else."""
    if has_front_matter(text):
        return read_front_matter(path, text, readers.files, readers.filters, dotprompt=True)
    return _plain(path, text, readers)


def _prompty(path: str, text: str, readers: Readers) -> Source:
    return read_front_matter(path, text, readers.files, readers.filters)


def _baml(path: str, text: str, readers: Readers) -> Source:
    return read_baml(path, text, readers.files, readers.filters)


def _json(path: str, text: str, readers: Readers) -> Source:
    try:
        first, end = json_at(text, 0)
    except TreeError as problem:
        at = LineIndex(path, text).position(problem.offset)
        return Source(path, text, problems=(Problem(path, problem.message, *at),))
    sample = first.elements()[0] if first.kind == "list" and first.elements() else first
    if is_request(sample) or end != len(text):
        return read_requests(path, text)
    templates = first.get("chat_template")
    if templates is not None:
        return _tokenizer_config(path, text, templates, readers)
    return _tree(path, text, readers, parse_json)


def _tokenizer_config(path: str, text: str, templates: Node, readers: Readers) -> Source:
    """The chat templates of a Hugging Face tokenizer_config.json: one string, or a list of named ones."""
    lines = LineIndex(path, text)
    named = [("", templates)] if templates.kind == "string" else []
    named += [
        (item.string("name") or "", node) for item in templates.elements() if (node := item.get("template"))
    ]
    result = Source(path, text)
    for name, node in named:
        source = node_source(
            path, node, text, lines, readers.files, style="chat", place=Place(path="chat_template")
        )
        prompts = tuple(replace(prompt, name=name) for prompt in source.prompts)
        result = replace(
            result, prompts=(*result.prompts, *prompts), problems=(*result.problems, *source.problems)
        )
    return result


def _yaml(path: str, text: str, readers: Readers) -> Source:
    return _tree(path, text, readers, parse_yaml)


def _toml(path: str, text: str, readers: Readers) -> Source:
    return _tree(path, text, readers, parse_toml)


def _tree(path: str, text: str, readers: Readers, parse: Callable[[str], Node]) -> Source:
    try:
        root = parse(text)
    except TreeError as problem:
        at = LineIndex(path, text).position(problem.offset)
        return Source(path, text, problems=(Problem(path, problem.message, *at),))
    return read_structured(path, text, root, readers.files, readers.filters)


def _python(path: str, text: str, readers: Readers) -> Source:
    from analyzers.templates.python_source import read_python

    return read_python(path, text, readers.python)


def _requests(path: str, text: str, readers: Readers) -> Source:
    return read_requests(path, text)


Reader = Callable[[str, str, Readers], Source]

_BY_SUFFIX: dict[str, Reader] = {
    **dict.fromkeys((".j2", ".jinja", ".jinja2"), _jinja),
    **dict.fromkeys((".hbs", ".handlebars", ".mustache"), _handlebars),
    ".prompt": _prompt_file,
    ".prompty": _prompty,
    ".baml": _baml,
    ".json": _json,
    **dict.fromkeys((".jsonl", ".ndjson"), _requests),
    **dict.fromkeys((".yaml", ".yml"), _yaml),
    ".toml": _toml,
    ".py": _python,
    **dict.fromkeys((".txt", ".md", ".tmpl", ".tpl", ".template"), _plain),
}

ALWAYS = frozenset(
    {".j2", ".jinja", ".jinja2", ".hbs", ".handlebars", ".mustache", ".prompt", ".prompty", ".baml"}
)
"""Suffixes of files that are templates wherever they lie."""
SOURCE_CODE = frozenset({".py"})
"""Suffixes of source code with a front end; looked at wherever it lies."""
IN_PROMPT_FOLDERS = frozenset(
    {".txt", ".md", ".tmpl", ".tpl", ".template", ".yaml", ".yml", ".toml", ".json", ".jsonl"}
)
"""Suffixes of files that are looked at when their path names prompts."""
