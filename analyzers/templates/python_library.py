"""Functions of Python's library and of template libraries, as far as prompts are built with them."""

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

import analyzers.templates.python_calls as calls
import analyzers.templates.python_loops as loops
import analyzers.templates.python_members as members
import analyzers.templates.python_patterns as patterns
from analyzers.templates.parts import Cause, Value
from analyzers.templates.python_sequences import SEQUENCES, Handler
from analyzers.templates.python_sources import READS_FILES, STANDING, cause_of_call, clock_as_shown, is_pure
from analyzers.templates.python_state import Run
from analyzers.templates.python_text import json_words, values_in, words_of
from analyzers.templates.python_values import (
    NOTHING,
    Abstract,
    External,
    Fields,
    Item,
    Items,
    Known,
    Words,
    blended,
)

if TYPE_CHECKING:
    from analyzers.templates.python_calls import Arguments


def external(run: Run, function: External, given: "Arguments", node: ast.Call) -> Abstract:
    """What a call of a library's function gives."""
    dotted = function.dotted
    handler = _FUNCTIONS.get(dotted)
    if handler is not None:
        found = handler(run, given, node)
        if found is not None:
            return found
    pattern = patterns.made_by(run, dotted, given, node)
    if pattern is not None:
        return pattern
    last = dotted.rpartition(".")[2]
    if last == "save" and _reencodes(run, given, node):
        return NOTHING
    seeded = (dotted.startswith("random.Random()") and function.arguments) or (
        dotted.startswith("random.") and run.frame.names.get("random.seed") is not None
    )
    cause = None if seeded else cause_of_call(dotted)
    values = [value for argument in given.values() for value in values_in(run, argument)]
    expression, span = run.shown(node)[:200], run.span(node)
    if cause is not None:
        if last == "strftime" and given.positional and isinstance(word := given.positional[0], Words):
            cause = clock_as_shown(cause, word.constant or "") or cause
        made = run.changing(expression, span, cause)
        if cause is Cause.USER_INPUT:
            made = replace(made, scope=None)
        return made
    if last[:1].isupper() and not (values and "()" not in dotted and is_pure(dotted)):
        keywords = tuple(given.keywords.items())
        return External(f"{dotted}()", span, tuple(given.positional), keywords)
    if seeded or is_pure(dotted):
        if not values and last in READS_FILES:
            return Value(expression, span, (last,), cause=Cause.CONSTANT)
        return blended(expression, span, values)
    if (last in READS_FILES or last in STANDING) and not values:
        return Value(expression, span, (last,), cause=Cause.CONSTANT)
    if "()" in dotted and not values and function.arguments:
        values = [value for inner in function.arguments for value in values_in(run, inner)]
        if values:
            return blended(expression, span, values, (f"{last}()",))
    return calls.unknown(run, dotted, given, node)


def _reencodes(run: Run, given: "Arguments", node: ast.Call) -> bool:
    """`image.save(buffer, …)`: the buffer then holds an image that was encoded anew."""
    target = given.get(0, "fp")
    if not (isinstance(target, External) and target.dotted == "io.BytesIO()" and node.args):
        return False
    if isinstance(node.args[0], ast.Name):
        run.frame.names.set(
            node.args[0].id, run.changing(run.shown(node)[:200], run.span(node), Cause.IMAGE_REENCODED)
        )
    return True


def _text(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    return words_of(run, given.positional[0], run.span(node)) if given.positional else Words(())


def _getattr(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    name = given.get(1)
    word = name.constant if isinstance(name, Words) else None
    return members.attribute(run, given.positional[0], word, node) if word else None


def _nothing(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    return NOTHING


def _dumps(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    value = given.get(0, "obj")
    order = given.get(None, "sort_keys")
    is_sorted = (isinstance(order, Known) and bool(order.value)) or "OPT_SORT_KEYS" in run.shown(node)
    if value is None:
        return None
    run.bodies[run.span(node)] = value
    return json_words(run, value, run.span(node), is_sorted)


def _yaml_dump(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    value, order = given.get(0, "data"), given.get(None, "sort_keys")
    is_sorted = not (isinstance(order, Known) and not order.value)
    return json_words(run, value, run.span(node), is_sorted) if value is not None else None


def _environ(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    name = given.get(0, "key")
    return calls.environment(run, name.constant if isinstance(name, Words) else None, node)


def _copied(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    held = run.at(given.positional[0]) if given.positional else NOTHING
    return run.new(held) if isinstance(held, Items | Fields) else held


def _shuffled(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    if given.positional and run.frame.names.get("random.seed") is None:
        value = run.changing(run.shown(node)[:200], run.span(node), Cause.RANDOM_CHOICE)
        changed = Items((Item(value, spread=True),), run.span(node), value.expression)
        loops.replaced(run, node.args[0], given.positional[0], changed)
    return NOTHING


def _seeded(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    if given.positional and not values_in(run, given.positional[0]):
        run.frame.names.set("random.seed", Known(True))
    return NOTHING


def _chained(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    items: list[Item] = []
    for value in given.positional:
        held = run.at(value)
        items += held.items if isinstance(held, Items) else [Item(held, spread=True)]
    return run.new(Items(tuple(items), run.span(node), run.shown(node)[:200]))


def _gathered(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    return Items(tuple(Item(value) for value in given.positional), run.span(node), run.shown(node)[:200])


def _called_later(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    if not given.positional:
        return None
    rest = calls.Arguments(given.positional[1:], given.keywords)
    return calls.apply(run, given.positional[0], rest, node)


def _hash(run: Run, given: "Arguments", node: ast.Call) -> Abstract | None:
    number = bool(given.positional) and isinstance(given.positional[0], Known)
    return given.positional[0] if number else None


_FUNCTIONS: dict[str, Handler] = {
    **SEQUENCES,
    **dict.fromkeys(("str", "repr", "format", "ascii"), _text),
    "getattr": _getattr,
    "print": _nothing,
    "hash": _hash,
    **dict.fromkeys(("json.dumps", "orjson.dumps", "ujson.dumps", "simplejson.dumps"), _dumps),
    **dict.fromkeys(("yaml.dump", "yaml.safe_dump"), _yaml_dump),
    **dict.fromkeys(("os.getenv", "os.environ.get"), _environ),
    **dict.fromkeys(("copy.copy", "copy.deepcopy"), _copied),
    **dict.fromkeys(("random.shuffle", "numpy.random.shuffle"), _shuffled),
    "random.seed": _seeded,
    "itertools.chain": _chained,
    "asyncio.gather": _gathered,
    "asyncio.to_thread": _called_later,
}
