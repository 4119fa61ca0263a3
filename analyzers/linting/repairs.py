"""Edits of Python source that are safe: JSON with sorted keys, and an order for what has none.

An edit is offered only where it cannot raise: `sorted()` on texts, or on a listing of file names. The file must
still parse with it.
"""

import ast
from dataclasses import replace

from analyzers.findings import Edit
from analyzers.templates.parts import Cause, Part, Source, Span, Value
from analyzers.templates.python_names import dotted_name

_LISTINGS = {"os.listdir", "listdir", "glob.glob", "glob.iglob"}


def with_repairs(source: Source) -> Source:
    """The source with an edit on each value that has one."""
    if not source.path.endswith((".py", ".pyi")):
        return source
    prompts = tuple(
        replace(prompt, parts=tuple(_repaired(part, source) for part in prompt.parts))
        for prompt in source.prompts
    )
    return replace(source, prompts=prompts)


def _repaired(part: Part, source: Source) -> Part:
    if not isinstance(part, Value) or part.repair is not None:
        return part
    if part.cause not in (Cause.UNSORTED_JSON, Cause.UNORDERED):
        return part
    if any(span.path != source.path for span in (part.span, part.origin or part.span)):
        return part
    edit = _edit(source.text, part.span, part.origin or part.span, part.cause)
    if edit is None or not _parses(source.text[: edit.start] + edit.text + source.text[edit.end :]):
        return part
    return replace(part, repair=edit)


def _edit(text: str, use: Span, origin: Span, cause: Cause) -> Edit | None:
    made = _expression(text, origin)
    if made is None:
        return None
    if cause is Cause.UNSORTED_JSON:
        return _sorted_keys(text[origin.start : origin.end], made, origin)
    if _is_listing(made):
        return _sorted(text, origin)
    if not _is_set_of_texts(made):
        return None
    if use == origin:
        return _sorted(text, origin)
    # The set may be used as one elsewhere, so it is sorted where it is joined.
    joined = _expression(text, use)
    if isinstance(joined, ast.Call) and isinstance(joined.func, ast.Attribute) and joined.func.attr == "join":
        shown = ast.get_source_segment(text[use.start : use.end], joined.args[0]) if joined.args else None
        at = text.rfind(shown, use.start, use.end) if shown else -1
        if shown and at >= 0:
            return Edit(use.path, at, at + len(shown), f"sorted({shown})")
    return None


def _sorted(text: str, span: Span) -> Edit:
    return Edit(span.path, span.start, span.end, f"sorted({text[span.start : span.end]})")


def _expression(text: str, span: Span) -> ast.expr | None:
    try:
        return ast.parse(text[span.start : span.end], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _sorted_keys(shown: str, node: ast.expr, span: Span) -> Edit | None:
    if not isinstance(node, ast.Call) or (dotted_name(node.func) or "").rpartition(".")[2] != "dumps":
        return None
    if any(keyword.arg in ("sort_keys", None) for keyword in node.keywords) or not shown.endswith(")"):
        return None
    before = shown[:-1].rstrip()
    at = span.start + len(before)
    return Edit(span.path, at, at, " sort_keys=True" if before.endswith(",") else ", sort_keys=True")


def _is_set_of_texts(node: ast.expr) -> bool:
    return isinstance(node, ast.Set) and all(
        isinstance(item, ast.Constant) and isinstance(item.value, str) for item in node.elts
    )


def _is_listing(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted_name(node.func) in _LISTINGS


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
