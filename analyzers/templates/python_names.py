"""The names and calls in one Python expression, as parts of a template know them."""

import ast


def expression_reads(
    expression: str, format_spec: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The dotted names and the calls of an expression, None when it is not one.

    A format specification is applied to the calls: `datetime.now():%Y` reads as `datetime.now().strftime('%Y')`.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names: dict[str, None] = {}
    calls: dict[str, None] = {}
    _collect(tree, names, calls)
    spec = f".strftime({format_spec!r})" if "%" in format_spec else ""
    return tuple(names), tuple(call + spec for call in calls)


def _collect(node: ast.AST, names: dict[str, None], calls: dict[str, None]) -> None:
    dotted = dotted_name(node)
    if dotted is not None:
        names[dotted] = None
        return
    if isinstance(node, ast.Call):
        root = _called_root(node)
        if root is not None:
            calls[ast.unparse(node)] = None
        else:
            _collect(node.func, names, calls)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            _collect(argument, names, calls)
        return
    for child in ast.iter_child_nodes(node):
        _collect(child, names, calls)


def _called_root(node: ast.Call) -> str | None:
    """The dotted function at the root of a chain of calls and methods."""
    function: ast.AST = node.func
    while True:
        name = dotted_name(function)
        if name is not None:
            return name
        match function:
            case ast.Attribute():
                function = function.value
            case ast.Call():
                function = function.func
            case ast.Subscript():
                function = function.value
            case _:
                return None


def dotted_name(node: ast.AST) -> str | None:
    """`user.name` for a chain of attributes (and of subscripts with text) on a name, None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return f"{owner}.{node.attr}" if owner is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = dotted_name(node.value)
        if owner is None:
            return None
        return f"{owner}.{node.slice.value}" if isinstance(node.slice.value, str) else owner
    return None
