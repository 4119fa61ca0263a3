"""Python statements, one function a kind: what they do to names and heap, and whether the next one is reached."""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import analyzers.templates.python_calls as calls
import analyzers.templates.python_evaluate as evaluation
import analyzers.templates.python_functions as functions
import analyzers.templates.python_guards as tests
import analyzers.templates.python_imports as imports
import analyzers.templates.python_loops as loops
from analyzers.templates.parts import Cause, Condition, Guard, Value
from analyzers.templates.python_state import DEEPEST, Run, Store
from analyzers.templates.python_values import (
    NOTHING,
    Abstract,
    Class,
    Function,
    Items,
    Known,
)


def execute(run: Run, body: list[ast.stmt]) -> bool:
    """Follow the statements. False when control does not reach what comes behind them."""
    for statement in body:
        run.step()
        handler = _STATEMENTS.get(type(statement))
        if handler is None:
            continue
        if run.depth > DEEPEST:
            return True
        run.depth += 1
        try:
            goes_on = handler(run, statement)
        finally:
            run.depth -= 1
        if goes_on is False:
            return False
    return True


def _expression(run: Run, node: ast.Expr) -> bool:
    if not isinstance(node.value, ast.Constant):
        evaluation.evaluate(run, node.value)
    return True


def _assign(run: Run, node: ast.Assign) -> bool:
    value = evaluation.evaluate(run, node.value)
    for target in node.targets:
        loops.bind(run, target, value)
    return True


