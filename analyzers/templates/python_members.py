"""Attributes and elements: what `owner.name` and `owner[key]` stand for."""

import ast
from dataclasses import replace

import analyzers.templates.python_calls as calls
import analyzers.templates.python_evaluate as evaluation
import analyzers.templates.python_functions as functions
import analyzers.templates.python_imports as imports
import analyzers.templates.python_loops as loops
from analyzers.templates.parts import Value
from analyzers.templates.python_sources import clock_attribute
from analyzers.templates.python_state import LONGEST_SHOWN, Run
from analyzers.templates.python_text import values_in
from analyzers.templates.python_values import (
    NOTHING,
    Abstract,
    Choice,
    Class,
    External,
    Fields,
    Function,
    Instance,
    Items,
    Known,
    Module,
    Pattern,
    Words,
    blended,
)


def attribute_of(run: Run, node: ast.Attribute) -> Abstract:
    """The attribute that the node reads."""
    return attribute(run, evaluation.evaluate(run, node.value), node.attr, node)


def attribute(run: Run, owner: Abstract, name: str, node: ast.expr) -> Abstract:
    """`owner.name`."""
    held = run.at(owner)
    match held:
        case Instance(kind):
            found = held.get(name)
            if found is not None:
                return run.placed(found, run.span(node)) if isinstance(found, Value) else found
            found = functions.member(run, kind, name, owner)
            if isinstance(found, Function) and functions.is_property(found):
                return functions.follow(run, found, calls.Arguments(), node)
            return found or Value(f"self.{name}", run.span(node), (name,))
        case Class():
            return functions.member(run, held, name, None) or Value(name, run.span(node), (name,))
        case Module(home):
            found = imports.top_level(run, home, name)
            return found if found is not None else Value(name, run.span(node), (name,))
        case External(dotted):
            return External(f"{dotted}.{name}", run.span(node), held.arguments, held.keywords)
        case Value():
            return _value_attribute(run, held, name, node)
        case Pattern() if name == "template":
            return held.body
        case Choice(arms):
            known = [arm for _, arm in arms if run.at(arm) != NOTHING]
            return attribute(run, known[0], name, node) if known else NOTHING
        case _:
            return blended(run.shown(node)[:LONGEST_SHOWN], run.span(node), values_in(run, held))


def _value_attribute(run: Run, owner: Value, name: str, node: ast.expr) -> Value:
    span = run.span(node)
    if owner.cause is not None:
        expression = f"{owner.expression}.{name}"
        return replace(owner, expression=expression, span=span, cause=clock_attribute(owner.cause, name))
    if len(owner.names) == 1 and not owner.calls:
        dotted = f"{owner.names[0]}.{name}".removeprefix("self.")
        return Value(f"{owner.expression}.{name}", span, (dotted,))
    return replace(owner, expression=f"{owner.expression}.{name}"[:LONGEST_SHOWN], span=span)


def element(run: Run, node: ast.Subscript) -> Abstract:
    """The element or slice that the node reads."""
    owner = run.at(evaluation.evaluate(run, node.value))
    if isinstance(node.slice, ast.Slice):
        return loops.sliced(run, owner, node, node.slice)
    key = evaluation.evaluate(run, node.slice)
    word = key.constant if isinstance(key, Words) else None
    number = key.value if isinstance(key, Known) else None
    if isinstance(owner, External) and owner.dotted == "os.environ":
        return calls.environment(run, word, node)
    if isinstance(owner, Fields) and (word is not None or isinstance(number, int)):
        found = owner.get(word if word is not None else str(number))
        if found is not None:
            return found
    if isinstance(owner, Items) and isinstance(number, int) and not owner.unordered:
        known = owner.items[: number + 1] if number >= 0 else owner.items[number:]
        if -len(owner.items) <= number < len(owner.items) and not any(item.spread for item in known):
            return owner.items[number].value
    if isinstance(owner, Value) and owner.cause is None and word is not None:
        return _value_attribute(run, owner, word, node)
    if isinstance(owner, Fields | Items):
        values = values_in(run, key) or values_in(run, owner)
    else:
        values = [*values_in(run, owner), *values_in(run, key)]
    return blended(run.shown(node)[:LONGEST_SHOWN], run.span(node), values)
