"""Methods of texts, lists, dicts and values, as far as prompts are built with them."""

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

import analyzers.templates.python_calls as calls
import analyzers.templates.python_loops as loops
import analyzers.templates.python_patterns as patterns
from analyzers.templates.parts import Cause, Span, Text, Value
from analyzers.templates.python_lists import LIST_METHODS
from analyzers.templates.python_sources import (
    METHODS,
    READS_FILES,
    STANDING,
    cause_of_call,
    clock_as_shown,
    clock_attribute,
)
from analyzers.templates.python_state import Run
from analyzers.templates.python_text import filled, joined_items, values_in, words_of
from analyzers.templates.python_values import (
    NOTHING,
    Abstract,
    Entry,
    External,
    Fields,
    Item,
    Items,
    Pattern,
    Words,
    blended,
    joined,
)
from analyzers.templates.volatility import judge

if TYPE_CHECKING:
    from analyzers.templates.python_calls import Arguments

_KEEPS_TEXT = frozenset(
    "strip lstrip rstrip upper lower title capitalize expandtabs encode decode removeprefix removesuffix casefold "
    "swapcase center ljust rjust zfill translate isoformat timestamp astimezone total_seconds hex copy tolist __str__ "
    "getvalue result model_dump model_dump_json to_dict dict json".split()
)


def method(run: Run, owner: Abstract, name: str, given: "Arguments", node: ast.Call) -> Abstract | None:
    """What the method gives, None where it is not known."""
    held = run.at(owner)
    match held:
        case Items():
            handler = LIST_METHODS.get(name)
            return handler(run, owner, held, given, node) if handler is not None else None
        case Fields():
            return _dict_method(run, owner, held, name, given, node)
        case Words():
            return text_method(run, held, name, given, node)
        case Pattern():
            return patterns.method(run, held, name, given, node)
        case Value():
            return _value_method(run, owner, held, name, given, node)
        case _:
            return None


_MUTATES = frozenset({"append", "extend", "insert", "appendleft"})
_DROPS = frozenset({"pop", "popleft"})


def _dict_method(
    run: Run, owner: Abstract, held: Fields, name: str, given: "Arguments", node: ast.Call
) -> Abstract | None:
    key = given.positional[0] if given.positional else NOTHING
    word = key.constant if isinstance(key, Words) else None
    if name in ("get", "pop", "setdefault") and word is not None:
        found = held.get(word)
        if name == "pop" and found is not None:
            entries = tuple(entry for entry in held.entries if entry.key != word)
            _set_fields(run, owner, node, replace(held, entries=entries))
        if found is None and name == "setdefault" and len(given.positional) > 1:
            _set_fields(run, owner, node, held.with_entry(Entry(word, given.positional[1], run.span(node))))
        if found is None and any(entry.key is None for entry in held.entries):
            return None
        return found if found is not None else given.get(1, "default") or NOTHING
    if name == "update":
        inner = run.at(key)
        more = list(inner.entries) if isinstance(inner, Fields) else []
        more += [Entry(k, v, run.span(node)) for k, v in given.keywords.items()]
        if not isinstance(inner, Fields) and given.positional:
            more.append(Entry(None, key, run.span(node)))
        changed = held
        for entry in more:
            changed = (
                changed.with_entry(entry)
                if entry.key
                else replace(changed, entries=(*changed.entries, entry))
            )
        _set_fields(run, owner, node, changed)
        return NOTHING
    if name == "copy":
        return run.new(held)
    if name in ("items", "values", "keys"):
        return _members(run, held, name, node)
    return None


def _set_fields(run: Run, owner: Abstract, node: ast.Call, changed: Fields) -> None:
    if isinstance(node.func, ast.Attribute):
        loops.replaced(run, node.func.value, owner, changed)


def _members(run: Run, held: Fields, name: str, node: ast.Call) -> Abstract:
    if not held.entries:
        # It is filled elsewhere: by decorators, plug-ins, other modules.
        return Value(run.shown(node)[:200], run.span(node), (run.shown(node.func).rpartition(".")[0],))
    items = []
    for entry in held.entries:
        key = Words((Text(entry.key, entry.span),)) if entry.key is not None else Value("key", entry.span)
        pair = Items((Item(key), Item(entry.value)), entry.span, is_tuple=True)
        items.append(Item({"items": pair, "values": entry.value}.get(name, key), entry.guards))
    return Items(tuple(items), held.span, held.expression)


