"""A string that holds a template of any style, wherever it stands in a file."""

from dataclasses import replace

from analyzers.templates.handlebars import read_handlebars
from analyzers.templates.jinja import read_jinja
from analyzers.templates.jinja_files import JinjaFiles
from analyzers.templates.parts import ANYWHERE, LineIndex, Part, Place, Source
from analyzers.templates.placeholders import read_placeholders, style_of
from analyzers.templates.relocate import Locate, locator, relocated, relocated_source
from analyzers.templates.trees import Node


def read_style(path: str, text: str, files: JinjaFiles, style: str, filters: frozenset[str]) -> Source:
    """The text read in the given style (`jinja`, `handlebars`, `chat`, `format`, `text`)."""
    if style in ("jinja", "chat"):
        return read_jinja(path, text, files, chat=style == "chat", filters=filters)
    if style == "handlebars":
        return read_handlebars(path, text)
    return read_placeholders(path, text)


def string_source(
    path: str,
    value: str,
    locate: Locate,
    lines: LineIndex,
    files: JinjaFiles,
    *,
    style: str | None = None,
    place: Place = ANYWHERE,
    filters: frozenset[str] = frozenset(),
) -> Source:
    """A template inside a string of a file, with everything at its place in that file."""
    source = relocated_source(
        read_style(path, value, files, style or style_of(value), filters), path, locate, lines
    )
    prompts = tuple(
        replace(prompt, parts=tuple(relocated(prompt.parts, path, locate, lines, place)), movable=False)
        for prompt in source.prompts
    )
    return replace(source, prompts=prompts)


def node_source(
    path: str,
    node: Node,
    text: str,
    lines: LineIndex,
    files: JinjaFiles,
    *,
    style: str | None = None,
    place: Place = ANYWHERE,
    filters: frozenset[str] = frozenset(),
) -> Source:
    """The template in a string of a JSON, YAML or TOML file."""
    locate = locator(node, text)
    return string_source(path, node.text, locate, lines, files, style=style, place=place, filters=filters)


def parts_of(source: Source) -> tuple[Part, ...]:
    """All parts of the source's prompts, in order."""
    return tuple(part for prompt in source.prompts for part in prompt.parts)
