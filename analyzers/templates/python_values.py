"""What a Python expression stands for, as far as its source shows: text, a value filled in, a list, a dict …

Text is a run of template parts, so that `f"Now: {datetime.now()}"` is `Words((Text("Now: "), Value(...)))`.
A value that the source does not tell is a template `Value` itself. Lists, dicts and objects that code may
change stand in a heap and are referred to by `Ref`. All values are immutable; the heap is what changes.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from analyzers.templates.parts import Cause, Condition, Guard, Span, Text, Value
from analyzers.templates.volatility import SCOPES, judge


@dataclass(frozen=True, slots=True)
class Known:
    """A constant that is no text: a number, a truth value, None, bytes."""

    value: Any


@dataclass(frozen=True, slots=True)
class Words:
    """Text, with what is filled into it."""

    parts: tuple[Text | Value, ...]

    @property
    def constant(self) -> str | None:
        """The text where all of it is fixed and unconditional, else None."""
        if all(isinstance(part, Text) and not part.guards for part in self.parts):
            return "".join(part.text for part in self.parts if isinstance(part, Text))
        return None


@dataclass(frozen=True, slots=True)
class Item:
    """An element of a list; with `spread`, all elements of another one that is not known."""

    value: "Abstract"
    guards: tuple[Guard, ...] = ()
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list, tuple or set; `unordered` for a set."""

    items: tuple[Item, ...]
    span: Span
    expression: str = ""
    unordered: bool = False
    is_tuple: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of a dict; without a key, all members of another one that is not known."""

    key: str | None
    value: "Abstract"
    span: Span
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Fields:
    """A dict with the keys that the source shows, in its order."""

    entries: tuple[Entry, ...]
    span: Span
    expression: str = ""

    def get(self, key: str) -> "Abstract | None":
        """The member with this key; the last one where a key stands twice."""
        return next((entry.value for entry in reversed(self.entries) if entry.key == key), None)

    def with_entry(self, new: Entry) -> "Fields":
        """The dict with one member set."""
        if any(entry.key == new.key for entry in self.entries):
            entries = tuple(new if entry.key == new.key else entry for entry in self.entries)
        else:
            entries = (*self.entries, new)
        return replace(self, entries=entries)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values, each under its guards; `leaves` is how many there are, those of choices inside too."""

    arms: tuple[tuple[tuple[Guard, ...], "Abstract"], ...]
    leaves: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        leaves = sum(_leaves(arm) for _, arm in self.arms)
        object.__setattr__(self, "leaves", leaves)


@dataclass(frozen=True, slots=True)
class Ref:
    """A list, dict or object in the heap, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the project; `receiver` is what a bound method is bound to, `home` the module it is in."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    home: Any
    names: Any = None
    receiver: "Abstract | None" = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the project."""

    node: ast.ClassDef
    home: Any


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of the project, with its attributes."""

    kind: Class
    attributes: tuple[tuple[str, "Abstract"], ...] = ()

    def get(self, name: str) -> "Abstract | None":
        """The attribute, None when it was never set."""
        return next((value for key, value in self.attributes if key == name), None)

    def with_attribute(self, name: str, value: "Abstract") -> "Instance":
        """The object with one attribute set."""
        return replace(
            self, attributes=(*(pair for pair in self.attributes if pair[0] != name), (name, value))
        )


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the project."""

    home: Any


@dataclass(frozen=True, slots=True)
class Pending:
    """A name imported from the file at `path` (the module itself without a `name`), not looked into yet."""

    path: str
    name: str | None
    dotted: str
    span: Span


