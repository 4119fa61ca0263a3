"""The state of one walk over a Jinja2 template: what was printed, what names stand for, which file it is in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import nodes

from analyzers.errors import InputError
from analyzers.templates.jinja_files import JinjaFiles
from analyzers.templates.jinja_names import Bindings
from analyzers.templates.jinja_source import JinjaSource, JinjaSyntaxError, environment
from analyzers.templates.parts import Dead, Guard, Part, Problem

DEEPEST = 24
_KNOWN_FILTERS = {"to_json", "from_json", "to_yaml", "date", "shuffle", "strftime", "format_date", "hash"}


@dataclass
class Macro:
    node: nodes.Macro
    source: JinjaSource


@dataclass
class Caller:
    body: list[nodes.Node]
    source: JinjaSource
    bindings: Bindings


@dataclass
class Walk:
    """One walk over a template: the parts printed so far, and what names stand for at this point."""

    files: JinjaFiles
    source: JinjaSource
    filters: frozenset[str]
    parts: list[Part] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    dead: list[Dead] = field(default_factory=list)
    bindings: Bindings = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()
    macros: dict[str, Macro] = field(default_factory=dict)
    blocks: dict[str, list[tuple[nodes.Block, JinjaSource]]] = field(default_factory=dict)
    current_block: tuple[str, int] | None = None
    callers: list[Caller] = field(default_factory=list)
    trail: tuple[str, ...] = ()
    depth: int = 0


@contextmanager
def entered(walk: Walk, name: str | None, node: nodes.Node) -> Iterator[bool]:
    """Continue in another file; False, with a problem noted, where that cannot be done."""
    loaded = load(walk, name, node)
    if loaded is None:
        yield False
        return
    before = walk.source, walk.trail
    walk.source, walk.trail = loaded, (*walk.trail, loaded.path)
    try:
        yield True
    finally:
        walk.source, walk.trail = before


def load(walk: Walk, name: str | None, node: nodes.Node) -> JinjaSource | None:
    if name is None:
        return None
    path = walk.files.find(name, walk.source.path)
    missing_is_fine = getattr(node, "ignore_missing", False)
    if path is None:
        if not missing_is_fine:
            note_problem(
                walk, node, f"'{name}' is not found beside the template or above it; name its folder in roots"
            )
        return None
    if str(path.resolve()) in {_real(step) for step in walk.trail}:
        note_problem(
            walk,
            node,
            f"'{name}' includes itself, through {len(walk.trail)} included {'file' if len(walk.trail) == 1 else 'files'}",
        )
        return None
    if len(walk.trail) > DEEPEST:
        note_problem(walk, node, "includes are nested too deeply to be followed")
        return None
    try:
        return walk.files.load(path)
    except JinjaSyntaxError as problem:
        walk.problems.append(Problem(str(path), problem.message, problem.line, problem.column))
    except InputError as problem:
        note_problem(walk, node, str(problem))
    return None


def _real(path: str) -> str:
    return str(Path(path).resolve())


def note_problem(walk: Walk, node: nodes.Node, message: str) -> None:
    line, column = walk.source.lines.position(walk.source.tag_at(node.lineno).start)
    walk.problems.append(Problem(walk.source.path, message, line, column))


@contextmanager
def scope(walk: Walk, bindings: Bindings | None = None) -> Iterator[None]:
    before = walk.bindings
    walk.bindings = dict(before if bindings is None else bindings)
    try:
        yield
    finally:
        walk.bindings = before


@contextmanager
def inside(walk: Walk, source: JinjaSource) -> Iterator[None]:
    before = walk.source
    walk.source = source
    try:
        yield
    finally:
        walk.source = before


def check_filters(walk: Walk, node: nodes.Node) -> None:
    known_filters = environment(False).filters
    for found in (
        [node, *node.find_all(nodes.Filter)]
        if isinstance(node, nodes.Filter)
        else node.find_all(nodes.Filter)
    ):
        name = found.name
        if isinstance(found, nodes.Filter) and not (
            name in known_filters or name in _KNOWN_FILTERS or name in walk.filters
        ):
            line, column = walk.source.lines.position(found.lineno)
            message = f"there is no filter named '{name}'; if it is the project's own, name it in filters"
            walk.problems.append(Problem(walk.source.path, message, line, column))
