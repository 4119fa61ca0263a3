"""A Jinja2 source parsed by Jinja's own parser, with the character offset of every node.

Jinja's nodes know only their line. Here the token stream is given offsets in the place of line numbers, so
that `node.lineno` of every node is the offset of its first token; errors are turned back into lines.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

from analyzers.templates.parts import Comment, LineIndex, Span

_OPENING_TAGS = {"if", "for", "macro", "call", "filter", "block", "with", "autoescape", "trans", "generation"}


class GenerationTag(Extension):
    """`{% generation %}` of Hugging Face chat templates: marks the reply for training, prints its body."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it so)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@dataclass(frozen=True, slots=True)
class Tag:
    """A `{{ … }}` or `{% … %}`: [start, end) with its delimiters, [inner_start, inner_end) without."""

    start: int
    inner_start: int
    inner_end: int
    end: int


@dataclass
class JinjaSource:
    """A parsed source. `block_ends` gives, by the start of an opening tag, the end of its closing tag."""

    path: str
    text: str
    tree: nodes.Template
    lines: LineIndex
    tags: list[Tag]
    comments: list[Comment]
    block_ends: dict[int, int]
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._starts = [tag.start for tag in self.tags]

    def tag_at(self, offset: int) -> Tag:
        """The tag around the offset of a node."""
        return self.tags[max(bisect_right(self._starts, offset) - 1, 0)]

    def inner(self, tag: Tag) -> str:
        """What stands between the tag's delimiters."""
        return self.text[tag.inner_start : tag.inner_end].strip()

    def span(self, start: int, end: int) -> Span:
        """The span of the characters [start, end)."""
        return self.lines.span(start, end)


class JinjaSyntaxError(Exception):
    """A template that Jinja refuses: `message`, and the line and column where."""

    def __init__(self, message: str, line: int, column: int | None) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class _OffsetEnvironment(SandboxedEnvironment):
    """Hands the parser the tokens it was given, whose line numbers are offsets."""

    tokens: list[tuple[int, str, str]]

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        return TokenStream(self.lexer.wrap(iter(self.tokens), name, filename), name, filename)


@cache
def environment(chat: bool) -> _OffsetEnvironment:
    """The environment of plain templates, or of chat templates (which trim the lines of block tags)."""
    return _OffsetEnvironment(
        trim_blocks=chat,
        lstrip_blocks=chat,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", "jinja2.ext.i18n", GenerationTag],
    )


def parse_jinja(path: str, text: str, chat: bool) -> JinjaSource:
    """Parse a template whose line ends are all `\\n`. Raises JinjaSyntaxError."""
    env = environment(chat)
    lines = LineIndex(path, text)
    try:
        raw = [(kind, value) for _, kind, value in env.lexer.tokeniter(text, path)]
    except TemplateSyntaxError as problem:
        raise JinjaSyntaxError(problem.message or "syntax error", problem.lineno, None) from None
    env.tokens = list(_with_offsets(raw, text))
    try:
        tree = Parser(env, text, path, path).parse()
    except TemplateSyntaxError as problem:
        line, column = lines.position(min(problem.lineno, len(text)))
        raise JinjaSyntaxError(problem.message or "syntax error", line, column) from None
    except RecursionError:
        raise JinjaSyntaxError("the template is nested too deeply to be read", 1, None) from None
    tags, comments, ends = _outline(env.tokens, text, lines)
    return JinjaSource(path, text, tree, lines, tags, comments, ends)


def _with_offsets(raw: list[tuple[str, str]], text: str) -> Iterator[tuple[int, str, str]]:
    """Offsets of the tokens: between two of them only white space that a tag trims may be missing."""
    at = 0
    for kind, value in raw:
        start = text.find(value, at)
        at = start + len(value)
        yield start, kind, value


def _outline(
    tokens: list[tuple[int, str, str]], text: str, lines: LineIndex
) -> tuple[list[Tag], list[Comment], dict[int, int]]:
    tags: list[Tag] = []
    comments: list[Comment] = []
    ends: dict[int, int] = {}
    opened: list[int] = []
    begin: tuple[int, int] | None = None
    words: list[str] = []
    for start, kind, value in tokens:
        end = start + len(value)
        if kind in ("variable_begin", "block_begin"):
            begin, words = (start, end), []
        elif kind in ("name", "operator") and len(words) < 64:
            words.append(value)
        elif kind in ("variable_end", "block_end") and begin is not None:
            end = start + len(value.rstrip())
            tags.append(Tag(begin[0], begin[1], start, end))
            if kind == "block_end" and words:
                _match_blocks(words, begin[0], end, opened, ends)
            begin = None
        elif kind == "comment":
            line_start = text.rfind("\n", 0, start) + 1
            alone = text[line_start:start].strip() in ("{#", "{#-", "{#+")
            comments.append(Comment(value.strip(), lines.span(start, end), alone))
    return tags, comments, ends


def _match_blocks(words: list[str], start: int, end: int, opened: list[int], ends: dict[int, int]) -> None:
    word = words[0]
    if word in _OPENING_TAGS or (word == "set" and "=" not in words):
        opened.append(start)
    elif word.startswith("end") and opened:
        ends[opened.pop()] = end


def constant(value: Any) -> bool:
    """True for values that print the same everywhere."""
    return isinstance(value, str | int | float | bool)
