"""Plain text with placeholders: `{name}` as in Python's format, `${name}` as in string.Template, `%(name)s`."""

import re
from collections.abc import Iterator

from analyzers.templates.parts import LineIndex, Part, Prompt, Source, Text, Value
from analyzers.templates.python_names import expression_reads

_JINJA = re.compile(r"\{\{-?\s*[A-Za-z_][\w.]*\s*(?:[|(\[]|-?\}\})|\{%")
_HANDLEBARS = re.compile(r"\{\{[#/^>!&]|\{\{\{|\{\{~|\{\{\s*(?:else|role|history|media|section)\b")
_FORMAT = re.compile(
    r"\{(?P<name>[A-Za-z_][\w.]*(?:\[[^{}\[\]\n]{1,40}\])*(?:\([^{}()\n]{0,80}\)(?:\.\w+(?:\([^{}()\n]{0,80}\))?)*)?)"
    r"(?:![rsa])?(?::(?P<spec>[^{}\n]{0,40}))?\}"
)
_DOLLAR = re.compile(r"\$\{(?P<name>[A-Za-z_][\w.]*)\}")
_PERCENT = re.compile(r"%\((?P<name>[A-Za-z_]\w*)\)[sdrif]")


def style_of(text: str) -> str:
    """Which kind of template the text is: `handlebars`, `jinja`, `format` (single braces) or `text`."""
    if "{{" in text and _HANDLEBARS.search(text):
        return "handlebars"
    if ("{{" in text or "{%" in text) and _JINJA.search(text):
        return "jinja"
    if "{" in text or "$" in text or "%(" in text:
        return "format"
    return "text"


def read_placeholders(path: str, text: str) -> Source:
    """The text's one prompt."""
    parts = tuple(placeholder_parts(path, text))
    return Source(path, text, (Prompt(path, "text", parts, movable=True),) if text.strip() else ())


def placeholder_parts(path: str, text: str) -> Iterator[Part]:
    """The text cut at its placeholders. A `{word}` inside the braces of a JSON example is text, as is `{{word}}`
    where doubled braces are used as escapes."""
    lines = LineIndex(path, text)
    at = 0
    for start, end, name, spec in _placeholders(text):
        reads = expression_reads(name, spec)
        if reads is None:
            continue
        if start > at:
            yield Text(text[at:start], lines.span(at, start))
        names, calls = reads
        yield Value(name, lines.span(start, end), names, calls)
        at = end
    if at < len(text):
        yield Text(text[at:], lines.span(at, len(text)))


def _placeholders(text: str) -> Iterator[tuple[int, int, str, str]]:
    found = [
        (match.start(), match.end(), match["name"], "")
        for pattern in (_DOLLAR, _PERCENT)
        for match in pattern.finditer(text)
    ]
    found += _braced(text)
    yield from sorted(found)


def _braced(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Placeholders in single braces, outside of other braces."""
    depth = 0
    at = 0
    brace = re.compile(r"[{}]")
    while (found := brace.search(text, at)) is not None:
        start = found.start()
        if text.startswith(("{{", "}}"), start):
            at = start + 2
            continue
        match = _FORMAT.match(text, start) if text[start] == "{" else None
        if match is not None:
            if depth == 0 and not text.startswith("$", start - 1):
                yield start, match.end(), match["name"], match["spec"] or ""
            at = match.end()
            continue
        depth = max(0, depth + (1 if text[start] == "{" else -1))
        at = start + 1
