"""What a Python expression stands for, one function a kind of expression."""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import analyzers.templates.python_calls as calls
import analyzers.templates.python_imports as imports
import analyzers.templates.python_loops as loops
import analyzers.templates.python_members as members
from analyzers.templates.parts import Span, Text, Value
from analyzers.templates.python_fstrings import field_places
from analyzers.templates.python_guards import condition, truth
from analyzers.templates.python_sources import BUILTINS
from analyzers.templates.python_state import DEEPEST, LONGEST_SHOWN, Run
from analyzers.templates.python_text import percent_filled, unordered, values_in, with_format, words_of
from analyzers.templates.python_values import (
    MOST_PARTS,
    NOTHING,
    Abstract,
    Choice,
    Entry,
    External,
    Fields,
    Function,
    Item,
    Items,
    Known,
    Pattern,
    Pending,
    Words,
    blended,
    guarded,
    joined,
    merged,
)


def evaluate(run: Run, node: ast.expr) -> Abstract:
    """What the expression stands for. Raises OutOfStepsError."""
    run.step()
    if run.depth > DEEPEST:
        return Value("...", run.span(node))
    handler = _EXPRESSIONS.get(type(node))
    if handler is None:
        return computed(
            run, node, *(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        )
    run.depth += 1
    try:
        return handler(run, node)
    finally:
        run.depth -= 1


def computed(run: Run, node: ast.expr, *operands: ast.expr) -> Value:
    """What an expression that is not followed computes from its operands."""
    values = [value for operand in operands for value in values_in(run, evaluate(run, operand))]
    return blended(run.shown(node)[:LONGEST_SHOWN], run.span(node), values)


def _constant(run: Run, node: ast.Constant) -> Abstract:
    if isinstance(node.value, str):
        return Words((Text(node.value, run.span(node)),) if node.value else ())
    return Known(node.value)


def _name(run: Run, node: ast.Name) -> Abstract:
    value = lookup(run, node.id)
    if value is None:
        if node.id in BUILTINS:
            return External(node.id, run.span(node))
        return Value(node.id, run.span(node), (node.id,))
    if isinstance(value, Value):
        return run.placed(value, run.span(node))
    return replace(value, span=run.span(node)) if isinstance(value, External) else value


def lookup(run: Run, name: str) -> Abstract | None:
    """What a name stands for here, None when nothing says."""
    frame = run.frame
    value = frame.names.get(name)
    if value is None and frame.outer is not None:
        value = frame.outer.get(name)
    if value is None:
        return imports.top_level(run, frame.home, name)
    return imports.settled(run, value) if isinstance(value, Pending) else value


def _fstring(run: Run, node: ast.JoinedStr) -> Abstract:
    whole = run.span(node)
    places: list[tuple[int, int]] = []
    if run.frame.pinned is None:
        source = run.frame.home.source(whole)
        places = [(whole.start + start, whole.start + end) for start, end in field_places(source)]
        if len(places) != sum(isinstance(value, ast.FormattedValue) for value in node.values):
            places = []
    pieces: list[Words] = []
    number, at = 0, whole.start
    for value in node.values:
        if isinstance(value, ast.Constant):
            end = places[number][0] if number < len(places) else whole.end
            span = run.frame.home.lines.span(at, end) if places else whole
            pieces.append(Words((Text(str(value.value), span),)))
        elif isinstance(value, ast.FormattedValue):
            span = run.frame.home.lines.span(*places[number]) if places else whole
            at = places[number][1] if places else at
            number += 1
            pieces.append(_field(run, value, span))
    return joined(pieces)


def _field(run: Run, node: ast.FormattedValue, span: Span) -> Words:
    before, run.frame.pinned = run.frame.pinned, run.frame.pinned or span
    try:
        value = evaluate(run, node.value)
        spec = ast.unparse(node.format_spec) if node.format_spec is not None else ""
    finally:
        run.frame.pinned = before
    return with_format(words_of(run, value, span), spec)


def _binary(run: Run, node: ast.BinOp) -> Abstract:
    if isinstance(node.op, ast.Add):
        return _sum(run, node)
    left, right = evaluate(run, node.left), evaluate(run, node.right)
    if isinstance(node.op, ast.Mod) and isinstance(left, Words):
        return percent_filled(run, left, right, run.span(node))
    if isinstance(node.op, ast.BitOr):
        first, second = run.at(left), run.at(right)
        if isinstance(first, Fields) and isinstance(second, Fields):
            result = first
            for entry in second.entries:
                result = result.with_entry(entry)
            return run.new(result)
        if isinstance(first, Pattern) or isinstance(second, Pattern):
            return first if isinstance(first, Pattern) else second
        if isinstance(first, Items) and isinstance(second, Items):
            return run.new(replace(first, items=(*first.items, *second.items), unordered=True))
    if isinstance(node.op, ast.Mult) and isinstance(left, Words) and isinstance(right, Known):
        times = right.value
        if isinstance(times, int) and 0 <= times <= 1000 and len(left.parts) == 1:
            part = left.parts[0]
            if isinstance(part, Text) and len(part.text) * times < 1_000_000:
                return Words((replace(part, text=part.text * times),))
    values = [*values_in(run, left), *values_in(run, right)]
    return blended(run.shown(node)[:LONGEST_SHOWN], run.span(node), values) if values else Known(0)


def _sum(run: Run, node: ast.BinOp) -> Abstract:
    """A chain of additions, from the left; it may be thousands long."""
    operands: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        operands.append(left.right)
        left = left.left
    operands.append(left)
    total = evaluate(run, operands[-1])
    pending: list[Words | Value] = []
    for operand in reversed(operands[:-1]):
        value = evaluate(run, operand)
        if pending and isinstance(value, Words | Value):
            pending.append(value)
            continue
        if pending:
            total, pending = joined(pending), []
        if isinstance(total, Words) and isinstance(value, Words | Value):
            pending = [total, value]
        else:
            total = added(run, total, value, node)
    return joined(pending) if pending else total


def added(run: Run, left: Abstract, right: Abstract, node: ast.expr) -> Abstract:
    """`left + right`, for texts and lists."""
    first, second = run.at(left), run.at(right)
    if isinstance(first, Known) and isinstance(second, Known):
        numbers = isinstance(first.value, int | float) and isinstance(second.value, int | float)
        return Known(first.value + second.value) if numbers else NOTHING
    if isinstance(first, Items) or isinstance(second, Items):
        sides = [_elements(run, side) for side in (first, second)]
        return run.new(
            Items((*sides[0], *sides[1])[:MOST_PARTS], run.span(node), run.shown(node)[:LONGEST_SHOWN])
        )
    if isinstance(first, Known) or isinstance(second, Known):
        values = [*values_in(run, first), *values_in(run, second)]
        return blended(run.shown(node)[:LONGEST_SHOWN], run.span(node), values)
    return joined((words_of(run, first, run.span(node)), words_of(run, second, run.span(node))))


def _elements(run: Run, value: Abstract) -> tuple[Item, ...]:
    value = run.at(value)
    if isinstance(value, Items):
        return (
            (Item(unordered(value), spread=True),)
            if value.unordered and len(value.items) > 1
            else value.items
        )
    if isinstance(value, Choice):
        found = []
        for guards, arm in value.arms:
            found += [replace(item, guards=(*guards, *item.guards)) for item in _elements(run, arm)]
        return tuple(found)
    if isinstance(value, Words):
        return tuple(
            Item(part if isinstance(part, Value) else Words((part,)), spread=True) for part in value.parts
        )
    return () if value == NOTHING else (Item(value, spread=True),)


def _boolean(run: Run, node: ast.BoolOp) -> Abstract:
    value = evaluate(run, node.values[0])
    for later in node.values[1:]:
        known = truth(run, value)
        is_or = isinstance(node.op, ast.Or)
        if known is not None:
            if known is not is_or:
                value = evaluate(run, later)
            continue
        other = evaluate(run, later)
        if is_or and truth(run, other) is False:
            continue
        guard = condition(run, node.values[0], value)
        value = merged(guard, value, other) if is_or else guarded(other, (guard,))
    return value


def _conditional(run: Run, node: ast.IfExp) -> Abstract:
    test = evaluate(run, node.test)
    known = truth(run, test)
    if known is not None:
        return evaluate(run, node.body if known else node.orelse)
    guard = condition(run, node.test, test)
    return merged(guard, evaluate(run, node.body), evaluate(run, node.orelse))


def _unary(run: Run, node: ast.UnaryOp) -> Abstract:
    value = evaluate(run, node.operand)
    if isinstance(node.op, ast.Not) and (known := truth(run, value)) is not None:
        return Known(not known)
    if isinstance(value, Known) and isinstance(node.op, ast.USub) and isinstance(value.value, int | float):
        return Known(-value.value)
    return blended(run.shown(node)[:LONGEST_SHOWN], run.span(node), values_in(run, value))


def _list(run: Run, node: ast.List | ast.Tuple | ast.Set) -> Abstract:
    items: list[Item] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            items += _elements(run, evaluate(run, element.value))
        else:
            items.append(Item(evaluate(run, element)))
    made = Items(
        tuple(items),
        run.span(node),
        run.shown(node)[:LONGEST_SHOWN],
        isinstance(node, ast.Set),
        isinstance(node, ast.Tuple),
    )
    return made if isinstance(node, ast.Tuple) else run.new(made)


def _dict(run: Run, node: ast.Dict) -> Abstract:
    made = Fields((), run.span(node), run.shown(node)[:LONGEST_SHOWN])
    entries: list[Entry] = []
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(run, value_node)
        if key_node is None:
            inner = run.at(value)
            entries += (
                inner.entries if isinstance(inner, Fields) else [Entry(None, value, run.span(value_node))]
            )
            continue
        key = evaluate(run, key_node)
        word = key.constant if isinstance(key, Words) else str(key.value) if isinstance(key, Known) else None
        entries.append(Entry(word, value, run.span(value_node)))
    for entry in entries:
        made = (
            made.with_entry(entry)
            if entry.key is not None and len(entries) < 200
            else replace(made, entries=(*made.entries, entry))
        )
    return run.new(made)


def _walrus(run: Run, node: ast.NamedExpr) -> Abstract:
    value = evaluate(run, node.value)
    if isinstance(node.target, ast.Name):
        run.frame.names.set(node.target.id, value)
    return value


def _lambda(run: Run, node: ast.Lambda) -> Abstract:
    return Function(node, run.frame.home, run.frame.names, None, "lambda")


def _awaited(run: Run, node: ast.Await | ast.Starred) -> Abstract:
    return evaluate(run, node.value)


def _yielded(run: Run, node: ast.Yield) -> Abstract:
    if node.value is not None:
        run.frame.yields.append((run.frame.guards, evaluate(run, node.value)))
    return NOTHING


_EXPRESSIONS: dict[type[ast.AST], Callable[[Run, Any], Abstract]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.JoinedStr: _fstring,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.UnaryOp: _unary,
    ast.Attribute: lambda run, node: members.attribute_of(run, node),
    ast.Subscript: lambda run, node: members.element(run, node),
    ast.List: _list,
    ast.Tuple: _list,
    ast.Set: _list,
    ast.Dict: _dict,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.Await: _awaited,
    ast.Starred: _awaited,
    ast.Yield: _yielded,
    ast.Call: lambda run, node: calls.call(run, node),
    ast.ListComp: lambda run, node: loops.comprehension(run, node),
    ast.GeneratorExp: lambda run, node: loops.comprehension(run, node),
    ast.SetComp: lambda run, node: loops.comprehension(run, node),
    ast.DictComp: lambda run, node: loops.dict_comprehension(run, node),
}
