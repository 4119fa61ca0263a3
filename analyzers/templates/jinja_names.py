"""What a Jinja2 expression is made of: a constant, or the names, calls and filters that it reads.

`set` variables, loop variables and macro arguments are followed to what they were computed from.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import nodes

from analyzers.templates.jinja_source import constant

_MISSING: Any = object()
_FIRST_MESSAGE = "system_message"
"""`messages[0]` is where chat templates find the system message: it stays, unlike the messages behind it."""
_FOLDED_FILTERS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "title": str.title,
    "capitalize": str.capitalize,
}
_LONGEST_CONSTANT = 1 << 20


@dataclass(frozen=True, slots=True)
class Resolved:
    """`value` is the constant, where the expression is one. An `element` is a loop variable: its attributes
    are not names of their own."""

    names: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    value: Any = _MISSING
    element: bool = False

    @property
    def is_constant(self) -> bool:
        """True when the value is known."""
        return self.value is not _MISSING

    @property
    def prints(self) -> str | None:
        """The text that the constant prints, None for anything else."""
        return str(self.value) if self.is_constant and constant(self.value) else None


NOTHING = Resolved()
"""Something that is the same in every request, such as a loop's own counter, but not known here."""

Bindings = dict[str, Resolved]


def known(value: Any) -> Resolved:
    """A constant."""
    return Resolved(value=value)


def joined(parts: Iterable[Resolved]) -> Resolved:
    """Everything that any of the parts reads."""
    parts = list(parts)
    return Resolved(
        tuple(dict.fromkeys(name for part in parts for name in part.names)),
        tuple(dict.fromkeys(call for part in parts for call in part.calls)),
        tuple(dict.fromkeys(name for part in parts for name in part.filters)),
    )


def merged(branches: list[Bindings], choice: Resolved) -> Bindings:
    """The bindings after one of several branches was taken, the choice being made by `choice`."""
    result: Bindings = {}
    for name in {name for branch in branches for name in branch}:
        found = [branch.get(name, Resolved(names=(name,))) for branch in branches]
        first = found[0]
        if all(other == first for other in found):
            result[name] = first
        elif any(other.names or other.calls or other.filters for other in found):
            result[name] = joined(found)
        else:
            result[name] = joined([choice])
    return result


def resolve(node: nodes.Node | None, bindings: Bindings) -> Resolved:
    """What the expression reads, or its constant value."""
    match node:
        case None:
            return NOTHING
        case nodes.Const() | nodes.TemplateData():
            return known(node.value if isinstance(node, nodes.Const) else node.data)
        case nodes.Name():
            return bindings.get(node.name, Resolved(names=(node.name,)))
        case nodes.NSRef():
            return bindings.get(f"{node.name}.{node.attr}", Resolved(names=(f"{node.name}.{node.attr}",)))
        case nodes.Getattr():
            return _attribute(node.node, node.attr, bindings)
        case nodes.Getitem():
            return _item(node, bindings)
        case nodes.Filter():
            return _filtered(node, bindings)
        case nodes.Call():
            return _called(node, bindings)
        case nodes.Concat():
            return _folded([resolve(part, bindings) for part in node.nodes])
        case nodes.Add():
            return _folded([resolve(node.left, bindings), resolve(node.right, bindings)])
        case nodes.Not():
            test = resolve(node.node, bindings)
            return known(not test.value) if test.is_constant else test
        case nodes.List() | nodes.Tuple():
            items = [resolve(item, bindings) for item in node.items]
            whole = all(item.is_constant for item in items)
            return known([item.value for item in items]) if whole else joined(items)
        case nodes.CondExpr():
            return _chosen(node, bindings)
        case nodes.And() | nodes.Or() | nodes.Compare() | nodes.Test():
            return _truth(node, bindings)
        case _:
            return joined(resolve(child, bindings) for child in node.iter_child_nodes())


def _attribute(base: nodes.Node, attribute: str, bindings: Bindings) -> Resolved:
    if isinstance(base, nodes.Name) and f"{base.name}.{attribute}" in bindings:
        return bindings[f"{base.name}.{attribute}"]
    if isinstance(base, nodes.Name) and base.name == "loop":
        return NOTHING
    owner = resolve(base, bindings)
    if owner.element or owner.calls or owner.is_constant or len(owner.names) != 1:
        return Resolved(owner.names, owner.calls, owner.filters, element=owner.element)
    return replace(owner, names=(f"{owner.names[0]}.{attribute}",))


