"""Imports: modules of the project are followed when one of their names is needed, libraries are known by name."""

import ast

import analyzers.templates.python_statements as statements
from analyzers.templates.parts import Scope
from analyzers.templates.python_project import PythonFile
from analyzers.templates.python_state import STEPS_PER_ENTRY, Frame, OutOfStepsError, Run, Store
from analyzers.templates.python_values import Abstract, External, Module, Pending, start_work


def bind_import(run: Run, node: ast.Import) -> bool:
    """`import a.b`, `import a as b`."""
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        path = run.project.find(run.frame.home.path, alias.name)
        if path is not None and (alias.asname or "." not in alias.name):
            run.frame.names.set(name, Pending(path, None, alias.name, run.span(node)))
        else:
            run.frame.names.set(name, External(alias.name if alias.asname else name, run.span(node)))
    return True


def bind_import_from(run: Run, node: ast.ImportFrom) -> bool:
    """`from a import b`, `from .a import b as c`, `from . import a`."""
    source = "." * node.level + (node.module or "")
    here = run.frame.home.path
    path = run.project.find(here, source)
    span = run.span(node)
    for alias in node.names:
        dotted = f"{source.lstrip('.')}.{alias.name}".lstrip(".")
        joint = "" if source.endswith(".") else "."
        below = run.project.find(here, f"{source}{joint}{alias.name}") if alias.name != "*" else None
        if alias.name == "*" and path is not None:
            module = module_at(run, path)
            for name, value in module.home.values.own.items() if module is not None else ():
                run.frame.names.set(name, value)
        elif below is not None:
            run.frame.names.set(alias.asname or alias.name, Pending(below, None, dotted, span))
        elif path is not None:
            run.frame.names.set(alias.asname or alias.name, Pending(path, alias.name, dotted, span))
        else:
            run.frame.names.set(alias.asname or alias.name, External(dotted, span))
    return True


def settled(run: Run, value: Abstract | None) -> Abstract | None:
    """A value; for an imported name, what it stands for in its module."""
    for _ in range(8):
        if not isinstance(value, Pending):
            return value
        module = module_at(run, value.path)
        if module is None:
            return External(value.dotted, value.span)
        if value.name is None:
            return module
        found = module.home.values.get(value.name)
        value = found if found is not None else External(value.dotted, value.span)
    return None


def top_level(run: Run, home: PythonFile, name: str) -> Abstract | None:
    """What a name stands for at the top level of a file, None when nothing says."""
    return settled(run, home.values.get(name)) if home.values is not None else None


def module_at(run: Run, path: str) -> Module | None:
    """The module of the file, followed to its end; None when it cannot be read."""
    found = run.project.file(path)
    if found is None:
        return None
    if found.values is None:
        _follow(run, found)
    return Module(found)


def _follow(run: Run, file: PythonFile) -> None:
    """Follow the top level of a file; its names are kept with it. A file that imports itself sees what is there."""
    outside = run.frame, run.heap, run.emitted, run.chain, run.steps, run.depth, run.open_loops
    run.frame = Frame(file, Store(), "", lasting=Scope.SESSION)
    run.heap, run.emitted, run.chain, run.depth, run.open_loops = run.project.heap, [], (), 0, []
    run.steps, before = run.limit - STEPS_PER_ENTRY, start_work()
    file.values = run.frame.names
    try:
        statements.execute(run, file.tree.body)
    except (OutOfStepsError, RecursionError):
        pass
    finally:
        run.frame, run.heap, run.emitted, run.chain, run.steps, run.depth, run.open_loops = outside
        start_work(before)
