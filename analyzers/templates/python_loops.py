"""What a loop runs over, comprehensions, and slices of lists and conversations."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

import analyzers.templates.python_evaluate as evaluation
import analyzers.templates.python_guards as tests
from analyzers.templates.parts import Cause, Guard, Loop, Text, Value
from analyzers.templates.python_state import Run
from analyzers.templates.python_text import external_value, unordered, values_in
from analyzers.templates.python_values import (
    Abstract,
    Choice,
    Entry,
    External,
    Fields,
    Instance,
    Item,
    Items,
    Known,
    Ref,
    Words,
    blended,
)
from analyzers.templates.volatility import judge

Emit = Callable[[tuple[Guard, ...]], None]
MOST_ROUNDS = 64
"""A list that the source writes out is gone through element by element, up to this many."""


def rounds(
    run: Run, value: Abstract, node: ast.expr, target: ast.expr
) -> Iterator[tuple[tuple[Guard, ...], Abstract]]:
    """The elements over which `for target in node` runs, each under its guards."""
    held = run.at(value)
    match held:
        case Items(items):
            if held.unordered and len(items) > 1:
                yield (), replace(unordered(held), expression=run.shown(target))
                return
            for item in items[:MOST_ROUNDS]:
                if item.spread:
                    for guards, element in rounds(run, item.value, node, target):
                        yield (*item.guards, *guards), element
                else:
                    yield item.guards, item.value
        case Fields(entries):
            for entry in entries[:MOST_ROUNDS]:
                yield entry.guards, Words(()) if entry.key is None else _constant_text(run, entry.key, node)
        case Choice(arms):
            for guards, arm in arms:
                for inner, element in rounds(run, arm, node, target):
                    yield (*guards, *inner), element
        case Value() | External() | Words():
            source = held if isinstance(held, Value) else None
            source = external_value(held, held.span) if isinstance(held, External) else source
            if source is None:
                values = values_in(run, held)
                source = (
                    blended(run.shown(node), run.span(node), values) if values else Value("", run.span(node))
                )
            yield (
                (_loop(run, source, node),),
                replace(source, expression=run.shown(target), span=run.span(target), guards=()),
            )
        case _:
            yield (_loop(run, Value("", run.span(node)), node),), Value(run.shown(target), run.span(target))


def _constant_text(run: Run, text: str, node: ast.expr) -> Words:
    """A constant text at the node's place."""
    return Words((Text(text, run.span(node)),))


def _loop(run: Run, source: Value, node: ast.expr) -> Loop:
    if source.cause is not None:
        return Loop(run.shown(node)[:200], run.span(node))
    return Loop(run.shown(node)[:200], run.span(node), source.names, source.calls)


