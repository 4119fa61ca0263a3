"""Tests in Python source: whether they are known to hold, and by what names the parts under them are judged."""

import ast

from analyzers.templates.parts import Cause, Condition, Scope
from analyzers.templates.python_state import LONGEST_SHOWN, Run
from analyzers.templates.python_text import values_in
from analyzers.templates.python_values import (
    Abstract,
    Class,
    Fields,
    Function,
    Items,
    Known,
    Module,
    Pattern,
    Words,
)


def truth(run: Run, value: Abstract) -> bool | None:
    """Whether the value is true, None where the source does not tell."""
    value = run.at(value)
    match value:
        case Known(constant):
            return bool(constant)
        case Words():
            return None if value.constant is None else bool(value.constant)
        case Items(items=()) | Fields(entries=()):
            return False
        case Class() | Function() | Pattern() | Module():
            return True
        case _:
            return None


_AS_NAMES = {
    Cause.USER_INPUT: "user_input",
    Cause.COUNTER: "counter",
    Cause.IDENTITY: "user",
    Cause.RETRIEVED: "retrieved",
    Cause.CONVERSATION: "history",
    Cause.HISTORY_WINDOW: "history",
    Cause.PARAMETER: "mode",
}


_AS_CALLS = {
    Cause.CLOCK: "now()",
    Cause.DATE: "today()",
    Cause.RANDOM_ID: "random()",
    Cause.RANDOM_CHOICE: "choice()",
    Cause.ENVIRONMENT: "getenv()",
    Cause.UNORDERED: "listdir()",
    Cause.SALTED_HASH: "hash()",
}


def read_names(run: Run, value: Abstract) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names and calls by which a guard or a parameter is judged."""
    names: dict[str, None] = {}
    made: dict[str, None] = {}
    for each in values_in(run, value):
        if each.cause is None:
            names.update(dict.fromkeys(each.names))
            made.update(dict.fromkeys(each.calls))
        elif each.scope is None or each.scope.rank > Scope.RELEASE.rank:
            if each.cause in _AS_NAMES:
                names[_AS_NAMES[each.cause]] = None
            elif each.cause in _AS_CALLS:
                made[_AS_CALLS[each.cause]] = None
    return tuple(names), tuple(made)


def condition(run: Run, test: ast.expr, value: Abstract) -> Condition:
    """The guard for what happens where the test holds."""
    names, made = read_names(run, value)
    return Condition(run.shown(test)[:LONGEST_SHOWN], run.span(test), names, made)
