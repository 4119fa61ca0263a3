"""Python values as the text they become in a prompt: formatted, joined, written as JSON."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from string import Formatter

from analyzers.templates.parts import Cause, Scope, Span, Text, Value
from analyzers.templates.python_sources import clock_as_shown
from analyzers.templates.python_state import Run
from analyzers.templates.python_values import (
    Abstract,
    Choice,
    External,
    Fields,
    Function,
    Instance,
    Items,
    Known,
    Pattern,
    Words,
    guarded,
    joined,
)
from analyzers.templates.volatility import judge

_DEEPEST = 12
_PERCENT = re.compile(
    r"%(?:\((?P<name>[^)]*)\))?[#0\- +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?P<type>[sdrifgeExXoca%])"
)


def words_of(run: Run, value: Abstract, span: Span, depth: int = 0) -> Words:
    """The text of a value where it is written at `span`."""
    value = run.at(value)
    if depth > _DEEPEST:
        return Words(())
    match value:
        case Words():
            return value
        case Value():
            return Words((value,))
        case Known(constant):
            return Words((Text(str(constant), span),))
        case Choice(arms):
            chosen = [(g, run.at(arm)) for g, arm in arms]
            texts = [
                guarded(words_of(run, arm, span, depth + 1), g) for g, arm in chosen if arm != Known(None)
            ]
            return joined(text for text in texts if isinstance(text, Words))
        case Items() | Fields():
            return json_words(run, value, span, True, depth + 1)
        case Pattern(body=body):
            return words_of(run, body, span, depth + 1)
        case External():
            return Words((external_value(value, span),))
        case Instance(kind):
            return Words((Value(kind.node.name, span, cause=Cause.CONSTANT),))
        case _:
            return Words((Value("a definition", span, cause=Cause.CONSTANT),))


def external_value(value: External, span: Span) -> Value:
    """Something of a library as a value: judged by its last names, an object it makes is taken as fixed."""
    last = value.dotted.rpartition("()")[2].strip(".")
    if not last:
        return Value(value.dotted, span)
    steps = last.split(".")
    name = steps[-1] if steps[-1].isupper() else ".".join(steps[-2:])
    return Value(last, span, (name,))


def values_in(run: Run, value: Abstract, depth: int = 0) -> list[Value]:
    """All that is filled in inside a value."""
    value = run.at(value)
    if depth > _DEEPEST:
        return []
    match value:
        case Value():
            return [value]
        case Words(parts):
            return [part for part in parts if isinstance(part, Value)]
        case Items(items):
            found = [v for item in items[:200] for v in values_in(run, item.value, depth + 1)]
            return [unordered(value)] if value.unordered and len(items) > 1 else found
        case Fields(entries):
            return [v for entry in entries[:200] for v in values_in(run, entry.value, depth + 1)]
        case Choice(arms):
            return [v for _, arm in arms for v in values_in(run, arm, depth + 1)]
        case External():
            given = (*value.arguments, *(inner for _, inner in value.keywords))
            found = [v for inner in given for v in values_in(run, inner, depth + 1)]
            return found if "()" in value.dotted else [external_value(value, value.span)]
        case Pattern():
            return values_in(run, value.body, depth + 1)
        case Function() | Instance():
            return []
        case _:
            return []


def unordered(items: Items) -> Value:
    """A set as a value whose order nobody fixed."""
    return Value(items.expression or "a set", items.span, cause=Cause.UNORDERED, origin=items.span)


def json_words(run: Run, value: Abstract, span: Span, is_sorted: bool, depth: int = 0) -> Words:
    """The value as JSON. A dict that the source writes out has the source's order; one that is put together
    at run time has none, unless its keys are sorted."""
    value = run.at(value)
    if depth > _DEEPEST:
        return Words(())

    def text(source: str) -> Words:
        return Words((Text(source, span),))

    match value:
        case Known(constant):
            return text(json.dumps(constant, default=str))
        case Items(items):
            if value.unordered and len(items) > 1:
                return Words((replace(unordered(value), span=span),))
            inner = [guarded(json_words(run, i.value, span, is_sorted, depth + 1), i.guards) for i in items]
            return joined((text("["), *_between(inner, text(", ")), text("]")))
        case Fields(entries):
            if any(entry.key is None for entry in entries) and not is_sorted:
                return Words((unsorted(run, value, span),))
            written = []
            for entry in entries:
                key = text(f"{json.dumps(entry.key)}: ") if entry.key is not None else text("")
                body = json_words(run, entry.value, span, is_sorted, depth + 1)
                written.append(guarded(joined((key, body)), entry.guards))
            return joined((text("{"), *_between(written, text(", ")), text("}")))
        case Words():
            return value if value.constant is None else text(json.dumps(value.constant, ensure_ascii=False))
        case Value():
            return Words((value if is_sorted else unsorted(run, value, span),))
        case _:
            return words_of(run, value, span, depth + 1)


def _between(values: Iterable[Abstract], comma: Words) -> Iterable[Words]:
    for number, value in enumerate(values):
        if number:
            yield comma
        if isinstance(value, Words):
            yield value


def unsorted(run: Run, value: Abstract, span: Span) -> Value:
    """A value whose keys come in no fixed order, unless it changes more often or not at all anyway."""
    inner = values_in(run, value)
    for each in inner:
        verdict = judge(each)
        if verdict.scope is not None and verdict.scope.rank > Scope.SESSION.rank:
            return replace(each, span=span)
    if len(inner) == 1 and judge(inner[0]).stable:
        return replace(inner[0], span=span)
    shown = inner[0].expression if inner else getattr(value, "expression", "") or "a dict"
    return Value(f"json.dumps({shown})", span, cause=Cause.UNSORTED_JSON, origin=span)


def with_format(value: Words, spec: str) -> Words:
    """The text of `{value:spec}`: a format that shows the day alone makes a clock a date."""
    if "%" not in spec:
        return value
    return Words(
        tuple(
            replace(part, cause=clock_as_shown(part.cause, spec)) if isinstance(part, Value) else part
            for part in value.parts
        )
    )


Filler = Callable[[str, Span], Words | None]
"""The text for a placeholder's name, None to leave it as a value of that name."""