def bind(run: Run, target: ast.expr, value: Abstract) -> None:
    """Give the names of an assignment's target their values."""
    held = run.at(value)
    match target:
        case ast.Name(id=name):
            run.frame.names.set(name, value)
        case ast.Starred():
            bind(run, target.value, value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            known = isinstance(held, Items) and not any(item.spread for item in held.items)
            for number, element in enumerate(elements):
                if known and isinstance(held, Items) and number < len(held.items):
                    bind(run, element, held.items[number].value)
                elif isinstance(held, Value):
                    bind(run, element, _part_of(run, held, element))
                else:
                    values = values_in(run, held)
                    bind(run, element, blended(run.shown(element), run.span(element), values))
        case ast.Attribute() | ast.Subscript():
            store(run, target, value)


def _part_of(run: Run, whole: Value, target: ast.expr) -> Value:
    """An element that is unpacked from a value: judged by its own name where that tells more."""
    name = target.id if isinstance(target, ast.Name) else ""
    part = replace(whole, expression=run.shown(target), span=run.span(target))
    if whole.cause is None and name and judge(part).scope is None:
        return replace(part, names=(name,), calls=())
    return part


def store(run: Run, target: ast.Attribute | ast.Subscript, value: Abstract) -> None:
    """`owner.name = value` and `owner[key] = value`."""
    owner = evaluation.evaluate(run, target.value)
    held = run.at(owner)
    if isinstance(target, ast.Attribute):
        if isinstance(owner, Ref) and isinstance(held, Instance):
            run.heap.set(owner.number, held.with_attribute(target.attr, value))
        return
    key = evaluation.evaluate(run, target.slice) if not isinstance(target.slice, ast.Slice) else Known(None)
    word = key.constant if isinstance(key, Words) else None
    changed: Abstract | None = None
    if isinstance(held, Fields):
        changed = held.with_entry(Entry(word, value, run.span(target)))
    elif isinstance(held, Items) and isinstance(key, Known) and isinstance(key.value, int):
        at = key.value if key.value >= 0 else len(held.items) + key.value
        if 0 <= at < len(held.items):
            item = replace(held.items[at], value=value, spread=False)
            changed = replace(held, items=(*held.items[:at], item, *held.items[at + 1 :]))
    elif isinstance(held, Items) and isinstance(target.slice, ast.Slice) and target.slice.lower is None:
        inner = run.at(value)
        changed = inner if isinstance(inner, Items) else None
    if changed is not None:
        replaced(run, target.value, owner, changed)


def replaced(run: Run, node: ast.expr, owner: Abstract, changed: Abstract) -> None:
    """Let the owner, which the node names, be changed: in the heap, or under its name."""
    if isinstance(owner, Ref):
        run.heap.set(owner.number, changed)
    elif isinstance(node, ast.Name):
        run.frame.names.set(node.id, run.new(changed))
    elif isinstance(node, ast.Attribute):
        holder = evaluation.evaluate(run, node.value)
        held = run.at(holder)
        if isinstance(holder, Ref) and isinstance(held, Instance):
            run.heap.set(holder.number, held.with_attribute(node.attr, run.new(changed)))


def comprehension(run: Run, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Abstract:
    """A list or set comprehension, or a generator: the elements under the loops and conditions around them."""
    items: list[Item] = []

    def emit(guards: tuple[Guard, ...]) -> None:
        items.append(Item(evaluation.evaluate(run, node.elt), guards))

    with run.branch() as (_, heap):
        _generate(run, node.generators, 0, (), emit)
    run.adopt(heap)
    is_set = isinstance(node, ast.SetComp)
    looped = any(item.guards for item in items)
    made = Items(tuple(items), run.span(node), run.shown(node)[:200], is_set and (looped or len(items) > 1))
    if made.unordered and len(items) == 1:
        return unordered(made)
    return run.new(made)


def _generate(
    run: Run, generators: list[ast.comprehension], number: int, guards: tuple[Guard, ...], emit: Emit
) -> None:
    if number == len(generators):
        emit(guards)
        return
    generator = generators[number]
    for around, element in rounds(
        run, evaluation.evaluate(run, generator.iter), generator.iter, generator.target
    ):
        bind(run, generator.target, element)
        inner = (*guards, *around)
        taken = True
        for test in generator.ifs:
            value = evaluation.evaluate(run, test)
            known = tests.truth(run, value)
            taken = taken and known is not False
            if known is None:
                inner = (*inner, tests.condition(run, test, value))
        if taken:
            _generate(run, generators, number + 1, inner, emit)


def dict_comprehension(run: Run, node: ast.DictComp) -> Abstract:
    """A dict comprehension: its members where the source shows them, else a value."""
    entries: list[Entry] = []
    looped = False

    def emit(guards: tuple[Guard, ...]) -> None:
        nonlocal looped
        key = evaluation.evaluate(run, node.key)
        word = key.constant if isinstance(key, Words) else None
        looped = looped or any(isinstance(guard, Loop) for guard in guards) or word is None
        entries.append(Entry(word, evaluation.evaluate(run, node.value), run.span(node), guards))

    with run.branch() as (_, heap):
        _generate(run, node.generators, 0, (), emit)
        values = [value for entry in entries for value in values_in(run, entry.value)]
    run.adopt(heap)
    if not looped:
        return run.new(Fields(tuple(entries), run.span(node), run.shown(node)[:200]))
    return blended(run.shown(node)[:200], run.span(node), values)


def sliced(run: Run, owner: Abstract, node: ast.Subscript, cut: ast.Slice) -> Abstract:
    """`owner[a:b]`: the last n of a conversation are a window whose start moves."""
    lower = evaluation.evaluate(run, cut.lower) if cut.lower is not None else None
    upper = evaluation.evaluate(run, cut.upper) if cut.upper is not None else None
    counts_back = isinstance(cut.lower, ast.UnaryOp) and isinstance(cut.lower.op, ast.USub)
    start = lower.value if isinstance(lower, Known) else None
    if isinstance(start, int) and start < 0:
        counts_back = True
    if isinstance(owner, Items):
        if counts_back and cut.upper is None and any(item.spread for item in owner.items):
            return run.new(replace(owner, items=tuple(_windowed(item) for item in owner.items)))
        if not any(item.spread for item in owner.items) and _whole(lower) and _whole(upper):
            end = upper.value if isinstance(upper, Known) else None
            return run.new(replace(owner, items=owner.items[start:end]))
        return owner
    if isinstance(owner, Words) and owner.constant is None:
        return owner
    if isinstance(owner, Value) and counts_back and cut.upper is None and is_conversation(owner):
        return Value(run.shown(node)[:200], run.span(node), owner.names, cause=Cause.HISTORY_WINDOW)
    if isinstance(owner, Value):
        return replace(owner, expression=run.shown(node)[:200], span=run.span(node))
    return blended(run.shown(node)[:200], run.span(node), values_in(run, owner))


def _whole(value: Abstract | None) -> bool:
    return value is None or (isinstance(value, Known) and isinstance(value.value, int))


def is_conversation(value: Value) -> bool:
    """True for a value that is the messages of a conversation."""
    return judge(value).cause in (Cause.CONVERSATION, Cause.HISTORY_WINDOW)


def _windowed(item: Item) -> Item:
    if item.spread and isinstance(item.value, Value):
        return replace(item, value=replace(item.value, cause=Cause.HISTORY_WINDOW))
    return item
