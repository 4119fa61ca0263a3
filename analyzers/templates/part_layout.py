"""The suggested order of a prompt that is not one file of its own: by its lines, within each section.

For prompts in code, in data files or with roles nothing is rewritten; the order only says what should come first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from analyzers.templates.layout import FIXED, Layout, Piece
from analyzers.templates.parts import Guard, Loop, Prompt, Scope, Text, Value
from analyzers.templates.volatility import judge, judge_guard

_SECTIONS = ("tools", "system", None, "messages")


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A value, or the text of a part up to the end of one line; `ends` says that the line ends with it."""

    section: int
    piece: Piece
    holder: Guard | None
    ends: bool
    blank: bool


def part_layout(prompt: Prompt, scopes: Mapping[str, Scope]) -> Layout:
    """The prompt's printed lines as pieces; a loop or condition that varies is one with all that is in it."""
    pieces: list[tuple[int, Piece]] = []
    open_line = False
    last: _Fragment | None = None
    for fragment in _fragments(prompt, scopes):
        same_section = last is not None and last.section == fragment.section
        same_holder = (
            last is not None
            and fragment.holder is not None
            and last.holder is not None
            and last.holder.span == fragment.holder.span
        )
        if pieces and same_section and (open_line or same_holder or fragment.blank):
            section, before = pieces[-1]
            pieces[-1] = (section, _joined(before, fragment.piece))
        elif not fragment.blank:
            pieces.append((fragment.section, fragment.piece))
        open_line = not fragment.ends
        last = fragment
    merged = _neighbours_joined(pieces)
    ordered = sorted(merged, key=lambda entry: (entry[0], entry[1].rank))
    return Layout(prompt.path, prompt.name, tuple(p for _, p in merged), tuple(p for _, p in ordered))


def _fragments(prompt: Prompt, scopes: Mapping[str, Scope]) -> Iterator[_Fragment]:
    for part in prompt.parts:
        if not isinstance(part, Text | Value):
            continue
        section = _SECTIONS.index(part.place.section) if part.place.section in _SECTIONS else 2
        holder = next((guard for guard in part.guards if not judge_guard(guard, scopes).stable), None)
        line = part.span.line
        if holder is not None:
            found = judge_guard(holder, scopes)
            shown = holder.over if isinstance(holder, Loop) else holder.test
            label = ", ".join(holder.names) or shown
            piece = Piece(holder.span.line, part.span.end_line, "", label, found.scope, found.rank)
            ends = isinstance(part, Text) and part.text.endswith("\n")
            yield _Fragment(section, piece, holder, ends, False)
        elif isinstance(part, Value):
            found = judge(part, scopes)
            scope, rank = (Scope.GLOBAL, 0) if found.stable else (found.scope, found.rank)
            piece = Piece(line, part.span.end_line, "", part.expression, scope, rank)
            yield _Fragment(section, piece, None, False, False)
        else:
            for number, text in enumerate(part.text.splitlines(keepends=True), line):
                piece = Piece(number, number, "", FIXED, Scope.GLOBAL, 0)
                yield _Fragment(section, piece, None, text.endswith("\n"), not text.strip())


def _joined(before: Piece, piece: Piece) -> Piece:
    """One piece of two that stay together: it changes as often as the one that changes more often."""
    louder = piece if piece.rank > before.rank or before.label == FIXED else before
    last = max(before.last_line, piece.last_line)
    return replace(louder, first_line=min(before.first_line, piece.first_line), last_line=last)


def _neighbours_joined(pieces: list[tuple[int, Piece]]) -> list[tuple[int, Piece]]:
    """Fixed lines that follow each other as one piece."""
    result: list[tuple[int, Piece]] = []
    for section, piece in pieces:
        if result and result[-1][0] == section and result[-1][1].rank == piece.rank == 0:
            before = result[-1][1]
            label = piece.label if before.label == FIXED else before.label
            result[-1] = (section, replace(before, last_line=piece.last_line, label=label))
        else:
            result.append((section, piece))
    return result
