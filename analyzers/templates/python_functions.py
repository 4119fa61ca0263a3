"""Functions and classes of the project: followed with the arguments of a call, objects made, members found."""

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

import analyzers.templates.python_calls as calls
import analyzers.templates.python_evaluate as evaluation
import analyzers.templates.python_imports as imports
import analyzers.templates.python_statements as statements
from analyzers.templates.parts import Guard, Scope, Value
from analyzers.templates.python_state import MOST_CALLS, Frame, Run, Store
from analyzers.templates.python_values import (
    NOTHING,
    Abstract,
    Class,
    Entry,
    Fields,
    Function,
    Instance,
    Item,
    Items,
    merged,
)

if TYPE_CHECKING:
    from analyzers.templates.python_calls import Arguments

_CACHING = {"cache", "lru_cache", "cached_property", "cached", "cache_resource", "cache_data"}


_RUNS_ONCE = {"__init__", "__post_init__", "setup", "startup", "lifespan", "configure"}


def follow(run: Run, function: Function, given: "Arguments", node: ast.expr) -> Abstract:
    """What a function of the project gives with these arguments."""
    if len(run.chain) >= MOST_CALLS or function.node in run.chain:
        return calls.unknown(run, function.name, given, node)
    frame = Frame(
        function.home, Store(), _qualified(function), function.names, lasting=_lasting(run, function)
    )
    _bind_parameters(run, frame, function, given, node)
    outside, before = run.frame, run.chain
    run.frame, run.chain = frame, (*before, function.node)
    try:
        if isinstance(function.node, ast.Lambda):
            return evaluation.evaluate(run, function.node.body)
        statements.execute(run, function.node.body)
    finally:
        run.frame, run.chain = outside, before
    if frame.yields:
        span = run.span(node)
        return run.new(Items(tuple(Item(value, guards) for guards, value in frame.yields), span))
    return _result(frame.returns)


def _result(returns: list[tuple[tuple[Guard, ...], Abstract]]) -> Abstract:
    result: Abstract | None = None
    for guards, value in reversed(returns):
        if result is None:
            result = value
            continue
        for guard in reversed(guards):
            value = merged(guard, value, result)
        result = value
    return NOTHING if result is None else result


def _qualified(function: Function) -> str:
    receiver = function.receiver
    return f"{receiver.kind.node.name}.{function.name}" if isinstance(receiver, Instance) else function.name


def _lasting(run: Run, function: Function) -> Scope | None:
    if function.name in _RUNS_ONCE or _decorators(function) & _CACHING:
        return Scope.SESSION
    return run.frame.lasting


def _bind_parameters(run: Run, frame: Frame, function: Function, given: "Arguments", node: ast.expr) -> None:
    spec = function.node.args
    names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    positional = list(given.positional)
    if function.receiver is not None:
        positional.insert(0, function.receiver)
    keywords = dict(given.keywords)
    for name, value in zip(names, positional, strict=False):
        frame.names.set(name, value)
    span = run.span(node)
    if spec.vararg is not None:
        rest = tuple(Item(value) for value in positional[len(names) :])
        frame.names.set(spec.vararg.arg, Items(rest, span, is_tuple=True))
    for name in (*names, *(argument.arg for argument in spec.kwonlyargs)):
        if name in keywords:
            frame.names.set(name, keywords.pop(name))
    if spec.kwarg is not None:
        entries = tuple(Entry(name, value, span) for name, value in keywords.items())
        frame.names.set(spec.kwarg.arg, run.new(Fields(entries, span)))
    for name, default in defaults(spec):
        if name not in frame.names.own:
            frame.names.set(name, default_value(run, function, default))
    for name in names:
        if name not in frame.names.own:
            frame.names.set(name, Value(name, frame.home.span(function.node), (name,)))


def defaults(spec: ast.arguments) -> list[tuple[str, ast.expr]]:
    """The parameters with a default."""
    names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    found = list(zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True))
    found += [
        (argument.arg, default)
        for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        if default is not None
    ]
    return found


def default_value(run: Run, function: Function, default: ast.expr) -> Abstract:
    """A default is computed once, when the function is defined."""
    outside = run.frame
    run.frame = Frame(function.home, Store(), outer=function.names, lasting=Scope.SESSION)
    try:
        return evaluation.evaluate(run, default)
    finally:
        run.frame = outside


def construct(run: Run, kind: Class, given: "Arguments", node: ast.expr) -> Abstract:
    """A new object of a class of the project."""
    made = run.new(Instance(kind))
    init = member(run, kind, "__init__", made)
    if isinstance(init, Function):
        follow(run, init, given, node)
        return made
    instance = Instance(kind)
    fields = [s for s in kind.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
    for number, each in enumerate(fields):
        name = each.target.id  # type: ignore[union-attr]
        value = given.get(number, name)
        if value is None and each.value is not None:
            value = default_value(
                run,
                Function(ast.Lambda(ast.arguments([], [], None, [], [], None, []), each.value), kind.home),
                each.value,
            )
        if value is not None:
            instance = instance.with_attribute(name, value)
    run.heap.set(made.number, instance)
    after = member(run, kind, "__post_init__", made)
    if isinstance(after, Function):
        follow(run, after, calls.Arguments(), node)
    return made


def member(run: Run, kind: Class, name: str, receiver: Abstract | None, depth: int = 0) -> Abstract | None:
    """A method (bound to the receiver) or a class attribute, looked for in the bases too."""
    for statement in kind.node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == name:
            function = Function(statement, kind.home, None, receiver, name)
            marks = _decorators(function)
            if "staticmethod" in marks:
                return replace(function, receiver=None)
            return replace(function, receiver=kind) if "classmethod" in marks else function
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                empty = ast.Lambda(ast.arguments([], [], None, [], [], None, []), statement.value)
                return default_value(run, Function(empty, kind.home), statement.value)
    if depth < MOST_CALLS:
        for base in kind.node.bases:
            if not isinstance(base, ast.Name):
                continue
            found = imports.top_level(run, kind.home, base.id)
            if isinstance(found, Class) and found.node is not kind.node:
                inherited = member(run, found, name, receiver, depth + 1)
                if inherited is not None:
                    return inherited
    return None


def _decorators(function: Function) -> set[str]:
    found = set()
    for mark in getattr(function.node, "decorator_list", []):
        target = mark.func if isinstance(mark, ast.Call) else mark
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        found.add(name)
    return found


def is_property(function: Function) -> bool:
    """True for a method that is read like an attribute."""
    return bool(_decorators(function) & {"property", "cached_property"})


def is_set_annotation(annotation: ast.expr | None) -> bool:
    """True for `set[str]`, `Set`, `frozenset`."""
    target = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    return name in ("set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet")
