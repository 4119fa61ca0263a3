"""The names of a Python file as its top level binds them: each with the source that says what it stands for."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from analyzers.templates.python_project import PythonFile, PythonProject
from analyzers.templates.python_sending import NONE, Trait, is_telling

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_WORD = re.compile(r"[A-Za-z_]\w*")
_INNER_IMPORT = re.compile(r"^[ \t]+(?:from|import)[ \t]", re.M)
_NOT_READ = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


@dataclass(eq=False, slots=True)
class Piece:
    """A top-level name, a class or a method of a file, with the source that says what it stands for.

    `traits` are those of all that it reaches, as far as `is_known`; `before` are the pieces that mention it.
    """

    names: "FileNames"
    nodes: list[ast.AST] = field(default_factory=list)
    owner: ast.ClassDef | None = None
    is_variable: bool = False
    is_known: bool = False
    traits: Trait = NONE
    before: list["Piece"] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class FileNames:
    """The names of a file: pieces of its own; what it imports from the project (a file and a name in it, None for
    the module itself) and from libraries (the full name); the modules imported with `*`. `top` is all that its top
    level does, `telling` are the names of what model calls of libraries may be made with."""

    file: PythonFile
    lines: list[str]
    top: Piece = field(init=False)
    pieces: dict[str, Piece] = field(default_factory=dict)
    classes: dict[ast.ClassDef, Piece] = field(default_factory=dict)
    methods: dict[tuple[ast.ClassDef, str], Piece] = field(default_factory=dict)
    imports: dict[str, list[tuple[str, str | None]]] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    telling: frozenset[str] = frozenset()

    def text(self, nodes: Iterable[ast.AST]) -> str:
        """The lines of the nodes."""
        return "\n".join(
            line
            for node in nodes
            for line in self.lines[node.lineno - 1 : node.end_lineno]  # type: ignore[attr-defined]
        )


def names_of(project: PythonProject, file: PythonFile) -> FileNames:
    """The names of the file."""
    names = FileNames(file, file.text.split("\n"))
    names.top = Piece(names)
    statements = list(_flat(file.tree.body))
    for node in statements:
        if isinstance(node, Definition):
            names.pieces.setdefault(node.name, Piece(names)).nodes.append(node)
        elif isinstance(node, ast.ClassDef):
            names.pieces.setdefault(node.name, Piece(names)).nodes.append(node)
            _class(names, node)
        elif not isinstance(node, _NOT_READ):
            names.top.nodes.append(node)
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    names.pieces.setdefault(inner.id, Piece(names)).is_variable = True
    # What a statement does to a list or an object that a name stands for, it says with this name.
    for node in names.top.nodes:
        for word in set(_WORD.findall(names.text((node,)))):
            piece = names.pieces.get(word)
            if piece is not None and piece.is_variable:
                piece.nodes.append(node)
    for imported in _imports(names, statements):
        _bind(project, names, imported)
    names.telling = frozenset(name for name, full in names.libraries.items() if is_telling(full))
    return names


def _flat(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The statements of the top level, those in branches too, and what the branches depend on."""
    for node in body:
        match node:
            case ast.If():
                yield node.test
                yield from _flat([*node.body, *node.orelse])
            case ast.Try():
                yield from _flat([*node.body, *node.orelse, *node.finalbody])
                yield from _flat([each for handler in node.handlers for each in handler.body])
            case ast.For() | ast.AsyncFor() | ast.While():
                yield node
                yield from _flat([*node.body, *node.orelse])
            case ast.With() | ast.AsyncWith():
                yield node
                yield from _flat(node.body)
            case ast.Match():
                yield node
                yield from _flat([each for arm in node.cases for each in arm.body])
            case _:
                yield node


def _class(names: FileNames, node: ast.ClassDef) -> None:
    """A piece for the class, and for each method one that knows what the class itself says."""
    names.classes[node] = Piece(names, [node])
    said: list[ast.AST] = [*node.bases, *(each for each in node.body if not isinstance(each, _NOT_READ))]
    for each in node.body:
        if isinstance(each, Definition):
            piece = names.methods.setdefault((node, each.name), Piece(names, owner=node))
            piece.nodes += [each, *(said if not piece.nodes else ())]
        elif isinstance(each, ast.ClassDef):
            _class(names, each)


def _imports(names: FileNames, statements: list[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of the file, those in functions too."""
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, _NOT_READ) and _INNER_IMPORT.search(names.text((node,))):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    yield inner


def _bind(project: PythonProject, names: FileNames, node: ast.Import | ast.ImportFrom) -> None:
    here = names.file.path
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            path = project.find(here, alias.name)
            if path is not None and (alias.asname or "." not in alias.name):
                _add(names, name, (path, None))
            else:
                names.libraries[name] = alias.name if alias.asname else name
        return
    source = "." * node.level + (node.module or "")
    path = project.find(here, source)
    for alias in node.names:
        name = alias.asname or alias.name
        joint = "" if source.endswith(".") else "."
        below = project.find(here, f"{source}{joint}{alias.name}") if alias.name != "*" else None
        if alias.name == "*":
            names.stars += [path] if path is not None else []
        elif below is not None:
            _add(names, name, (below, None))
        elif path is not None:
            _add(names, name, (path, alias.name))
        else:
            names.libraries[name] = f"{source.lstrip('.')}.{alias.name}".lstrip(".")


def _add(names: FileNames, name: str, target: tuple[str, str | None]) -> None:
    known = names.imports.setdefault(name, [])
    if target not in known:
        known.append(target)
