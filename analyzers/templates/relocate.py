"""Parts of a string inside a larger file, put where they stand in that file."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from analyzers.templates.parts import Comment, Dead, Guard, LineIndex, Part, Place, Problem, Source, Span
from analyzers.templates.trees import Node

Locate = Callable[[int], int]
"""From an offset in the string to the offset in the file."""


def locator(node: Node, text: str) -> Locate:
    """Where the characters of a string node stand in the file's text.

    Exact for strings without escapes; for block scalars of YAML exact by line; else the string's own line.
    """
    if node.verbatim:
        return lambda offset: node.inner + offset
    value, file_lines = node.text, _line_starts(text, node.inner, node.end)
    value_lines = _line_starts(value, 0, len(value))

    def locate(offset: int) -> int:
        number = max(i for i, start in enumerate(value_lines) if start <= offset)
        if number >= len(file_lines):
            return node.inner
        start = value_lines[number]
        line = value[start:].partition("\n")[0]
        end = text.find("\n", file_lines[number])
        found = text.find(line, file_lines[number], end if end >= 0 else len(text)) if line.strip() else -1
        return found + offset - start if found >= 0 else file_lines[number]

    return locate


def _line_starts(text: str, start: int, end: int) -> list[int]:
    starts = [start]
    at = text.find("\n", start, end)
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1, end)
    return starts


def relocated(parts: Iterable[Part], path: str, locate: Locate, lines: LineIndex, place: Place) -> list[Part]:
    """The parts that stand in the string itself (their path is `path`) moved, and given their place."""
    move = _mover(path, locate, lines)
    return [
        replace(
            part,
            span=move(part.span),
            guards=tuple(_guard(guard, move) for guard in part.guards),
            place=place if part.place == Place() else part.place,
        )
        for part in parts
    ]


def relocated_source(source: Source, path: str, locate: Locate, lines: LineIndex) -> Source:
    """A source read from a string with everything that is not a part moved; its parts stay for `relocated`."""
    move = _mover(path, locate, lines)
    problems = []
    for problem in source.problems:
        if problem.path == path and problem.line is not None:
            inner = LineIndex(path, source.text).offset(problem.line, problem.column or 1)
            line, column = lines.position(locate(min(inner, len(source.text))))
            problem = Problem(path, problem.message, line, column)
        problems.append(problem)
    return replace(
        source,
        problems=tuple(problems),
        comments=tuple(Comment(c.text, move(c.span), c.alone) for c in source.comments),
        prompts=tuple(
            replace(prompt, dead=tuple(Dead(dead.what, move(dead.span)) for dead in prompt.dead))
            for prompt in source.prompts
        ),
    )


def _mover(path: str, locate: Locate, lines: LineIndex) -> Callable[[Span], Span]:
    def move(span: Span) -> Span:
        if span.path != path:
            return span
        start, end = locate(span.start), locate(span.end)
        return lines.span(start, max(start, end))

    return move


def _guard(guard: Guard, move: Callable[[Span], Span]) -> Guard:
    return replace(guard, span=move(guard.span))