@dataclass(frozen=True, slots=True)
class External:
    """Something of a library by its full name; an object it made has the call in it (`openai.OpenAI().chat`)."""

    dotted: str
    span: Span
    arguments: tuple["Abstract", ...] = ()
    keywords: tuple[tuple[str, "Abstract"], ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A template object: text with placeholders in a `style` (f-string, dollar, jinja), or chat messages."""

    style: str
    body: "Abstract"
    span: Span
    filled: tuple[tuple[str, "Abstract"], ...] = ()


Abstract: TypeAlias = (
    Known
    | Words
    | Value
    | Items
    | Fields
    | Choice
    | Ref
    | Function
    | Class
    | Instance
    | Module
    | Pending
    | External
    | Pattern
)
NOTHING = Known(None)
MOST_PARTS = 600
"""Texts and lists of more parts are cut: enough for any prompt, and a bound for generated code."""
MOST_GUARDS = 6
"""Nested conditions and loops of which a part still knows."""
_work = [0]


def start_work(done: int = 0) -> int:
    """Count the parts that are joined and merged from `done` on; what was counted before is given back."""
    before = _work[0]
    _work[0] = done
    return before


def work_done() -> int:
    """The parts joined and merged since the count was started."""
    return _work[0]


def _under(guards: tuple[Guard, ...], inner: tuple[Guard, ...]) -> tuple[Guard, ...]:
    return (*guards, *inner)[:MOST_GUARDS]


def guarded(value: Abstract, guards: tuple[Guard, ...]) -> Abstract:
    """The value as it is under the guards, outermost first."""
    if not guards:
        return value
    match value:
        case Words(parts):
            _work[0] += len(parts)
            return Words(tuple(replace(part, guards=_under(guards, part.guards)) for part in parts))
        case Value():
            return replace(value, guards=_under(guards, value.guards))
        case Choice(arms):
            return Choice(tuple((_under(guards, inner), arm) for inner, arm in arms))
        case _:
            return Choice(((guards, value),))


def merged(guard: Guard, first: Abstract, second: Abstract | None) -> Abstract:
    """The value after a branch: `first` where the guard holds, else `second` (None: it was not set then).

    What both begin and end with stays as it is; only what differs is under the guard.
    """
    if first == second:
        return first
    other = (replace(guard, arm=guard.arm + 1),) if isinstance(guard, Condition) else (guard,)
    if second is None:
        return first
    if isinstance(first, Items) and isinstance(second, Items):
        head, ours, theirs, tail = _apart(first.items, second.items)
        mine = [replace(item, guards=_under((guard,), item.guards)) for item in ours]
        rest = [replace(item, guards=_under(other, item.guards)) for item in theirs]
        return replace(
            first,
            items=(*head, *mine, *rest, *tail)[:MOST_PARTS],
            unordered=first.unordered or second.unordered,
        )
    if isinstance(first, Fields) and isinstance(second, Fields):
        return _merged_fields(guard, other, first, second)
    if isinstance(first, Instance) and isinstance(second, Instance):
        result = second
        for name, value in first.attributes:
            result = result.with_attribute(name, merged(guard, value, second.get(name)))
        return result
    if isinstance(first, Words | Value) and isinstance(second, Words | Value):
        head, ours, theirs, tail = _apart(_parts(first), _parts(second))
        mine = [replace(part, guards=_under((guard,), part.guards)) for part in ours]
        rest = [replace(part, guards=_under(other, part.guards)) for part in theirs]
        return Words((*head, *mine, *rest, *tail)[:MOST_PARTS])
    if _leaves(first) + _leaves(second) > MOST_PARTS:
        return first  # Each round of a loop doubles a choice between itself and something made of it.
    return Choice((((guard,), first), (other, second)))


def _leaves(value: Abstract) -> int:
    return value.leaves if isinstance(value, Choice) else 1


def _merged_fields(guard: Guard, other: tuple[Guard, ...], first: Fields, second: Fields) -> Fields:
    entries: list[Entry] = []
    for entry in second.entries:
        mine = next((e for e in first.entries if e.key == entry.key), None)
        if mine is None:
            entries.append(replace(entry, guards=_under(other, entry.guards)))
        elif mine == entry:
            entries.append(entry)
        else:
            entries.append(replace(mine, value=merged(guard, mine.value, entry.value)))
    known = {entry.key for entry in second.entries}
    entries += [replace(e, guards=_under((guard,), e.guards)) for e in first.entries if e.key not in known]
    return replace(first, entries=tuple(entries))


def _apart(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    """What both sequences begin with, the middle of each, what both end with."""
    shorter = min(len(first), len(second))
    _work[0] += len(first) + len(second)
    head = 0
    while head < shorter and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < shorter - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    ends = len(first) - tail, len(second) - tail
    return first[:head], first[head : ends[0]], second[head : ends[1]], first[ends[0] :]


def _parts(value: "Words | Value") -> tuple[Text | Value, ...]:
    return value.parts if isinstance(value, Words) else (value,)


def joined(values: Iterable["Words | Value"]) -> Words:
    """The texts one after the other."""
    parts = tuple(part for value in values for part in _parts(value))
    _work[0] += len(parts)
    return Words(parts[:MOST_PARTS])


def rank(value: Value) -> int:
    """How often the value changes, for comparison."""
    return SCOPES[value.cause].rank if value.cause in SCOPES else judge(value).rank


def blended(expression: str, span: Span, values: Iterable[Value], calls: tuple[str, ...] = ()) -> Value:
    """What is computed from the values: it reads what they read, and changes as often as the worst of them."""
    kept = list(values)
    names = tuple(dict.fromkeys(name for value in kept for name in value.names))
    made = tuple(dict.fromkeys((*calls, *(call for value in kept for call in value.calls))))
    worst = max((value for value in kept if value.cause is not None), key=rank, default=None)
    if worst is None:
        return Value(expression, span, names, made)
    if worst.cause is Cause.CONSTANT and len(kept) > 1:
        worst = replace(worst, cause=None)
    return Value(
        expression, span, names, made, cause=worst.cause, scope=worst.scope, origin=worst.origin or worst.span
    )