def _annotated(run: Run, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        value = evaluation.evaluate(run, node.value)
        if _is_set(node.annotation) and isinstance(value, Value) and value.cause is None:
            value = replace(value, cause=Cause.UNORDERED)
        loops.bind(run, node.target, value)
    return True


def _is_set(annotation: ast.expr) -> bool:
    return functions.is_set_annotation(annotation)


def _augmented(run: Run, node: ast.AugAssign) -> bool:
    current = evaluation.evaluate(run, node.target)
    right = evaluation.evaluate(run, node.value)
    held = run.at(current)
    if isinstance(node.op, ast.Add):
        inner = run.at(right)
        number = isinstance(right, Known) and isinstance(right.value, int | float)
        counts = number and (isinstance(held, Known) or isinstance(node.target, ast.Attribute))
        if counts and (isinstance(node.target, ast.Attribute) or run.open_loops):
            value: Abstract = Value(run.shown(node.target), run.span(node), cause=Cause.COUNTER)
        elif isinstance(held, Items) and isinstance(inner, Items):
            loops.replaced(run, node.target, current, replace(held, items=(*held.items, *inner.items)))
            return True
        else:
            value = evaluation.added(run, current, right, node.target)
    else:
        binary = ast.BinOp(node.target, node.op, node.value)
        ast.copy_location(binary, node)
        value = evaluation.evaluate(run, binary)
    loops.bind(run, node.target, value)
    return True


def _if(run: Run, node: ast.If) -> bool:
    if _is_main(node.test):
        return execute(run, node.body)
    test = evaluation.evaluate(run, node.test)
    known = tests.truth(run, test)
    if known is not None:
        return execute(run, node.body if known else node.orelse)
    guard = tests.condition(run, node.test, test)
    other = replace(guard, arm=guard.arm + 1)
    with run.branch(guard) as first:
        first_goes_on = execute(run, node.body)
    with run.branch(other) as second:
        second_goes_on = execute(run, node.orelse)
    if not first_goes_on or not second_goes_on:
        run.adopt(first[1])
        run.adopt(second[1])
    if not first_goes_on and not second_goes_on:
        return False
    if first_goes_on and second_goes_on:
        _merge(run, guard, first, second)
    else:
        _merge(run, None, first if first_goes_on else second, None)
    return True


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _merge(
    run: Run, guard: Guard | None, first: tuple[Store, Store], second: tuple[Store, Store] | None
) -> None:
    run.frame.names.take_over(guard, first[0], second[0] if second is not None else None)
    run.heap.take_over(guard, first[1], second[1] if second is not None else None)


def _for(run: Run, node: ast.For | ast.AsyncFor) -> bool:
    over = evaluation.evaluate(run, node.iter)
    loop = len(run.open_loops) + run.steps
    run.open_loops.append(loop)
    if isinstance(over, Value) and over.origin is not None and run.counters.get(over.origin) == -1:
        run.counters[over.origin] = loop
    held = run.at(over)
    if isinstance(held, Items) and held.items and held.is_tuple and held.expression == "enumerate":
        run.counters[held.span] = loop
    try:
        for guards, element in loops.rounds(run, over, node.iter, node.target):
            _mark_counter(run, element, loop)
            with run.branch(*guards) as stores:
                loops.bind(run, node.target, element)
                execute(run, node.body)
            _merge(run, guards[-1] if guards else None, stores, None)
    finally:
        run.open_loops.remove(loop)
    return execute(run, node.orelse)


def _mark_counter(run: Run, element: Abstract, loop: int) -> None:
    """A number that `range` or `enumerate` gives counts while its loop runs, and is fixed behind it."""
    held = run.at(element)
    inner = [item.value for item in held.items] if isinstance(held, Items) else [held]
    for value in inner:
        if isinstance(value, Value) and value.origin is not None and run.counters.get(value.origin) == -1:
            run.counters[value.origin] = loop


def _while(run: Run, node: ast.While) -> bool:
    test = evaluation.evaluate(run, node.test)
    if tests.truth(run, test) is False:
        return execute(run, node.orelse)
    loop = len(run.open_loops) + run.steps
    run.open_loops.append(loop)
    guard = tests.condition(run, node.test, test)
    forever = tests.truth(run, test) is True
    try:
        with run.branch(*(() if forever else (guard,))) as stores:
            execute(run, node.body)
        _merge(run, None if forever else guard, stores, None)
    finally:
        run.open_loops.remove(loop)
    return True


def _with(run: Run, node: ast.With | ast.AsyncWith) -> bool:
    for item in node.items:
        value = evaluation.evaluate(run, item.context_expr)
        if item.optional_vars is not None:
            loops.bind(run, item.optional_vars, value)
    return execute(run, node.body)


def _try(run: Run, node: ast.Try) -> bool:
    goes_on = execute(run, node.body)
    handled = False
    for handler in node.handlers:
        with run.branch() as stores:
            if handler.name:
                run.frame.names.set(handler.name, Value(handler.name, run.span(handler), ("error",)))
            handled = execute(run, handler.body) or handled
        if not goes_on and handled:
            _merge(run, None, stores, None)
        run.adopt(stores[1])
    if goes_on:
        goes_on = execute(run, node.orelse)
    return execute(run, node.finalbody) and (goes_on or handled)


def _match(run: Run, node: ast.Match) -> bool:
    subject = evaluation.evaluate(run, node.subject)
    guard = tests.condition(run, node.subject, subject)
    goes_on = False
    branches: list[tuple[Guard, tuple[Store, Store]]] = []
    for arm, case in enumerate(node.cases):
        own: Condition = replace(guard, arm=arm)
        with run.branch(own) as stores:
            for inner in ast.walk(case.pattern):
                name = getattr(inner, "name", None)
                if isinstance(name, str):
                    run.frame.names.set(name, subject)
            reached = execute(run, case.body)
        goes_on = goes_on or reached
        run.adopt(stores[1])
        if reached:
            branches.append((own, stores))
    for taken, stores in branches:
        _merge(run, taken, stores, None)
    return goes_on or not node.cases


def _return(run: Run, node: ast.Return) -> bool:
    value = evaluation.evaluate(run, node.value) if node.value is not None else NOTHING
    run.frame.returns.append((run.frame.guards, value))
    return False


def _stop(run: Run, node: ast.stmt) -> bool:
    return False


def _delete(run: Run, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            calls.drop_oldest(run, target.value, target.slice, target)
    return True


def _define(run: Run, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    function = Function(node, run.frame.home, run.frame.names, None, node.name)
    run.frame.names.set(node.name, function)
    if run.chain:
        run.inner.append(function)
    return True


def _class(run: Run, node: ast.ClassDef) -> bool:
    run.frame.names.set(node.name, Class(node, run.frame.home))
    return True


_STATEMENTS: dict[type[ast.AST], Callable[[Run, Any], bool]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.Return: _return,
    ast.Raise: _stop,
    ast.Break: _stop,
    ast.Continue: _stop,
    ast.Delete: _delete,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _class,
    ast.Import: lambda run, node: imports.bind_import(run, node),
    ast.ImportFrom: lambda run, node: imports.bind_import_from(run, node),
}
