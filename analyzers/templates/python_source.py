"""Python source as prompts: each call to a model, with what reaches it from anywhere in the file or the project.

The source is parsed and followed, never imported or run. Functions are followed from each place that may be
entered from outside; those that other functions of the file call are judged in these calls alone.
"""

import ast
import gc
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import analyzers.templates.python_calls as calls
import analyzers.templates.python_functions as functions
import analyzers.templates.python_statements as statements
from analyzers.templates.parts import Cause, Comment, Problem, Prompt, Scope, Source, Value
from analyzers.templates.python_project import (
    LARGEST_SOURCE,
    PythonFile,
    PythonProject,
    names_a_call,
    syntax_problem,
)
from analyzers.templates.python_reach import Reach
from analyzers.templates.python_state import (
    STEPS_PER_ENTRY,
    STEPS_PER_FILE,
    Emitted,
    Frame,
    OutOfStepsError,
    Run,
    Store,
)
from analyzers.templates.python_values import (
    Abstract,
    Class,
    Function,
    Instance,
    Item,
    Items,
    Ref,
    Words,
    start_work,
    work_done,
)
from analyzers.templates.volatility import judge_name

_WORD = re.compile(r"[A-Za-z_]\w*")
_LIBRARIES = re.compile(
    r"\b(?:vllm|langchain\w*|openai|anthropic|litellm|ollama|genai|generativeai|transformers)\b"
)
_GROWS = frozenset({"append", "extend", "insert"})


def read_python(path: str, text: str, project: PythonProject) -> Source:
    """The prompts of a Python file. Syntax errors and files that are too large are problems of the source."""
    # Trees and values are kept: looking through them for garbage again and again costs a sixth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _read(path, text, project)
    finally:
        if collects:
            gc.enable()


def _read(path: str, text: str, project: PythonProject) -> Source:
    if len(text) > LARGEST_SOURCE:
        message = f"the file has {len(text):,} characters; Python files up to 4 MiB are checked"
        return Source(path, text, problems=(Problem(path, message, 1, 1),))
    if not project.may_call_a_model(path, text):
        problem = syntax_problem(path, text)
        return Source(path, text, problems=(problem,) if problem is not None else ())
    known = project.files.get(path)
    parsed = known if known is not None and known.text == text else project.parse(path, text)
    if isinstance(parsed, Problem):
        return Source(path, text, problems=(parsed,))
    project.files[path] = parsed
    emitted = _follow(project, parsed)
    return Source(path, text, tuple(_prompts(path, emitted)), tuple(_comments(path, parsed)))


def _follow(project: PythonProject, file: PythonFile) -> list[Emitted]:
    """Every prompt that some way through the file sends."""
    if project.heap is None:
        project.heap = Store()
    if project.reach is None:
        project.reach = Reach(project)
    entries = _of_interest(project, file)
    if not entries and not names_a_call(file.text):
        return []
    entries = [(node, kind) for node, kind in entries if project.reach.may_send(file, node, kind)]
    if not entries and "global " not in file.text and not project.reach.may_send(file, None):
        return []
    run = Run(project, Frame(file, Store(), lasting=Scope.SESSION), project.heap)
    file.values = run.frame.names
    start_work()
    _bounded(run, lambda: statements.execute(run, file.tree.body))
    _unknown_globals(run, file)
    spent = run.steps
    for function, kind in entries:
        if spent > STEPS_PER_FILE:
            break
        run.steps, run.limit = 0, STEPS_PER_ENTRY
        start_work()
        _enter_all(run, file, function, kind)
        spent += run.steps + (work_done() >> 2)
    filled = run.filled
    return [each for each in run.emitted if each.call not in filled]


def _bounded(run: Run, follow) -> None:  # type: ignore[no-untyped-def]
    frame, heap, chain = run.frame, run.heap, run.chain
    try:
        follow()
    except (OutOfStepsError, RecursionError):
        run.open_loops.clear()
    finally:
        run.frame, run.heap, run.chain, run.depth = frame, heap, chain, 0


def _unknown_globals(run: Run, file: PythonFile) -> None:
    """Names that functions set anew are not what the top level made of them."""
    if "global " not in file.text:
        return
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                file.values.set(name, Value(name, file.span(node), (name,)))


def _functions(
    file: PythonFile,
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.ClassDef | None]]:
    """The functions of the file and the methods of its classes, in order."""
    pending: list[tuple[ast.stmt, ast.ClassDef | None]] = [(node, None) for node in file.tree.body]
    at = 0
    while at < len(pending):
        node, kind = pending[at]
        at += 1
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, kind
        elif isinstance(node, ast.ClassDef):
            pending += [(inner, node) for inner in node.body]
        elif isinstance(node, ast.If | ast.Try | ast.With):
            pending += [(inner, kind) for inner in node.body]


