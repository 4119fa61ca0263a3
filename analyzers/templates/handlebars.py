"""Handlebars and Mustache templates, as dotprompt files and many prompt folders use them."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.errors import InputError
from analyzers.templates.parts import (
    Cause,
    Comment,
    Condition,
    Guard,
    LineIndex,
    Loop,
    Part,
    Place,
    Problem,
    Prompt,
    Source,
    Text,
    Value,
)
from analyzers.templates.reading import read_text

_TAG = re.compile(
    r"\{\{\{(?P<raw>.*?)\}\}\}|\{\{(?P<comment>!--.*?--~?|![^}]*)\}\}|\{\{(?P<tag>.*?)\}\}", re.S
)
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s()=]+(?!\s*=)(?=[\s()]|$)")
_CONDITIONS = {"if", "unless", "ifEquals", "unlessEquals", "eq", "with"}
_LITERALS = {"true", "false", "null", "undefined"}
_PARTIALS = ("_{}.prompt", "{}.prompt", "_{}.hbs", "{}.hbs", "{}.handlebars", "{}.mustache", "_{}.mustache")
_DEEPEST = 16


@dataclass
class _Walk:
    path: str
    text: str
    lines: LineIndex
    parts: list[Part]
    problems: list[Problem]
    comments: list[Comment]
    guards: tuple[Guard, ...] = ()
    place: Place = field(default_factory=Place)
    opened: list[tuple[str, tuple[Guard, ...]]] = field(default_factory=list)
    trail: tuple[str, ...] = ()


def read_handlebars(path: str, text: str, start: int = 0) -> Source:
    """The prompt of a template from `start` on (what stands before is front matter)."""
    walk = _Walk(path, text, LineIndex(path, text), [], [], [], trail=(path,))
    _walk(walk, start)
    parts = tuple(walk.parts)
    prompts = (Prompt(path, "handlebars", parts, movable=True),) if parts else ()
    return Source(path, text, prompts, tuple(walk.comments), tuple(walk.problems))


def _walk(walk: _Walk, start: int) -> None:
    at = start
    for match in _TAG.finditer(walk.text, start):
        _text(walk, at, match.start())
        at = match.end()
        span = walk.lines.span(match.start(), match.end())
        if match["comment"] is not None:
            line_start = walk.text.rfind("\n", 0, match.start()) + 1
            alone = not walk.text[line_start : match.start()].strip()
            walk.comments.append(Comment(match["comment"].strip("!-~ \n"), span, alone))
        else:
            _tag(
                walk,
                (match["raw"] if match["raw"] is not None else match["tag"]).strip().strip("~").strip(),
                match,
            )
    _text(walk, at, len(walk.text))
    if walk.opened:
        name = walk.opened[-1][0]
        walk.problems.append(
            Problem(walk.path, f"the block '{name}' is not closed", *walk.lines.position(at))
        )


def _text(walk: _Walk, start: int, end: int) -> None:
    if end > start:
        walk.parts.append(Text(walk.text[start:end], walk.lines.span(start, end), walk.guards, walk.place))


def _tag(walk: _Walk, inner: str, match: re.Match[str]) -> None:
    span = walk.lines.span(match.start(), match.end())
    line, column = span.line, span.column
    if not inner:
        return
    kind, rest = (inner[0], inner[1:].strip()) if inner[0] in "#^/>&" else ("", inner)
    words = _WORD.findall(rest)
    if kind == "#" and rest.startswith((">", "*")):
        # A partial with default content, or an inline partial: its body is text of its own.
        walk.opened.append((rest[1:].split()[0] if rest[1:].split() else "*", walk.guards))
    elif kind in ("#", "^"):
        _open(walk, kind, words, span_of=match)
    elif kind == "/" and words[:1] == ["section"] and not any(name == "section" for name, _ in walk.opened):
        return
    elif kind == "/":
        if not walk.opened or (words and walk.opened[-1][0] not in (words[0], "*")):
            walk.problems.append(
                Problem(walk.path, f"'{rest}' closes a block that is not open", line, column)
            )
        else:
            walk.guards = walk.opened.pop()[1]
    elif kind == ">":
        _partial(walk, words[0] if words else "", match)
    elif words[:1] == ["else"]:
        _else(walk, words)
    elif words[:1] == ["role"] and len(words) > 1:
        role = words[1].strip("\"'")
        walk.place = Place("system" if role in ("system", "developer") else "messages", role)
    elif words[:1] == ["section"]:
        return
    elif words[:1] == ["history"]:
        walk.parts.append(Value("history", span, ("history",), guards=walk.guards, place=walk.place))
    else:
        names, calls = _reads(words)
        walk.parts.append(Value(inner, span, names, calls, guards=walk.guards, place=walk.place))


def _open(walk: _Walk, kind: str, words: list[str], span_of: re.Match[str]) -> None:
    span = walk.lines.span(span_of.start(), span_of.end())
    helper, arguments = (words[0], words[1:]) if words else ("*", [])
    walk.opened.append((helper, walk.guards))
    names = _names(arguments)
    shown = " ".join(arguments) or helper
    if helper == "each":
        walk.guards = (*walk.guards, Loop(shown, span, names))
    elif helper in _CONDITIONS:
        walk.guards = (*walk.guards, Condition(shown, span, names))
    elif helper != "section" and (not arguments or kind == "^"):
        # A Mustache section: a loop when its value is a list, a condition else.
        walk.guards = (
            *walk.guards,
            Condition(helper, span, (helper,)) if kind == "^" else Loop(helper, span, (helper,)),
        )


def _else(walk: _Walk, words: list[str]) -> None:
    if walk.guards and walk.opened and len(walk.guards) > len(walk.opened[-1][1]):
        last = walk.guards[-1]
        names = (*last.names, *_names(words[2:]))
        test = last.test if isinstance(last, Condition) else last.over
        walk.guards = (*walk.guards[:-1], Condition(test, last.span, tuple(dict.fromkeys(names)), (), 1))


def _reads(words: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = _names(words)
    if len(words) == 1:
        return names, ()
    return _names(words[1:]), (f"{words[0]}({', '.join(w for w in words[1:] if w[0] in chr(34) + chr(39))})",)


def _names(words: list[str]) -> tuple[str, ...]:
    """The variables among the words: no literals, no `@index`, no `this` (its list stands in the loop)."""
    names = []
    for word in words:
        name = word.removeprefix("this.").removeprefix("../").replace("/", ".")
        if name[0] in "\"'@" or name[0].isdigit() or name in _LITERALS or name in ("this", ".", "as", "|"):
            continue
        names.append(name.strip("|"))
    return tuple(dict.fromkeys(name for name in names if name))


def _partial(walk: _Walk, name: str, match: re.Match[str]) -> None:
    span = walk.lines.span(match.start(), match.end())
    found = _find_partial(name, walk.path)
    if found is None:
        unknown = Value(f"> {name}", span, guards=walk.guards, place=walk.place, cause=Cause.UNKNOWN)
        walk.parts.append(unknown)
        return
    if str(found.resolve()) in walk.trail or len(walk.trail) > _DEEPEST:
        walk.problems.append(
            Problem(walk.path, f"the partial '{name}' includes itself", span.line, span.column)
        )
        return
    try:
        text = read_text(found).text
    except InputError as problem:
        walk.problems.append(Problem(walk.path, str(problem), span.line, span.column))
        return
    inner = _Walk(
        str(found),
        text,
        LineIndex(str(found), text),
        walk.parts,
        walk.problems,
        [],
        walk.guards,
        walk.place,
        trail=(*walk.trail, str(found.resolve())),
    )
    _walk(inner, 0)
    walk.place = inner.place


def _find_partial(name: str, beside: str) -> Path | None:
    if not re.fullmatch(r"[\w./-]+", name) or ".." in name:
        return None
    folder = Path(beside).resolve().parent
    for place in (folder, folder / "partials"):
        for pattern in _PARTIALS:
            candidate = place / pattern.format(name)
            if candidate.is_file():
                return candidate
    return None
