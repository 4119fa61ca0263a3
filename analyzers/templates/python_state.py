"""Where names stand for values while Python source is followed: frames of functions, a heap, and bounds on both."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from analyzers.templates.parts import Cause, Guard, Prompt, Scope, Span, Value
from analyzers.templates.python_project import PythonFile, PythonProject
from analyzers.templates.python_values import Abstract, Function, Ref, merged, work_done

STEPS_PER_ENTRY = 6_000
STEPS_PER_FILE = 30_000
LONGEST_SHOWN = 200
"""Characters of an expression that are kept to show it."""
DEEPEST = 90
"""Nested expressions, statements and calls that are followed."""
MOST_CALLS = 5
"""Calls from function to function that are followed."""


class OutOfStepsError(Exception):
    """The source is too large or too entangled to be followed further."""


class Store:
    """Names or heap cells; what is set in a branch stays in it until it is merged."""

    __slots__ = ("own", "parent")

    def __init__(self, parent: "Store | None" = None) -> None:
        self.own: dict[str | int, Abstract] = {}
        self.parent = parent

    def get(self, key: str | int) -> Abstract | None:
        store: Store | None = self
        while store is not None:
            found = store.own.get(key)
            if found is not None:
                return found
            store = store.parent
        return None

    def set(self, key: str | int, value: Abstract) -> None:
        self.own[key] = value

    def take_over(self, guard: Guard | None, first: "Store", second: "Store | None") -> None:
        """Set what two branches (None: nothing was done) have made of the names."""
        for key in dict.fromkeys((*first.own, *(second.own if second is not None else ()))):
            mine = first.get(key)
            other = second.get(key) if second is not None else self.get(key)
            if mine is None:
                mine, other = other, None
            if mine is not None:
                self.own[key] = mine if guard is None else merged(guard, mine, other)


@dataclass
class Frame:
    """One function (or the top level of a file) that is being followed.

    `guards` are the conditions and loops around the statement at hand; `lasting` is the scope of what is
    computed here where the code runs once (at import, in `__init__`); `pinned` the span that stands for all
    expressions inside an f-string's field.
    """

    home: PythonFile
    names: Store
    name: str = ""
    outer: Store | None = None
    returns: list[tuple[tuple[Guard, ...], Abstract]] = field(default_factory=list)
    yields: list[tuple[tuple[Guard, ...], Abstract]] = field(default_factory=list)
    guards: tuple[Guard, ...] = ()
    lasting: Scope | None = None
    pinned: Span | None = None


@dataclass(frozen=True, slots=True)
class Emitted:
    """A prompt, with the functions through which the call was reached, outermost first, and the call's span."""

    prompt: Prompt
    chain: tuple[ast.AST, ...]
    call: Span


@dataclass
class Run:
    """What is known while one file is followed.

    `counters` gives the loop in which a number counts (-1 before its loop starts); `filled` are the template objects
    that are filled, so that their definition is no prompt of its own; `bodies` what a JSON text was made of, by its
    place; `inner` the functions that are defined inside others.
    """

    project: PythonProject
    frame: Frame
    heap: Store
    chain: tuple[ast.AST, ...] = ()
    emitted: list[Emitted] = field(default_factory=list)
    counters: dict[Span, int] = field(default_factory=dict)
    open_loops: list[int] = field(default_factory=list)
    steps: int = 0
    limit: int = STEPS_PER_ENTRY
    depth: int = 0
    filled: set[Span] = field(default_factory=set)
    bodies: dict[Span, Abstract] = field(default_factory=dict)
    inner: list[Function] = field(default_factory=list)

    def step(self) -> None:
        """Count a step. Raises OutOfStepsError when there have been enough."""
        self.steps += 1
        if self.steps + (work_done() >> 2) > self.limit:
            raise OutOfStepsError

    def span(self, node: ast.AST) -> Span:
        """Where the node stands."""
        return self.frame.pinned or self.frame.home.span(node)

    def shown(self, node: ast.AST) -> str:
        """The node's source."""
        if self.frame.pinned is not None:
            return ast.unparse(node)
        return self.frame.home.source(self.frame.home.span(node))

    def new(self, value: Abstract) -> Ref:
        """A new cell of the heap."""
        self.project.cells += 1
        self.heap.set(self.project.cells, value)
        return Ref(self.project.cells)

    def at(self, value: Abstract) -> Abstract:
        """What a reference refers to; any other value as it is."""
        if isinstance(value, Ref):
            found = self.heap.get(value.number)
            if found is not None:
                return found
        return value

    @contextmanager
    def branch(self, *guards: Guard) -> Iterator[tuple[Store, Store]]:
        """Do something whose effects on names and heap are kept apart: they are in the stores it gives."""
        frame, names, heap, outside = self.frame, self.frame.names, self.heap, self.frame.guards
        frame.names, self.heap = Store(names), Store(heap)
        frame.guards = (*outside, *guards)
        try:
            yield frame.names, self.heap
        finally:
            frame.names, self.heap, frame.guards = names, heap, outside

    def adopt(self, heap: Store) -> None:
        """Keep what a branch has newly made, for what refers to it."""
        for key, value in heap.own.items():
            if self.heap.get(key) is None:
                self.heap.set(key, value)

    def changing(self, expression: str, span: Span, cause: Cause) -> Value:
        """A value that changes for the cause; where the code runs once, it lasts as long as the process."""
        return Value(expression, span, cause=cause, scope=self.frame.lasting, origin=span)

    def inside(self, span: Span, text: str, start: int, end: int) -> Span:
        """Where the characters [start, end) of a literal's text stand, as nearly as its source shows."""
        home = self.project.files.get(span.path) or (
            self.frame.home if self.frame.home.path == span.path else None
        )
        if home is None:
            return span
        base = home.source(span).find(text)
        first = span.start + (base + start if base >= 0 else min(start + 1, span.end - span.start - 1))
        return home.lines.span(first, max(first, min(first + end - start, span.end)))

    def placed(self, value: Value, span: Span) -> Value:
        """The value as it is used at another place."""
        return value if value.span == span else replace(value, span=span, origin=value.origin or value.span)
