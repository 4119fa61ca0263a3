"""Which functions of a project may send a prompt: what each can reach through the names that it mentions.

A function reaches what its names stand for (through imports, too), and what that mentions in turn. An object's methods
are reached with its class. So whatever the evaluator could follow from a function is reached, and much that it
would not; where all of it together lacks what a model call needs, the function need not be followed.
"""

import ast
import re
from collections.abc import Iterator
from functools import partial

from analyzers.templates.python_pieces import Definition, FileNames, Piece, names_of
from analyzers.templates.python_project import PythonFile, PythonProject
from analyzers.templates.python_sending import Trait, may_send, traits_of

_WORD = re.compile(r"[A-Za-z_]\w*")
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t].*$", re.M)
_DEEPEST = 8
"""Modules through which an imported name is handed on."""


class Reach:
    """Answers about one project; files are looked into when something reaches them."""

    def __init__(self, project: PythonProject) -> None:
        self._project = project
        self._files: dict[str, FileNames | None] = {}

    def may_send(self, file: PythonFile, node: Definition | None, owner: ast.ClassDef | None = None) -> bool:
        """True when following the function (the method of a class; None: the file's top level) may come to a model
        call."""
        names = self._of(file)
        if node is None:
            return may_send(self._traits(names.top))
        piece = names.pieces.get(node.name) if owner is None else names.methods.get((owner, node.name))
        return piece is None or may_send(self._traits(piece))

    def _of(self, file: PythonFile) -> FileNames:
        known = self._files.get(file.path)
        if known is None or known.file is not file:
            known = names_of(self._project, file)
            self._files[file.path] = known
        return known

    def _at(self, path: str) -> FileNames | None:
        if path not in self._files:
            file = self._project.file(path)
            self._files[path] = names_of(self._project, file) if file is not None else None
        return self._files[path]

    def _traits(self, piece: Piece) -> Trait:
        """The traits of all that the piece reaches."""
        pending = [piece]
        while pending:
            at = pending.pop()
            if at.is_known:
                continue
            at.is_known = True
            text = at.names.text(at.nodes)
            classes = [at.owner] if at.owner is not None else at.nodes
            methods = frozenset(
                name
                for kind in classes
                if isinstance(kind, ast.ClassDef)
                for name in self._methods(at.names, kind)
            )
            words = set(_WORD.findall(text))
            is_open = not at.names.telling.isdisjoint(words)
            _spread(at, traits_of(at.nodes, text, methods, partial(self._kind, at.names), is_open))
            for reached in self._reached(at, text, words):
                reached.before.append(at)
                _spread(at, reached.traits)
                pending.append(reached)
        return piece.traits

    def _methods(self, names: FileNames, kind: ast.ClassDef, depth: int = 0) -> Iterator[str]:
        """The names of the methods of a class, inherited ones too."""
        yield from (name for owner, name in names.methods if owner is kind)
        for base in kind.bases if depth < _DEEPEST else ():
            if isinstance(base, ast.Name):
                for piece in self._mentioned(names, base.id, base.id, "", set()):
                    for node in piece.nodes:
                        if isinstance(node, ast.ClassDef):
                            yield from self._methods(piece.names, node, depth + 1)

    def _kind(self, names: FileNames, name: str) -> str | None:
        """What a name of a file stands for, as `traits_of` asks."""
        root, _, rest = name.partition(".")
        if rest:
            modules = names.imports.get(root, [])
            other = self._at(modules[0][0]) if len(modules) == 1 and modules[0][1] is None else None
            return self._kind(other, rest) if other is not None else None
        for _ in range(_DEEPEST):
            piece, imported = names.pieces.get(name), names.imports.get(name, ())
            known = (piece is not None) + len(imported) + (name in names.libraries)
            if known != 1:
                return None
            if piece is not None:
                return _kind_of_variable(names, piece) if piece.is_variable else "project"
            if not imported:
                return names.libraries[name]
            path, member = imported[0]
            if member is None:
                return "module"
            other = self._at(path)
            if other is None:
                return None
            names, name = other, member
        return None

    def _reached(self, piece: Piece, text: str, words: set[str]) -> set[Piece]:
        found = set(self._through_self(piece, words))
        for word in words:
            found.update(self._mentioned(piece.names, word, word, text, words))
        found.discard(piece)
        return found

    def _through_self(self, piece: Piece, words: set[str]) -> Iterator[Piece]:
        """What a method reaches of its own object; the whole class where it hands the object on, or inherits."""
        names, owner = piece.names, piece.owner
        if owner is None:
            return
        for word in (*words, "__init__", "__post_init__", "__call__"):
            if (owner, word) in names.methods:
                yield names.methods[owner, word]
        own = [names.text((node,)) for node in piece.nodes if isinstance(node, Definition)]
        whole = owner.bases or any(_hands_on(text) for text in own)
        if whole and owner in names.classes:
            yield names.classes[owner]

    def _mentioned(
        self, names: FileNames, word: str, shown: str, text: str, words: set[str], depth: int = 0
    ) -> Iterator[Piece]:
        """What a name of a file stands for; `shown` is the name by which `text` knows it."""
        if depth > _DEEPEST:
            return
        piece, imported = names.pieces.get(word), names.imports.get(word, ())
        if piece is not None:
            yield piece
        for path, member in imported:
            other = self._at(path)
            if other is None:
                continue
            if member is not None:
                yield from self._mentioned(other, member, shown, text, words, depth + 1)
                continue
            if re.search(rf"\b{re.escape(shown)}\b(?!\s*\.)", _IMPORT.sub("", text)):
                yield from other.pieces.values()
            for each in words & (other.pieces.keys() | other.imports.keys()):
                yield from self._mentioned(other, each, each, text, words, depth + 1)
        if piece is None and not imported:
            for path in names.stars:
                other = self._at(path)
                if other is not None:
                    yield from self._mentioned(other, word, shown, text, words, depth + 1)


def _hands_on(method: str) -> bool:
    """True when the method uses its object other than by its attributes."""
    _, _, behind = method.partition("(")
    first = _WORD.match(behind.lstrip())
    if first is None:
        return True
    used = re.findall(rf"\b{re.escape(first[0])}\b(?!\s*\.)", behind)
    return len(used) > 1 or "super" in method


def _kind_of_variable(names: FileNames, piece: Piece) -> str | None:
    """ "object" for what a library's call gives and nothing else does."""
    made = [node for node in piece.nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
    if len(made) != 1 or not isinstance(made[0].value, ast.Call):
        return None
    root: ast.expr = made[0].value.func
    while isinstance(root, ast.Attribute | ast.Call):
        root = root.value if isinstance(root, ast.Attribute) else root.func
    known = isinstance(root, ast.Name) and root.id in names.libraries and root.id not in names.pieces
    return "object" if known else None


def _spread(piece: Piece, traits: Trait) -> None:
    """Give the piece and all that reach it the traits."""
    pending: list[tuple[Piece, Trait]] = [(piece, traits)]
    while pending:
        at, more = pending.pop()
        if more & ~at.traits:
            at.traits |= more
            pending += [(each, at.traits) for each in at.before]