def _of_interest(
    project: PythonProject, file: PythonFile
) -> list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.ClassDef | None]]:
    """The functions that may reach a model call, as far as the names in them tell."""
    lines = file.text.split("\n")
    left = []
    for node, kind in _functions(file):
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        left.append((node, kind, text, set(_WORD.findall(text))))
    names = project.names_that_call(file.path, file.text)
    top: list[tuple[set[str], str, set[str]]] = []
    for statement in file.tree.body:
        text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        words = set(_WORD.findall(text))
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if _LIBRARIES.search(text):
                names |= {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            top.append(({t.id for t in targets if isinstance(t, ast.Name)}, text, words))
    chosen: set[ast.AST] = set()
    methods: dict[ast.ClassDef | None, set[str]] = {}
    grown = True
    while grown:
        grown = False
        for own, text, words in top:
            if not own <= names and (words & names or names_a_call(text)):
                names |= own
                grown = True
        for node, kind, text, words in left:
            known = names | methods.get(kind, set())
            if node not in chosen and (words & known or names_a_call(text)):
                chosen.add(node)
                grown = True
                # A method is called by its name inside the class; from elsewhere the class is named too.
                methods.setdefault(kind, set()).add(node.name)
                names.add(kind.name if kind is not None else node.name)
    return [(node, kind) for node, kind, _, _ in left if node in chosen]


def _enter_all(
    run: Run, file: PythonFile, node: ast.FunctionDef | ast.AsyncFunctionDef, kind: ast.ClassDef | None
) -> None:
    """Follow a function from outside, and then the functions that it defines."""
    run.inner = []
    heap = run.heap
    run.heap = Store(heap)
    receiver: Abstract | None = None
    try:
        if kind is not None:
            receiver = run.new(Instance(Class(kind, file)))
            owner = Class(kind, file)
            init = functions.member(run, owner, "__init__", receiver)
            if isinstance(init, Function) and node.name != "__init__":
                _bounded(run, lambda: _enter(run, init, quiet=True))
                _grow(run, receiver, kind)
            run.inner = []
        marks = {getattr(mark, "id", "") for mark in node.decorator_list}
        if "staticmethod" in marks:
            receiver = None
        _bounded(run, lambda: _enter(run, Function(node, file, file.values, receiver, node.name)))
        entered: set[ast.AST] = {node}
        while run.inner and len(entered) < 50:
            function = run.inner.pop(0)
            if function.node not in entered and function.home is file:
                entered.add(function.node)
                _bounded(run, lambda: _enter(run, function))  # noqa: B023
    finally:
        run.heap = heap


def _enter(run: Run, function: Function, quiet: bool = False) -> None:
    """Follow a function with parameters of which only the names are known."""
    spec = function.node.args
    given = calls.Arguments()
    known = dict(functions.defaults(spec))
    own = [*spec.posonlyargs, *spec.args]
    for number, argument in enumerate([*own, *spec.kwonlyargs]):
        if number == 0 and function.receiver is not None:
            continue
        if argument.arg in known and judge_name(argument.arg).stable:
            default = functions.default_value(run, function, known[argument.arg])
            if isinstance(default, Words) and default.parts:
                continue
        if argument.arg in known:
            default = functions.default_value(run, function, known[argument.arg])
            if isinstance(default, Value) and default.cause not in (None, Cause.CONSTANT):
                continue
        cause = Cause.UNORDERED if functions.is_set_annotation(argument.annotation) else None
        span = function.home.span(argument)
        given.keywords[argument.arg] = Value(
            argument.arg, span, (argument.arg,), cause=cause, origin=span if cause else None
        )
    emitted = run.emitted
    if quiet:
        run.emitted = []
    before = run.frame
    run.frame = Frame(function.home, Store(), outer=function.names)
    try:
        functions.follow(run, function, given, function.node)  # type: ignore[arg-type]
    finally:
        run.frame, run.emitted = before, emitted if quiet else run.emitted


def _grow(run: Run, receiver: Ref, kind: ast.ClassDef) -> None:
    """What methods append to lists of the object between calls stands behind what `__init__` put there."""
    grown = set()
    for method in kind.body:
        if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) or method.name == "__init__":
            continue
        for node in ast.walk(method):
            target = None
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in _GROWS
            ):
                target = node.func.value
            elif isinstance(node, ast.AugAssign):
                target = node.target
            if (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == "self"
            ):
                grown.add(target.attr)
    held = run.at(receiver)
    if not isinstance(held, Instance):
        return
    for name in sorted(grown):
        value = held.get(name)
        inner = run.at(value) if value is not None else None
        if isinstance(value, Ref) and isinstance(inner, Items):
            more = Item(Value(f"self.{name}", inner.span, (name,)), spread=True)
            run.heap.set(value.number, replace(inner, items=(*inner.items, more)))


def _prompts(path: str, emitted: list[Emitted]) -> Iterator[Prompt]:
    """The prompts, without those of functions that the file calls with arguments that it shows."""
    called = {(each.call, node) for each in emitted for node in each.chain[1:]}
    names: Counter[str] = Counter()
    seen = set()
    for each in emitted:
        if each.chain and (each.call, each.chain[0]) in called:
            continue
        if (each.prompt.parts, each.call) in seen:
            continue
        seen.add((each.prompt.parts, each.call))
        names[each.prompt.name] += 1
        count = names[each.prompt.name]
        name = each.prompt.name if count == 1 else f"{each.prompt.name}#{count}"
        yield replace(each.prompt, path=path, name=name)


def _comments(path: str, file: PythonFile) -> Iterator[Comment]:
    """The comments that speak to the linter."""
    if "pcache:" not in file.text:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
            if token.type == tokenize.COMMENT and "pcache:" in token.string:
                start = file.lines.offset(token.start[0], token.start[1] + 1)
                span = file.lines.span(start, start + len(token.string))
                alone = not token.line[: token.start[1]].strip()
                yield Comment(token.string.lstrip("#").strip(), span, alone)
    except (tokenize.TokenError, IndentationError):
        return
