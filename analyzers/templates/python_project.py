"""The Python files of a project: read and parsed once, found by their imports, and never imported."""

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analyzers.errors import InputError
from analyzers.templates.parts import LineIndex, Problem, Span
from analyzers.templates.reading import read_text

LARGEST_SOURCE = 4 * 1024 * 1024
"""Bytes of a Python file that is looked into; larger ones are data, and their trees take gigabytes."""
_LARGEST_SYNTAX_CHECK = 512 * 1024
_MOST_FOLDERS_UP = 6
_DEEPEST_IMPORT = 2

_MODEL_CALLS = tuple(
    (literal, re.compile(rf"{re.escape(literal)}(?:{rest})"))
    for literal, rest in (
        (".messages", r"\s*\.\s*(?:create|stream|parse|with_raw_response)\b"),
        ("completion", r"s\s*\.\s*(?:create|parse|stream|with_raw)|\s*\("),
        ("chat.complete", r"(?:_async)?\s*\("),
        ("converse", r"(?:_stream)?\s*\("),
        ("invoke_model", r"\w*\s*\("),
        ("generate_content", r"\w*\s*\("),
        ("apply_chat_template", r"\s*\("),
        ("GenerativeModel", r"\s*\("),
        ("responses", r"\s*\.\s*(?:create|parse|stream)\b"),
        ("PromptTemplate", r"\b"),
        ("SystemMessage", r"\("),
        ("from_messages", r"\("),
        ("messages", r"\s*=[^=]|['\"]"),
        ("from vllm", r"\b"),
        ("import vllm", r"\b"),
        (":generateContent", ""),
        ("ollama", r"\s*\."),
    )
)
"""What stands in every text that calls a model or makes a prompt template: a literal, and what follows it."""
_IMPORTS = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([\w,\s]+|[\w, \t]+)|import[ \t]+([\w., \t]+))", re.M
)
_TOP_LEVEL = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")
_PROJECT_ENDS = ("pyproject.toml", ".git", "setup.py", "setup.cfg")


@dataclass
class PythonFile:
    """A parsed file. `values` are its top-level names once it has been evaluated."""

    path: str
    text: str
    tree: ast.Module
    lines: LineIndex
    ascii: bool
    values: Any = None

    def span(self, node: ast.AST) -> Span:
        """The span of a node; columns of the tree are bytes, those of a span characters."""
        known: Span | None = getattr(node, "span", None)
        if known is not None:
            return known
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        if not self.ascii:
            column = self._characters(line, column)
            end_column = self._characters(end_line, end_column)
        start = self.lines.offset(line, column + 1)
        end = self.lines.offset(end_line, end_column + 1)
        made = Span(self.path, start, end, line, column + 1, end_line, end_column + 1)
        node.span = made  # type: ignore[attr-defined]
        return made

    def _characters(self, line: int, byte_column: int) -> int:
        start = self.lines.offset(line)
        end = self.text.find("\n", start)
        whole = self.text[start : end if end >= 0 else len(self.text)]
        return byte_column if whole.isascii() else len(whole.encode()[:byte_column].decode("utf-8", "ignore"))

    def source(self, span: Span) -> str:
        """The characters of a span."""
        return self.text[span.start : span.end]


