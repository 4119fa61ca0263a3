"""The order in which a template's pieces should stand: what never changes first, what changes most often last.

A template is cut into pieces of whole source lines that can be moved: a line, or the lines of one loop, `if` or
tag. Definitions stay at the top, a heading stays with what it announces. Sorting is stable, so that pieces
which change equally often keep their order.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from analyzers.templates.parts import Part, Prompt, Scope, Value
from analyzers.templates.volatility import judge, judge_guard

_OPENS = re.compile(
    r"\{%-?\+?\s*(?:if|for|macro|call|filter|block|with|autoescape|trans|set\s+[\w.]+\s*(?:\|[^=%]*)?-?%\})|\{\{~?[#^](?!\s*section)"
)
_CLOSES = re.compile(r"\{%-?\+?\s*end\w+|\{\{~?/")
_DEFINES = re.compile(r"\s*(?:\{%-?\+?\s*(?:set|import|from|macro|extends)\b|\{#|\{\{!|---)")
_INCLUDE = re.compile(r"\{%-?\+?\s*include\s+[\"']([^\"']+)|\{\{~?>\s*([\w./-]+)")
_TAG_LINE = re.compile(r"\s*<(/?)([A-Za-z][\w-]*)[^<>]*>\s*$")
_ANNOUNCES = re.compile(r":\s*$|^\s*#{1,6}\s")
_DEFINITIONS = -1
FIXED = "fixed text"
_ENDING = re.compile(r"[^\n]{0,40}:|<[^<>\n]{1,40}>|```")


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole source lines that move together. `label` says what they hold, `scope` how often they change
    (None: not known), `rank` is what they are sorted by."""

    first_line: int
    last_line: int
    source: str
    label: str
    scope: Scope | None
    rank: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt's pieces as they stand and as they should stand."""

    path: str
    prompt: str
    pieces: tuple[Piece, ...]
    suggested: tuple[Piece, ...]

    @property
    def differs(self) -> bool:
        """True when the suggested order is another one."""
        return self.pieces != self.suggested

    def rewritten(self) -> str:
        """The template's source in the suggested order."""
        blocks = [
            piece.source if piece.source.endswith("\n") else piece.source + "\n" for piece in self.suggested
        ]
        text = "".join(blocks)
        return text if self.pieces[-1].source.endswith("\n") else text.removesuffix("\n")


def layout_of(prompt: Prompt, text: str, scopes: Mapping[str, Scope]) -> Layout:
    """The layout of a prompt whose template is the whole file `text`."""
    pieces = [_piece(prompt, first, last, source, scopes) for first, last, source in _cut(text)]
    pieces = _with_ending(_with_headings(pieces))
    return Layout(
        prompt.path, prompt.name, tuple(pieces), tuple(sorted(pieces, key=lambda piece: piece.rank))
    )


def _cut(text: str) -> list[tuple[int, int, str]]:
    """The file's lines in groups that open and close the same tags; empty lines go with what stands before."""
    groups: list[tuple[int, int, str]] = []
    depth, first, lines = 0, 1, []
    open_tags: list[str] = []
    in_comment = False
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        lines.append(line)
        depth += len(_OPENS.findall(line)) - len(_CLOSES.findall(line))
        in_comment = _comment_open(line, in_comment)
        tag = _TAG_LINE.match(line)
        if tag is not None and not tag[1]:
            open_tags.append(tag[2])
        elif tag is not None and tag[2] in open_tags:
            del open_tags[open_tags.index(tag[2]) :]
        if depth <= 0 and not open_tags and not in_comment:
            groups.append((first, number, "".join(lines)))
            depth, first, lines = 0, number + 1, []
    if lines:
        groups.append((first, first + len(lines) - 1, "".join(lines)))
    merged: list[tuple[int, int, str]] = []
    for first, last, source in groups:
        if merged and not source.strip():
            merged[-1] = (merged[-1][0], last, merged[-1][2] + source)
        else:
            merged.append((first, last, source))
    return merged


def _comment_open(line: str, before: bool) -> bool:
    opened, closed = line.rfind("{#"), line.rfind("#}")
    return opened > closed if opened >= 0 or closed >= 0 else before


def _piece(prompt: Prompt, first: int, last: int, source: str, scopes: Mapping[str, Scope]) -> Piece:
    own = [p for p in prompt.parts if p.span.path == prompt.path and first <= p.span.line <= last]
    included = [match[1] or match[2] for match in _INCLUDE.finditer(source)]
    inside = [p for p in prompt.parts if p.span.path != prompt.path and _comes_from(p, included)]
    verdicts = [judge(part, scopes) for part in (*own, *inside) if isinstance(part, Value)]
    verdicts += [judge_guard(guard, scopes) for part in (*own, *inside) for guard in part.guards]
    varying = [verdict for verdict in verdicts if not verdict.stable]
    worst = max(varying, key=lambda verdict: verdict.rank, default=None)
    if _DEFINES.match(source) and not own:
        return Piece(first, last, source, "definitions", Scope.GLOBAL, _DEFINITIONS)
    label = _label(own, included)
    if worst is None:
        return Piece(first, last, source, label, Scope.GLOBAL, 0)
    return Piece(first, last, source, label, worst.scope, worst.rank)


def _comes_from(part: Part, included: list[str]) -> bool:
    return any(part.span.path.endswith(name) or name in part.span.path for name in included)


def _label(own: list[Part], included: list[str]) -> str:
    names = [part.expression for part in own if isinstance(part, Value)]
    loops = [guard.names for part in own for guard in part.guards]
    if included:
        return ", ".join(included)
    if loops and loops[0]:
        return ", ".join(loops[0])
    if names:
        return ", ".join(dict.fromkeys(names))
    return FIXED


def _with_headings(pieces: list[Piece]) -> list[Piece]:
    """A line that announces the next (`Passages:`, `## Context`) goes with it."""
    result: list[Piece] = []
    for piece in pieces:
        before = result[-1] if result else None
        if (
            before is not None
            and before.rank == 0
            and piece.rank > 0
            and _ANNOUNCES.search(before.source.rstrip())
        ):
            lines = before.source.rstrip().splitlines()
            if len(lines) == 1:
                result[-1] = Piece(
                    before.first_line,
                    piece.last_line,
                    before.source + piece.source,
                    piece.label,
                    piece.scope,
                    piece.rank,
                )
                continue
        result.append(piece)
    return result


def _with_ending(pieces: list[Piece]) -> list[Piece]:
    """A short fixed ending (`Answer:`) stays behind what it answers."""
    if len(pieces) < 2 or pieces[-1].rank > 0 or pieces[-2].rank <= 0:
        return pieces
    last, before = pieces[-1], pieces[-2]
    if _ENDING.fullmatch(last.source.strip()) is None:
        return pieces
    both = Piece(
        before.first_line,
        last.last_line,
        before.source + last.source,
        before.label,
        before.scope,
        before.rank,
    )
    return [*pieces[:-2], both]
