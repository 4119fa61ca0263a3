"""Prompt files with a YAML head between `---` lines: prompty and dotprompt."""

import re
from dataclasses import replace

from analyzers.templates.handlebars import read_handlebars
from analyzers.templates.jinja_files import JinjaFiles
from analyzers.templates.parts import LineIndex, Part, Place, Problem, Prompt, Source
from analyzers.templates.placeholders import style_of
from analyzers.templates.relocate import Locate
from analyzers.templates.text_blocks import parts_of, string_source
from analyzers.templates.trees import Node, TreeError, parse_yaml

_HEAD = re.compile(r"\s*---[ \t]*\n(?P<yaml>.*?)^---[ \t]*(?:\n|\Z)", re.S | re.M)
_ROLE_LINE = re.compile(
    r"^[ \t]*#?[ \t]*(system|user|assistant|developer|tool|function)[ \t]*:[ \t]*$", re.M | re.I
)


def has_front_matter(text: str) -> bool:
    """True when the text starts with a YAML head."""
    return _HEAD.match(text) is not None


def read_front_matter(
    path: str, text: str, files: JinjaFiles, filters: frozenset[str] = frozenset(), *, dotprompt: bool = False
) -> Source:
    """The prompt behind the head. Lines such as `system:` start the message of a role; dotprompt says
    `{{role "system"}}` instead."""
    lines = LineIndex(path, text)
    match = _HEAD.match(text)
    head: Node | None = None
    start = 0
    problems: list[Problem] = []
    if match is not None:
        start = match.end()
        try:
            head = parse_yaml(match["yaml"])
        except TreeError as problem:
            at = lines.position(match.start("yaml") + problem.offset)
            problems.append(Problem(path, problem.message, *at))
    body = text[start:]
    style = _style(head, body, dotprompt)
    if style == "handlebars":
        source = read_handlebars(path, text, start)
        parts = parts_of(source)
    else:
        source, parts = _by_role(path, text, start, lines, files, style, filters)
    found = Prompt(
        path,
        "prompt-file",
        parts,
        model=_model(head),
        version=_version(head),
        movable=not any(part.place.role for part in parts),
        dead=tuple(dead for prompt in source.prompts for dead in prompt.dead),
    )
    prompts = (found,) if parts else ()
    return replace(source, prompts=prompts, problems=(*problems, *source.problems))


def _style(head: Node | None, body: str, dotprompt: bool) -> str:
    template = head.get("template") if head is not None else None
    named = ""
    if template is not None:
        named = template.text or template.string("type") or template.string("format") or ""
    if named in ("mustache", "handlebars") or dotprompt:
        return "handlebars"
    if named in ("jinja2", "jinja"):
        return "jinja"
    return style_of(body)


def _by_role(
    path: str, text: str, start: int, lines: LineIndex, files: JinjaFiles, style: str, filters: frozenset[str]
) -> tuple[Source, tuple[Part, ...]]:
    source = Source(path, text)
    parts: tuple[Part, ...] = ()
    places = [(start, start, "")]
    places += [(m.start(), m.end() + 1, m[1].lower()) for m in _ROLE_LINE.finditer(text, start)]
    for (_, begin, role), (end, _, _) in zip(places, [*places[1:], (len(text), 0, "")], strict=True):
        if not text[begin:end].strip():
            continue
        place = Place(
            "system" if role in ("system", "developer") else "messages" if role else None, role or None
        )
        read = string_source(
            path,
            text[begin:end],
            _shift(begin),
            lines,
            files,
            style=style,
            place=place,
            filters=filters,
        )
        parts += parts_of(read)
        source = replace(
            source,
            prompts=(*source.prompts, *read.prompts),
            comments=(*source.comments, *read.comments),
            problems=(*source.problems, *read.problems),
        )
    return source, parts


def _shift(begin: int) -> Locate:
    return lambda offset: begin + offset


def _model(head: Node | None) -> str | None:
    model = head.get("model") if head is not None else None
    if model is None or model.kind == "string":
        return None if model is None else model.text
    configuration = model.get("configuration") or model
    return next(
        (v for k in ("model", "name", "azure_deployment", "id") if (v := configuration.string(k))), None
    )


def _version(head: Node | None) -> str | None:
    version = head.get("version") if head is not None else None
    return None if version is None else str(version.text or version.value)