def _item(node: nodes.Getitem, bindings: Bindings) -> Resolved:
    if isinstance(node.arg, nodes.Const):
        if isinstance(node.arg.value, str):
            return _attribute(node.node, node.arg.value, bindings)
        owner = resolve(node.node, bindings)
        if owner.names == ("messages",) and node.arg.value == 0 and not owner.element:
            return Resolved(names=(_FIRST_MESSAGE,), element=True)
        return replace(owner, value=_MISSING)
    return joined([resolve(node.node, bindings), resolve(node.arg, bindings)])


def _filtered(node: nodes.Filter, bindings: Bindings) -> Resolved:
    base = resolve(node.node, bindings)
    arguments = [resolve(child, bindings) for child in node.iter_child_nodes(exclude=("node",))]
    text = base.prints
    if text is not None and node.name in _FOLDED_FILTERS and not arguments:
        return known(_FOLDED_FILTERS[node.name](text))
    if node.name in ("first", "last") and base.names == ("messages",) and node.name == "first":
        return Resolved(names=(_FIRST_MESSAGE,), element=True)
    if node.name in ("date", "strftime", "format_date") and base.calls:
        shown = ", ".join(repr(argument.value) for argument in arguments if argument.is_constant)
        base = replace(base, calls=tuple(f"{call}.strftime({shown})" for call in base.calls))
    whole = joined([base, *arguments])
    return replace(whole, filters=(*whole.filters, node.name), element=base.element)


def _called(node: nodes.Call, bindings: Bindings) -> Resolved:
    arguments = [
        resolve(child, bindings)
        for child in (*node.args, *(pair.value for pair in node.kwargs), node.dyn_args, node.dyn_kwargs)
        if child is not None
    ]
    shown = ", ".join(repr(argument.value) for argument in arguments if argument.is_constant)
    callee = dotted(node.node)
    if callee is not None:
        root = callee.partition(".")[0]
        owner = NOTHING
        if "." in callee and isinstance(node.node, nodes.Getattr):
            owner = resolve(node.node.node, bindings) if root in bindings else NOTHING
            if root not in bindings:
                arguments.append(_owner_names(callee))
        return joined([Resolved(calls=(f"{callee}({shown})",)), owner, *arguments])
    if isinstance(node.node, nodes.Getattr | nodes.Getitem):
        base = resolve(node.node.node, bindings)
        method = node.node.attr if isinstance(node.node, nodes.Getattr) else "item"
        chained = tuple(f"{call}.{method}({shown})" for call in base.calls)
        return joined([replace(base, calls=chained, value=_MISSING), *arguments])
    return joined([resolve(node.node, bindings), *arguments])


_MODULES = {
    "datetime",
    "date",
    "time",
    "random",
    "uuid",
    "os",
    "platform",
    "socket",
    "secrets",
    "pd",
    "timezone",
}


def _owner_names(callee: str) -> Resolved:
    """The variable a method is called on, unless it is a module: `history.render()` reads `history`."""
    owner = callee.rpartition(".")[0]
    return NOTHING if owner.partition(".")[0] in _MODULES else Resolved(names=(owner,))


def dotted(node: nodes.Node) -> str | None:
    """`datetime.datetime.now` for a chain of attributes on a name, None for anything else."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        owner = dotted(node.node)
        return f"{owner}.{node.attr}" if owner is not None else None
    return None


def _folded(parts: list[Resolved]) -> Resolved:
    texts = [part.prints for part in parts]
    if all(text is not None for text in texts) and sum(len(text or "") for text in texts) < _LONGEST_CONSTANT:
        values = [part.value for part in parts]
        if all(isinstance(value, str) for value in values):
            return known("".join(values))
    return joined(parts)


def _chosen(node: nodes.CondExpr, bindings: Bindings) -> Resolved:
    test = resolve(node.test, bindings)
    if test.is_constant:
        return resolve(node.expr1 if test.value else node.expr2, bindings)
    branches = [resolve(node.expr1, bindings), resolve(node.expr2, bindings)]
    return joined([test, *branches])


def _truth(node: nodes.Node, bindings: Bindings) -> Resolved:
    parts = [resolve(child, bindings) for child in node.iter_child_nodes()]
    if isinstance(node, nodes.And | nodes.Or) and all(part.is_constant for part in parts):
        both = isinstance(node, nodes.And)
        left, right = (bool(part.value) for part in parts)
        return known(left and right if both else left or right)
    if any(part.is_constant for part in parts) and isinstance(node, nodes.And | nodes.Or):
        decided = isinstance(node, nodes.Or)
        if any(part.is_constant and bool(part.value) is decided for part in parts):
            return known(decided)
    if isinstance(node, nodes.Test) and parts and parts[0].is_constant and node.name in ("true", "false"):
        return known(parts[0].value is (node.name == "true"))
    return joined(parts)