def filled(run: Run, template: Words, fill: Filler, style: str = "f-string") -> Words:
    """The template with its placeholders filled; its own filled-in values stay."""
    pieces: list[Words | Value] = []
    for part in template.parts:
        if isinstance(part, Value):
            pieces.append(part)
            continue
        pieces += [
            piece if isinstance(piece, Value) else _under(piece, part)
            for piece in _filled(run, part, fill, style)
        ]
    return joined(pieces)


def _under(piece: Words, part: Text) -> Words:
    inside = guarded(piece, part.guards)
    return inside if isinstance(inside, Words) else piece


def _filled(run: Run, part: Text, fill: Filler, style: str) -> Iterable[Words]:
    plain = replace(part, guards=())
    fields = _dollar_fields(part.text) if style == "dollar" else _format_fields(part.text)
    if fields is None:
        yield Words((plain,))
        return
    at = 0
    for literal, name, spec in fields:
        if literal:
            yield Words((replace(plain, text=literal),))
        if name is None:
            continue
        mark = "$" if style == "dollar" else "{"
        at = max(
            part.text.find(mark + name, at), part.text.find("${" + name, at) if style == "dollar" else -1, at
        )
        place = run.inside(part.span, part.text, at, at + len(name) + 1)
        at += 1
        value = fill(name, place)
        if value is None:
            value = Words((Value(name, place, (name.replace("[", ".").replace("]", ""),)),))
        yield with_format(value, spec or "")


def _format_fields(text: str) -> list[tuple[str, str | None, str | None]] | None:
    try:
        return [(literal, name, spec) for literal, name, spec, _ in Formatter().parse(text)]
    except ValueError:
        return None


def _dollar_fields(text: str) -> list[tuple[str, str | None, str | None]]:
    found: list[tuple[str, str | None, str | None]] = []
    at = 0
    for match in re.finditer(r"\$\$|\$(?:(\w+)|\{(\w+)\})", text):
        literal = text[at : match.start()] + ("$" if match[0] == "$$" else "")
        found.append((literal, match[1] or match[2], None))
        at = match.end()
    return [*found, (text[at:], None, None)]


def percent_filled(run: Run, template: Words, given: Abstract, span: Span) -> Words:
    """`template % given`."""
    given = run.at(given)
    values = [item.value for item in given.items] if isinstance(given, Items) else [given]
    pieces: list[Words] = []
    number = 0
    for part in template.parts:
        if isinstance(part, Value):
            pieces.append(Words((part,)))
            continue
        at = 0
        for match in _PERCENT.finditer(part.text):
            literal = part.text[at : match.start()] + ("%" if match["type"] == "%" else "")
            pieces.append(Words((replace(part, text=literal),)))
            at = match.end()
            if match["type"] == "%":
                continue
            value = given.get(match["name"]) if match["name"] and isinstance(given, Fields) else None
            if match["name"] is None and number < len(values):
                value = values[number]
                number += 1
            text = words_of(run, value, part.span) if value is not None else None
            pieces.append(
                text or Words((Value(match["name"] or match[0], span, (match["name"] or "value",)),))
            )
        pieces.append(Words((replace(part, text=part.text[at:]),)))
    return joined(
        Words(tuple(p for p in piece.parts if not isinstance(p, Text) or p.text)) for piece in pieces
    )


def joined_items(run: Run, separator: Words, items: Items, span: Span) -> Words:
    """`separator.join(items)`."""
    if items.unordered and len(items.items) > 1:
        return Words((replace(unordered(items), span=span),))
    pieces: list[Words] = []
    for number, item in enumerate(items.items):
        text = words_of(run, item.value, span)
        if number and separator.parts:
            text = joined((separator, text))
        under = guarded(text, item.guards)
        pieces.append(under if isinstance(under, Words) else text)
    return joined(pieces)