def text_method(run: Run, held: Words, name: str, given: "Arguments", node: ast.Call) -> Abstract | None:
    """A method of a text."""
    span = run.span(node)
    if name in ("format", "format_map"):
        return formatted(run, held, name, given)
    if name == "join" and given.positional:
        inner = run.at(given.positional[0])
        if isinstance(inner, Items):
            return joined_items(run, held, inner, span)
        values = values_in(run, inner)
        return blended(run.shown(node)[:200], span, values) if values else Words(())
    if name == "replace" and len(given.positional) >= 2:
        return _replaced(run, held, given)
    if name in _KEEPS_TEXT:
        if (
            name in ("strip", "lstrip", "rstrip")
            and len(held.parts) == 1
            and isinstance(part := held.parts[0], Text)
        ):
            chars = given.positional[0] if given.positional else None
            what = chars.constant if isinstance(chars, Words) else None
            return Words((replace(part, text=getattr(part.text, name)(what)),))
        return held
    if name in ("split", "splitlines", "partition", "rsplit") and held.constant is not None:
        return Value(run.shown(node)[:200], span, cause=Cause.CONSTANT)
    return blended(run.shown(node)[:200], span, values_in(run, held))


def formatted(run: Run, held: Words, name: str, given: "Arguments") -> Words:
    """`text.format(…)` and `text.format_map(…)`."""
    members = run.at(given.positional[0]) if name == "format_map" and given.positional else NOTHING
    counted = iter(range(len(given.positional)))

    def fill(field: str, span: Span) -> Words | None:
        root = field.split(".")[0].split("[")[0]
        value: Abstract | None
        if isinstance(members, Fields):
            value = members.get(root)
        elif root == "" or root.isdigit():
            at = int(root) if root else next(counted, len(given.positional))
            value = given.positional[at] if at < len(given.positional) else None
        else:
            value = given.keywords.get(root)
        if value is not None and root != field and isinstance(value, Value):
            value = replace(value, expression=value.expression + field[len(root) :])
            if len(value.names) == 1 and "[" not in field:
                value = replace(value, names=(value.names[0] + field[len(root) :],))
        return words_of(run, value, span) if value is not None else None

    return filled(run, held, fill)


def _replaced(run: Run, held: Words, given: "Arguments") -> Words:
    """`text.replace(old, new)`: often a placeholder and its value."""
    old = given.positional[0]
    word = old.constant if isinstance(old, Words) else None
    if not word:
        return held
    pieces: list[Words] = []
    for part in held.parts:
        if isinstance(part, Value) or word not in part.text:
            pieces.append(Words((part,)))
            continue
        for number, literal in enumerate(part.text.split(word)[:200]):
            if number:
                pieces.append(words_of(run, given.positional[1], part.span))
            if literal:
                pieces.append(Words((replace(part, text=literal),)))
    return joined(pieces)


def _value_method(
    run: Run, owner: Abstract, held: Value, name: str, given: "Arguments", node: ast.Call
) -> Abstract | None:
    span, expression = run.span(node), run.shown(node)[:200]
    if name in METHODS and held.cause is None:
        return run.changing(expression, span, cause_of_call(f"x.{name}") or Cause.UNKNOWN)
    if name == "strftime":
        words = given.positional[0] if given.positional else None
        spec = words.constant if isinstance(words, Words) and words.constant else ""
        return replace(held, expression=expression, span=span, cause=clock_as_shown(held.cause, spec))
    if name in _MUTATES and isinstance(node.func, ast.Attribute):
        as_list = Items((Item(held, spread=True),), held.span, held.expression)
        return LIST_METHODS[name](run, owner, as_list, given, node)
    if name in _DROPS and isinstance(node.func, ast.Attribute) and (node.args or name == "popleft"):
        calls.drop_oldest(run, node.func.value, node.args[0] if node.args else ast.Constant(0), node)
        return replace(held, expression=expression, span=span)
    if name == "save" and given.positional and isinstance(given.positional[0], External):
        target = node.args[0]
        if given.positional[0].dotted == "io.BytesIO()" and isinstance(target, ast.Name):
            run.frame.names.set(target.id, run.changing(expression, span, Cause.IMAGE_REENCODED))
        return NOTHING
    if (
        name == "get"
        and given.positional
        and isinstance(word := given.positional[0], Words)
        and word.constant
    ):
        if held.cause is None and len(held.names) == 1:
            dotted = f"{held.names[0]}.{word.constant}".removeprefix("self.")
            return Value(expression, span, (dotted,))
        return replace(held, expression=expression, span=span)
    if name in ("items", "values", "keys"):
        return replace(held, expression=expression, span=span)
    if name == "join" and given.positional:
        inner = run.at(given.positional[0])
        if isinstance(inner, Items):
            return joined_items(run, Words((held,)), inner, span)
    if name in STANDING or (name in READS_FILES and (held.cause is None and not judge(held).sure)):
        return Value(expression, span, (name,), cause=Cause.CONSTANT)
    if name in _KEEPS_TEXT or held.cause is Cause.CLOCK or held.cause is Cause.DATE:
        return replace(held, expression=expression, span=span, cause=clock_attribute(held.cause, name))
    if name in ("format", "replace", "render"):
        values = [held, *(value for argument in given.values() for value in values_in(run, argument))]
        return blended(expression, span, values)
    return None
