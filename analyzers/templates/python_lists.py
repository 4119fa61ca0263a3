"""Methods of lists and sets: what they do to the elements."""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import analyzers.templates.python_calls as calls
import analyzers.templates.python_loops as loops
from analyzers.templates.parts import Cause, Value
from analyzers.templates.python_state import Run
from analyzers.templates.python_text import unordered
from analyzers.templates.python_values import MOST_PARTS, NOTHING, Abstract, Item, Items, Known

if TYPE_CHECKING:
    from analyzers.templates.python_calls import Arguments

_ListMethod = Callable[[Run, Abstract, Items, "Arguments", ast.Call], Abstract | None]


def _set_items(run: Run, owner: Abstract, node: ast.Call, changed: Items) -> None:
    target = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    loops.replaced(run, target, owner, changed)


def _append(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract:
    if given.positional:
        _set_items(
            run, owner, node, replace(held, items=(*held.items, Item(given.positional[0]))[:MOST_PARTS])
        )
    return NOTHING


def _extend(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract:
    inner = run.at(given.positional[0]) if given.positional else NOTHING
    if isinstance(inner, Items) and not (inner.unordered and len(inner.items) > 1):
        more: tuple[Item, ...] = inner.items
    else:
        more = (Item(unordered(inner) if isinstance(inner, Items) else inner, spread=True),)
    _set_items(run, owner, node, replace(held, items=(*held.items, *more)[:MOST_PARTS]))
    return NOTHING


def _insert(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract:
    if len(given.positional) == 2:
        place, value = given.positional
        at = place.value if isinstance(place, Known) and isinstance(place.value, int) else len(held.items)
        items = list(held.items)
        items.insert(at, Item(value))
        _set_items(run, owner, node, replace(held, items=tuple(items)))
    return NOTHING


def _pop(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract:
    if not given.positional:
        if held.items and not held.items[-1].spread:
            _set_items(run, owner, node, replace(held, items=held.items[:-1]))
            return held.items[-1].value
        return NOTHING
    place = given.positional[0]
    at = place.value if isinstance(place, Known) and isinstance(place.value, int) else None
    if any(item.spread for item in held.items) and isinstance(node.func, ast.Attribute):
        calls.drop_oldest(run, node.func.value, node.args[0], node)
    elif at is not None and -len(held.items) <= at < len(held.items):
        _set_items(run, owner, node, replace(held, items=(*held.items[:at], *held.items[at:][1:])))
        return held.items[at].value
    return NOTHING


def _clear(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract:
    _set_items(run, owner, node, replace(held, items=()))
    return NOTHING


def _sort(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract:
    items = tuple(
        replace(item, value=replace(item.value, cause=None))
        if isinstance(item.value, Value) and item.value.cause is Cause.UNORDERED
        else item
        for item in held.items
    )
    _set_items(run, owner, node, replace(held, items=items, unordered=False))
    return NOTHING


def _reverse(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract:
    _set_items(run, owner, node, replace(held, items=held.items[::-1]))
    return NOTHING


def _copy(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract:
    return run.new(held)


def _united(run: Run, owner: Abstract, held: Items, given: "Arguments", node: ast.Call) -> Abstract | None:
    if not held.unordered:
        return None
    others = [run.at(value) for value in given.positional]
    more = [item for other in others if isinstance(other, Items) for item in other.items]
    return run.new(replace(held, items=(*held.items, *more), expression=run.shown(node)[:200]))


LIST_METHODS: dict[str, _ListMethod] = {
    "append": _append,
    "add": _append,
    "appendleft": lambda run, owner, held, given, node: _insert(
        run, owner, held, replace(given, positional=[Known(0), *given.positional]), node
    ),
    "extend": _extend,
    "update": _extend,
    "insert": _insert,
    "pop": _pop,
    "popleft": lambda run, owner, held, given, node: (
        calls.drop_oldest(run, node.func.value, ast.Constant(0), node)  # type: ignore[attr-defined,func-returns-value]
        or NOTHING
    ),
    "clear": _clear,
    "sort": _sort,
    "reverse": _reverse,
    "copy": _copy,
    "union": _united,
    "difference": _united,
    "intersection": _united,
}
