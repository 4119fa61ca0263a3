"""Python's own functions of lists, sets and dicts."""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import analyzers.templates.python_calls as calls
import analyzers.templates.python_loops as loops
from analyzers.templates.parts import Cause, Text, Value
from analyzers.templates.python_state import Run
from analyzers.templates.python_text import values_in
from analyzers.templates.python_values import (
    NOTHING,
    Abstract,
    Entry,
    Fields,
    Item,
    Items,
    Known,
    Words,
    blended,
)

if TYPE_CHECKING:
    from analyzers.templates.python_calls import Arguments


def _same(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    return given.positional[0] if given.positional else None


def _list(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    if not given.positional:
        return run.new(Items((), run.span(node), "[]"))
    held = run.at(given.positional[0])
    if isinstance(held, Fields):
        return run.new(_keys(held))
    return run.new(held) if isinstance(held, Items) else held


def _keys(held: Fields) -> Items:
    keys = tuple(Item(Words((Text(e.key, e.span),)), e.guards) for e in held.entries if e.key is not None)
    return Items(keys, held.span, held.expression)


def _set(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    span, expression = run.span(node), run.shown(node)[:200]
    if not given.positional:
        return run.new(Items((), span, "set()", True))
    held = run.at(given.positional[0])
    if isinstance(held, Items):
        loops_inside = any(item.spread or item.guards for item in held.items)
        if loops_inside:
            return run.changing(expression, span, Cause.UNORDERED)
        return run.new(replace(held, unordered=True, expression=expression, span=span))
    return run.changing(expression, span, Cause.UNORDERED)


def _sorted(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    if not given.positional:
        return None
    held = run.at(given.positional[0])
    if isinstance(held, Fields):
        held = _keys(held)
    if isinstance(held, Items):
        items = tuple(replace(item, value=_in_order(item.value)) for item in held.items)
        return run.new(replace(held, items=items, unordered=False))
    return _in_order(held)


def _in_order(value: Abstract) -> Abstract:
    if isinstance(value, Value) and value.cause is Cause.UNORDERED:
        return replace(value, cause=None if value.names else Cause.CONSTANT)
    return value


def _dict(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    made = Fields((), run.span(node), run.shown(node)[:200])
    if given.positional:
        held = run.at(given.positional[0])
        if isinstance(held, Fields):
            made = held
        elif isinstance(held, Items | Value):
            return held if isinstance(held, Value) else None
    for name, value in given.keywords.items():
        made = made.with_entry(Entry(name, value, run.span(node)))
    return run.new(made)


def _from_keys(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    return given.positional[0] if given.positional else None


def _length(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    held = run.at(given.positional[0]) if given.positional else NOTHING
    if isinstance(held, Items) and not any(item.spread or item.guards for item in held.items):
        return Known(len(held.items))
    values = [] if isinstance(held, Items) and held.unordered else values_in(run, held)
    span = run.span(node)
    if any(loops.is_conversation(value) for value in values):
        return Value(run.shown(node)[:200], span, cause=Cause.COUNTER, origin=span)
    return blended(run.shown(node)[:200], span, [v for v in values if v.cause is not Cause.UNORDERED])


def _range(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    span = run.span(node)
    run.counters[span] = -1
    return Value(run.shown(node), span, cause=Cause.CONSTANT, origin=span)


def _enumerate(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    if not given.positional:
        return None
    span = run.span(node)
    run.counters[span] = -1
    number = Value("the number of the round", span, cause=Cause.CONSTANT, origin=span)
    items = [
        Item(Items((Item(number), Item(element)), span, is_tuple=True), guards)
        for guards, element in loops.rounds(run, given.positional[0], node.args[0], node.args[0])
    ]
    return Items(tuple(items), span, run.shown(node)[:200])


def _zip(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    columns = [list(loops.rounds(run, v, n, n)) for v, n in zip(given.positional, node.args, strict=False)]
    span = run.span(node)
    rows = []
    for row in zip(*columns, strict=False):
        guards = next((guards for guards, _ in row if guards), ())
        rows.append(Item(Items(tuple(Item(value) for _, value in row), span, is_tuple=True), guards))
    return Items(tuple(rows), span, run.shown(node)[:200])


def _map(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    if len(given.positional) < 2:
        return None
    function = given.positional[0]
    items = []
    for guards, element in loops.rounds(run, given.positional[1], node.args[1], node.args[1]):
        items.append(Item(calls.apply(run, function, calls.Arguments([element]), node), guards))
    return Items(tuple(items), run.span(node), run.shown(node)[:200])


def _second(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    return given.positional[1] if len(given.positional) > 1 else None


def _reversed(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    held = run.at(given.positional[0]) if given.positional else NOTHING
    return replace(held, items=held.items[::-1]) if isinstance(held, Items) else held


def _next(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    if not given.positional:
        return None
    for _, element in loops.rounds(run, given.positional[0], node.args[0], node.args[0]):
        return element
    return given.get(1)


Handler = Callable[[Run, "Arguments", ast.Call], Abstract | None]
SEQUENCES: dict[str, Handler] = {
    **dict.fromkeys(("list", "tuple"), _list),
    **dict.fromkeys(("set", "frozenset"), _set),
    "sorted": _sorted,
    "dict": _dict,
    "dict.fromkeys": _from_keys,
    "len": _length,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    **dict.fromkeys(("filter", "typing.cast"), _second),
    "reversed": _reversed,
    "next": _next,
    **dict.fromkeys(
        (
            "iter",
            "asyncio.run",
            "textwrap.dedent",
            "inspect.cleandoc",
            "functools.partial",
            "asyncio.wait_for",
        ),
        _same,
    ),
}
"""What these give, by name; None where it is not known."""
