"""Calls: functions and classes of the project are followed, those of libraries are looked up."""

import ast
from dataclasses import dataclass, field, replace

import analyzers.templates.python_evaluate as evaluation
import analyzers.templates.python_functions as functions
import analyzers.templates.python_library as library
import analyzers.templates.python_loops as loops
import analyzers.templates.python_members as members
import analyzers.templates.python_methods as methods
import analyzers.templates.python_sinks as sinks
from analyzers.templates.parts import Cause, Span, Value
from analyzers.templates.python_sources import STANDING, environment_name, loads_a_prompt
from analyzers.templates.python_state import Run
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
    Item,
    Items,
    Known,
    Module,
    Pattern,
    blended,
    guarded,
)
from analyzers.templates.volatility import judge, judge_name


@dataclass
class Arguments:
    """The arguments of a call; `open` when it takes further ones that the source does not show."""

    positional: list[Abstract] = field(default_factory=list)
    keywords: dict[str, Abstract] = field(default_factory=dict)
    open: bool = False

    def get(self, position: int | None, *names: str) -> Abstract | None:
        """The argument with one of the names, or at the position."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return self.positional[position] if position is not None and position < len(self.positional) else None

    def values(self) -> list[Abstract]:
        """All arguments."""
        return [*self.positional, *self.keywords.values()]


def call(run: Run, node: ast.Call) -> Abstract:
    """What a call gives. A model call adds its prompt to the run."""
    given = _arguments(run, node)
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in ("create", "parse", "stream"):
            # A client of the project's own that has the form of a known one is taken for it.
            reply = sinks.known_client_call(run, given, node)
            if reply is not None:
                return reply
        return _method(run, evaluation.evaluate(run, node.func.value), node.func.attr, given, node)
    return apply(run, evaluation.evaluate(run, node.func), given, node)


def _arguments(run: Run, node: ast.Call) -> Arguments:
    given = Arguments()
    for argument in node.args:
        value = evaluation.evaluate(run, argument)
        if isinstance(argument, ast.Starred):
            inner = run.at(value)
            if isinstance(inner, Items):
                given.positional += [item.value for item in inner.items]
            else:
                given.open = True
        else:
            given.positional.append(value)
    for keyword in node.keywords:
        value = evaluation.evaluate(run, keyword.value)
        if keyword.arg is not None:
            given.keywords[keyword.arg] = value
            continue
        inner = run.at(value)
        if isinstance(inner, Fields):
            for entry in inner.entries:
                if entry.key is None:
                    given.open = True
                else:
                    given.keywords[entry.key] = (
                        guarded(run.at(entry.value), entry.guards) if entry.guards else entry.value
                    )
        else:
            given.open = True
    return given


def _method(run: Run, owner: Abstract, name: str, given: Arguments, node: ast.Call) -> Abstract:
    held = run.at(owner)
    match held:
        case Instance() | Class() | Module():
            return apply(run, members.attribute(run, owner, name, node.func), given, node, owner)
        case External(dotted):
            made = replace(held, dotted=f"{dotted}.{name}")
            return apply(run, made, given, node, owner)
        case Choice(arms):
            known = [arm for _, arm in arms if run.at(arm) != NOTHING]
            return _method(run, known[0], name, given, node) if known else NOTHING
        case Value():
            reply = sinks.model_call(run, f"{held.expression}.{name}", given, node)
            if reply is not None:
                return reply
    found = methods.method(run, owner, name, given, node)
    if found is not None:
        return found
    return unknown(run, name, given, node, owner)


def apply(
    run: Run, target: Abstract, given: Arguments, node: ast.Call, owner: Abstract = NOTHING
) -> Abstract:
    """What calling the target gives."""
    held = run.at(target)
    match held:
        case Function():
            return functions.follow(run, held, given, node)
        case Class():
            return functions.construct(run, held, given, node)
        case External():
            reply = sinks.model_call(run, held.dotted, given, node, held)
            return reply if reply is not None else library.external(run, held, given, node)
        case Pattern():
            return methods.method(run, held, "invoke", given, node) or held
        case Instance(kind):
            found = functions.member(run, kind, "__call__", target)
            return functions.follow(run, found, given, node) if isinstance(found, Function) else NOTHING
        case Choice(arms):
            known = [arm for _, arm in arms if run.at(arm) != NOTHING]
            return apply(run, known[0], given, node, owner) if known else NOTHING
        case Value():
            reply = sinks.model_call(run, held.expression, given, node)
            return reply if reply is not None else unknown(run, held.expression, given, node)
        case _:
            return unknown(run, "call", given, node)


def unknown(run: Run, name: str, given: Arguments, node: ast.expr, owner: Abstract = NOTHING) -> Abstract:
    """What a function that cannot be followed gives: it changes with its arguments, or as its name says."""
    short = name.rpartition(".")[2]
    expression, span = run.shown(node)[:200], run.span(node)
    values = [value for argument in given.values() for value in values_in(run, argument)]
    values += [value for value in values_in(run, owner) if judge(value).scope is not None]
    fixed = all(judge(value).stable for value in values)
    if fixed and (short in STANDING or loads_a_prompt(short)):
        return Value(expression, span, (short,), cause=Cause.CONSTANT)
    found = blended(expression, span, values, (f"{short}()",))
    if found.cause is None and judge_name(short).scope is None and values:
        found = replace(found, calls=tuple(made for made in found.calls if made != f"{short}()"))
    return found


def environment(run: Run, variable: str | None, node: ast.expr, default: Abstract | None = None) -> Abstract:
    """A variable of the environment: settings of a deployment are fixed, what names a host or a user is not."""
    expression, span = run.shown(node), run.span(node)
    name = environment_name(variable) if variable is not None else None
    if name is not None and judge_name(name).stable:
        return Value(expression, span, (name,))
    return Value(expression, span, cause=Cause.ENVIRONMENT, origin=span)


def drop_oldest(run: Run, target: ast.expr, index: ast.expr, node: ast.expr) -> None:
    """`del messages[0]`, `del messages[:n]`, `messages.pop(0)`: the start of a conversation moves."""
    owner = evaluation.evaluate(run, target)
    held = run.at(owner)
    if isinstance(index, ast.Slice):
        upper = evaluation.evaluate(run, index.upper) if index.upper is not None else None
        negative = isinstance(upper, Known) and isinstance(upper.value, int) and upper.value < 0
        start = upper is not None and not negative
    else:
        at = evaluation.evaluate(run, index)
        start = isinstance(at, Known) and isinstance(at.value, int) and 0 <= at.value <= 2
    if not start:
        return
    span = run.span(node)
    if isinstance(held, Value) and loops.is_conversation(held):
        window = Value(run.shown(node)[:200], span, held.names, cause=Cause.HISTORY_WINDOW)
        loops.replaced(run, target, owner, Items((Item(window, spread=True),), span))
    elif isinstance(held, Items):
        items = tuple(_as_window(item, run.shown(node)[:200], span) for item in held.items)
        loops.replaced(run, target, owner, replace(held, items=items))


def _as_window(item: Item, expression: str, span: Span) -> Item:
    if item.spread and isinstance(item.value, Value) and loops.is_conversation(item.value):
        window = replace(item.value, expression=expression, span=span, cause=Cause.HISTORY_WINDOW)
        return replace(item, value=window)
    return item
