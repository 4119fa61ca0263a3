"""What comments tell the linter: `pcache: ignore[PC101]`, `pcache: ignore-file[PC2]`, `pcache: volatility=session`.

A comment behind something speaks of its own line; one that stands alone on its line speaks of the next line.
`volatility(name, other)=session` speaks of these names wherever they stand in the file.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analyzers.templates.parts import Comment, LineIndex, Scope, Span

_DIRECTIVE = re.compile(
    r"(?:#|//|\{#-?|<!--|\{\{!(?:--)?|--)\s*(?P<text>pcache:[^\n]*?)\s*(?:-?#\}|-->|(?:--)?\}\}|$)", re.M
)
_IGNORE = re.compile(r"ignore(?P<file>-file)?(?:\[(?P<rules>[^\]]*)\])?")
_VOLATILITY = re.compile(r"volatility(?:\((?P<names>[^)]*)\))?\s*=\s*(?P<scope>\w+)")


@dataclass(frozen=True, slots=True)
class Ignore:
    """Silences rules (all where `rules` is empty) on one line, or in the whole file where `line` is None."""

    rules: tuple[str, ...]
    line: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class Annotation:
    """Gives values their scope: those named, or those on one line."""

    scope: Scope
    names: tuple[str, ...]
    line: int | None


@dataclass(frozen=True, slots=True)
class Instructions:
    """All that the comments of a file say; `unknown` are those that say nothing that is understood."""

    ignores: tuple[Ignore, ...]
    annotations: tuple[Annotation, ...]
    unknown: tuple[Comment, ...]


def directives(path: str, text: str, known: Iterable[Comment]) -> Iterator[Comment]:
    """The comments to the linter in a file whose front end does not list comments itself."""
    if "pcache:" not in text:
        return
    lines = LineIndex(path, text)
    covered = {comment.span.line for comment in known}
    for match in _DIRECTIVE.finditer(text):
        span = lines.span(match.start("text"), match.end("text"))
        if span.line not in covered:
            line_start = text.rfind("\n", 0, match.start()) + 1
            yield Comment(match["text"], span, not text[line_start : match.start()].strip())


def instructions(comments: Iterable[Comment]) -> Instructions:
    """What the comments that start with `pcache:` say."""
    ignores: list[Ignore] = []
    annotations: list[Annotation] = []
    unknown: list[Comment] = []
    for comment in comments:
        head, _, text = comment.text.strip().partition(":")
        if head.strip() != "pcache":
            continue
        line = comment.span.end_line + 1 if comment.alone else comment.span.line
        ignore, volatility = _IGNORE.match(text.strip()), _VOLATILITY.match(text.strip())
        if ignore is not None:
            rules = tuple(word.strip() for word in (ignore["rules"] or "").split(",") if word.strip())
            ignores.append(Ignore(rules, None if ignore["file"] else line, comment.span))
        elif volatility is not None and volatility["scope"] in set(Scope):
            names = tuple(word.strip() for word in (volatility["names"] or "").split(",") if word.strip())
            annotations.append(Annotation(Scope(volatility["scope"]), names, None if names else line))
        else:
            unknown.append(comment)
    return Instructions(tuple(ignores), tuple(annotations), tuple(unknown))