@dataclass
class PythonProject:
    """Parsed files by path, and answers about imports, kept for one run.

    `heap` holds the lists, dicts and objects that the top levels of the files make; `cells` is how many there are;
    `reach` tells which functions may send a prompt.
    """

    heap: Any = None
    reach: Any = None
    cells: int = 0
    files: dict[str, PythonFile | None] = field(default_factory=dict)
    _texts: dict[str, str | None] = field(default_factory=dict)
    _resolved: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _roots: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    _tops: dict[tuple[str, str], tuple[Path, ...]] = field(default_factory=dict)
    _calling: dict[str, frozenset[str]] = field(default_factory=dict)

    def parse(self, path: str, text: str) -> PythonFile | Problem:
        """The file's tree, or why there is none."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except SyntaxError as problem:
            return Problem(path, f"not Python: {problem.msg}", problem.lineno or 1, problem.offset or 1)
        except (ValueError, RecursionError, MemoryError) as problem:
            what = "nested too deeply to be read" if not isinstance(problem, ValueError) else str(problem)
            return Problem(path, what, 1, 1)
        return PythonFile(path, text, tree, LineIndex(path, text), text.isascii())

    def file(self, path: str) -> PythonFile | None:
        """A file of the project, None when it cannot be read or parsed."""
        if path not in self.files:
            text = self._text(path)
            parsed = self.parse(path, text) if text is not None else None
            self.files[path] = parsed if isinstance(parsed, PythonFile) else None
        return self.files[path]

    def _text(self, path: str) -> str | None:
        if path not in self._texts:
            try:
                small = Path(path).stat().st_size <= LARGEST_SOURCE
                self._texts[path] = read_text(Path(path)).text if small else None
            except (InputError, OSError):
                self._texts[path] = None
        return self._texts[path]

    def find(self, path: str, module: str) -> str | None:
        """The file of a module, imported (with leading dots, where relative) by the file at `path`."""
        key = (os.path.dirname(path), module)
        if key not in self._resolved:
            self._resolved[key] = self._find(Path(path).parent, module)
        return self._resolved[key]

    def _find(self, folder: Path, module: str) -> str | None:
        dots = len(module) - len(module.lstrip("."))
        roots: Iterable[Path]
        if dots:
            for _ in range(dots - 1):
                folder = folder.parent
            roots = (folder,)
        else:
            roots = ()
        steps = [step for step in module.split(".") if step]
        if not dots:
            roots = self._with(folder, steps[0]) if steps[0] not in sys.stdlib_module_names else ()
        for root in roots:
            place = root.joinpath(*steps)
            candidates = (place.with_suffix(".py") if steps else None, place / "__init__.py")
            for candidate in candidates:
                if candidate is not None and candidate.is_file():
                    return str(candidate)
        return None

    def _with(self, folder: Path, first: str) -> tuple[Path, ...]:
        """The roots in which there is a module or folder of this name."""
        key = (str(folder), first)
        if key not in self._tops:
            self._tops[key] = tuple(
                root
                for root in self._roots_of(folder)
                if (root / f"{first}.py").is_file() or (root / first).is_dir()
            )
        return self._tops[key]

    def _roots_of(self, folder: Path) -> tuple[Path, ...]:
        """The folders in which absolute imports are looked for: the file's own, and those above to the project's."""
        key = str(folder)
        if key not in self._roots:
            roots = []
            place = folder
            for _ in range(_MOST_FOLDERS_UP):
                roots.append(place)
                above = place.resolve().parent if place in (Path("."), Path("..")) else place.parent
                if above == place or any((place / name).exists() for name in _PROJECT_ENDS):
                    break
                place = above
            self._roots[key] = (*roots, roots[-1] / "src")
        return self._roots[key]

    def may_call_a_model(self, path: str, text: str) -> bool:
        """True when the text, or something that it imports from the project, names a model call or a template."""
        return names_a_call(text) or bool(self.names_that_call(path, text))

    def names_that_call(self, path: str, text: str, depth: int = 0) -> set[str]:
        """The names under which the text imports what may call a model from other files of the project."""
        names = set()
        for match in _IMPORTS.finditer(text):
            for module, members in _modules(match):
                callers = self._callers(self.find(path, module), path, depth)
                names |= {known for own, known in members if own in callers or (own == "" and callers)}
        return names

    def _callers(self, path: str | None, importer: str, depth: int) -> frozenset[str]:
        """The top-level names of a file through which a model may be called, as far as the names in it tell."""
        if path is None or path == importer or depth > _DEEPEST_IMPORT:
            return frozenset()
        if path not in self._calling:
            self._calling[path] = frozenset()
            text = self._text(path) or ""
            names = self.names_that_call(path, text, depth + 1)
            if names or names_a_call(text):
                self._calling[path] = frozenset(names | reaching(_top_level(text), names))
        return self._calling[path]


def names_a_call(text: str) -> bool:
    """True when the text names a model call or a template."""
    return any(literal in text and pattern.search(text) for literal, pattern in _MODEL_CALLS)


def reaching(pieces: list[tuple[str, str]], names: set[str]) -> set[str]:
    """The names of the pieces (each a name and its source) that call a model, or name one that does."""
    left = [(name, set(_WORD.findall(text)), names_a_call(text)) for name, text in pieces]
    found = set(names)
    grown = True
    while grown:
        grown = False
        for name, words, calls in left:
            if name not in found and (calls or words & found):
                found.add(name)
                grown = True
    return found - names


def _top_level(text: str) -> list[tuple[str, str]]:
    """The functions, classes and variables at the top of a file, each with its source."""
    starts = list(_TOP_LEVEL.finditer(text))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [(m[1] or m[2], text[m.start() : end]) for m, end in zip(starts, ends, strict=False)]


def _modules(match: re.Match[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The modules that an import may name, with what is imported from each (nothing for the whole module) and the
    name by which the file then knows it."""
    if match[3]:
        whole = [each.split() for each in match[3].split(",") if each.strip()]
        return [(w[0], [("", w[-1] if len(w) == 3 else w[0].partition(".")[0])]) for w in whole]
    pairs = [each.split() for each in match[2].strip(" \t\n(").split(",") if each.strip()]
    joint = "" if match[1].endswith(".") else "."
    return [
        (match[1], [(words[0], words[-1]) for words in pairs]),
        *((f"{match[1]}{joint}{words[0]}", [("", words[-1])]) for words in pairs),
    ]


def syntax_problem(path: str, text: str) -> Problem | None:
    """The first syntax error of a file that is not looked into, None when it has none or is very large."""
    if len(text) > _LARGEST_SYNTAX_CHECK:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as problem:
        return Problem(path, f"not Python: {problem.msg}", problem.lineno or 1, problem.offset or 1)
    except (ValueError, RecursionError, MemoryError):
        return Problem(path, "not Python that can be read: a null byte, or nested too deeply", 1, 1)
    return None
