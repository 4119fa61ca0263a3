"""The Jinja2 front end: a template's syntax tree as the ordered parts it prints."""

from collections.abc import Iterator, Mapping

from jinja2 import nodes

from analyzers.templates.jinja_files import JinjaFiles
from analyzers.templates.jinja_names import NOTHING, Bindings, Resolved, joined, known, merged, resolve
from analyzers.templates.jinja_source import JinjaSyntaxError, parse_jinja
from analyzers.templates.jinja_walk import (
    DEEPEST,
    Caller,
    Macro,
    Walk,
    check_filters,
    entered,
    inside,
    load,
    scope,
)
from analyzers.templates.parts import (
    Condition,
    Dead,
    Loop,
    Part,
    Problem,
    Prompt,
    Source,
    Text,
    Value,
)

_MOST_ROUNDS = 50
_MOST_PARTS = 20_000


def read_jinja(
    path: str,
    text: str,
    files: JinjaFiles,
    *,
    chat: bool = False,
    filters: frozenset[str] = frozenset(),
    macros: Mapping[str, Macro] = {},
) -> Source:
    """The template's prompt, comments and problems. `filters` are the project's own filters,
    `macros` those that are known from elsewhere.

    A template that only defines macros gives no prompt: it is read where it is imported.
    """
    try:
        source = parse_jinja(path, text, chat)
    except JinjaSyntaxError as problem:
        return Source(path, text, problems=(Problem(path, problem.message, problem.line, problem.column),))
    walk = Walk(files, source, filters, macros=dict(macros), trail=(path,))
    try:
        _template(walk)
    except RecursionError:
        walk.problems.append(Problem(path, "the template is nested too deeply to be read", 1))
    _unused(walk)
    kind = "chat-template" if chat else "jinja"
    prompts: tuple[Prompt, ...] = ()
    if walk.parts:
        parts = tuple(_without_neighbours(walk.parts))
        prompts = (
            Prompt(
                path, kind, parts, movable=not chat, template=text if chat else None, dead=tuple(walk.dead)
            ),
        )
    return Source(path, text, prompts, tuple(source.comments), tuple(dict.fromkeys(walk.problems)))


def _template(walk: Walk) -> None:
    extends = walk.source.tree.find(nodes.Extends)
    if extends is None:
        _body(walk, walk.source.tree.body)
        return
    for block in walk.source.tree.find_all(nodes.Block):
        walk.blocks.setdefault(block.name, []).append((block, walk.source))
    for node in walk.source.tree.body:
        if isinstance(node, nodes.Assign | nodes.AssignBlock | nodes.Macro | nodes.Import | nodes.FromImport):
            _statement(walk, node)
    name = resolve(extends.template, walk.bindings).prints
    with entered(walk, name, extends) as inside_file:
        if inside_file:
            _template(walk)


def _body(walk: Walk, body: list[nodes.Node]) -> None:
    for node in body:
        if len(walk.parts) > _MOST_PARTS:
            return
        _statement(walk, node)


def _statement(walk: Walk, node: nodes.Node) -> None:
    match node:
        case nodes.Output():
            for child in node.nodes:
                _printed(walk, child)
        case nodes.If():
            _if(walk, node)
        case nodes.For():
            _for(walk, node)
        case nodes.Assign():
            check_filters(walk, node)
            _assign(walk, node.target, resolve(node.node, walk.bindings))
        case nodes.AssignBlock():
            _assign(walk, node.target, _captured(walk, node.body))
        case nodes.Macro():
            walk.macros[node.name] = Macro(node, walk.source)
        case nodes.Include():
            _include(walk, node)
        case nodes.Import() | nodes.FromImport():
            _import(walk, node)
        case nodes.Block():
            _block(walk, node)
        case nodes.With():
            with scope(walk):
                for target, value in zip(node.targets, node.values, strict=True):
                    _assign(walk, target, resolve(value, walk.bindings))
                _body(walk, node.body)
        case nodes.CallBlock():
            walk.callers.append(Caller(node.body, walk.source, dict(walk.bindings)))
            _printed(walk, node.call)
            walk.callers.pop()
        case nodes.FilterBlock() | nodes.Scope() | nodes.ScopedEvalContextModifier():
            _body(walk, node.body)
        case _:
            return


def _printed(walk: Walk, node: nodes.Node) -> None:
    if isinstance(node, nodes.TemplateData):
        span = walk.source.span(node.lineno, node.lineno + len(node.data))
        walk.parts.append(Text(node.data, span, walk.guards))
        return
    check_filters(walk, node)
    if isinstance(node, nodes.Call) and _expanded(walk, node):
        return
    tag = walk.source.tag_at(node.lineno)
    span = walk.source.span(tag.start, tag.end)
    found = resolve(node, walk.bindings)
    text = found.prints
    if text is not None:
        walk.parts.append(Text(text, span, walk.guards))
        return
    expression = walk.source.inner(tag)
    walk.parts.append(Value(expression, span, found.names, found.calls, found.filters, walk.guards))


def _expanded(walk: Walk, call: nodes.Call) -> bool:
    """Print a macro, `caller()` or `super()` in place. False for any other call."""
    if not isinstance(call.node, nodes.Name) or walk.depth >= DEEPEST:
        return isinstance(call.node, nodes.Name) and call.node.name in walk.macros
    name = call.node.name
    if name == "super" and walk.current_block is not None:
        block, level = walk.current_block
        _block_level(walk, block, level + 1)
        return True
    if name == "caller" and walk.callers:
        caller = walk.callers.pop()
        with scope(walk, caller.bindings), inside(walk, caller.source):
            _body(walk, caller.body)
        walk.callers.append(caller)
        return True
    macro = walk.macros.get(name)
    if macro is None:
        return False
    with scope(walk, {**walk.bindings, **_arguments(walk, macro.node, call)}), inside(walk, macro.source):
        walk.depth += 1
        _body(walk, macro.node.body)
        walk.depth -= 1
    return True


def _arguments(walk: Walk, macro: nodes.Macro, call: nodes.Call) -> Bindings:
    names = [argument.name for argument in macro.args]
    bound: Bindings = dict.fromkeys(names, NOTHING)
    for name, default in zip(names[len(names) - len(macro.defaults) :], macro.defaults, strict=True):
        bound[name] = resolve(default, walk.bindings)
    for name, argument in zip(names, call.args, strict=False):
        bound[name] = resolve(argument, walk.bindings)
    for pair in call.kwargs:
        bound[pair.key] = resolve(pair.value, walk.bindings)
    return bound


def _captured(walk: Walk, body: list[nodes.Node]) -> Resolved:
    """What a block of text reads when it is assigned instead of printed."""
    before = walk.parts
    walk.parts = []
    _body(walk, body)
    printed, walk.parts = walk.parts, before
    texts = [part.text for part in printed if isinstance(part, Text) and not part.guards]
    if len(texts) == len(printed):
        return known("".join(texts))
    values = [Resolved(p.names, p.calls, p.filters) for p in printed if isinstance(p, Value)]
    guards = [Resolved(guard.names, guard.calls) for part in printed for guard in part.guards]
    return joined([*values, *guards])


def _assign(walk: Walk, target: nodes.Node, value: Resolved) -> None:
    if isinstance(target, nodes.Name):
        walk.bindings[target.name] = value
    elif isinstance(target, nodes.NSRef):
        walk.bindings[f"{target.name}.{target.attr}"] = value
    elif isinstance(target, nodes.Tuple):
        for item in target.items:
            _assign(walk, item, Resolved(value.names, value.calls, value.filters, element=True))


def _if(walk: Walk, node: nodes.If) -> None:
    tag = walk.source.tag_at(node.lineno)
    span = walk.source.span(tag.start, tag.end)
    outer_guards, before = walk.guards, walk.bindings
    branches: list[Bindings] = []
    tests: list[Resolved] = []
    arms: list[tuple[nodes.Node | None, list[nodes.Node]]] = [(node.test, node.body)]
    arms += [(other.test, other.body) for other in node.elif_]
    arms.append((None, node.else_))
    decided = False
    for number, (condition, body) in enumerate(arms):
        test = resolve(condition, before) if condition is not None else joined(tests)
        tests.append(test)
        if decided or (test.is_constant and not test.value and condition is not None):
            _dead_branch(walk, body)
            continue
        walk.bindings = dict(before)
        certain = test.is_constant and condition is not None and number == 0
        if not certain:
            shown = walk.source.inner(tag).partition(" ")[2].strip() or "else"
            choice = joined(tests)
            walk.guards = (*outer_guards, Condition(shown, span, choice.names, choice.calls, number))
        _body(walk, body)
        walk.guards = outer_guards
        branches.append(walk.bindings)
        decided = certain
    walk.bindings = merged(branches, joined(tests)) if branches else before


def _dead_branch(walk: Walk, body: list[nodes.Node]) -> None:
    printed = [node for part in body for node in [part, *part.find_all(nodes.TemplateData)]]
    texts = [node for node in printed if isinstance(node, nodes.TemplateData) and node.data.strip()]
    for output in body:
        if isinstance(output, nodes.Output):
            texts += [n for n in output.nodes if isinstance(n, nodes.TemplateData) and n.data.strip()]
    if texts:
        first = min(texts, key=lambda text: text.lineno)
        span = walk.source.span(first.lineno, first.lineno + len(first.data))
        walk.dead.append(Dead("a branch that is never taken", span))


def _for(walk: Walk, node: nodes.For) -> None:
    over = resolve(node.iter, walk.bindings)
    check_filters(walk, node.iter)
    if over.is_constant and isinstance(over.value, list) and len(over.value) <= _MOST_ROUNDS:
        before = walk.bindings
        for item in over.value:
            walk.bindings = {**walk.bindings, "loop": NOTHING}
            _assign(walk, node.target, known(item))
            _body(walk, node.body)
        walk.bindings = {k: v for k, v in walk.bindings.items() if k in before or "." in k}
        return
    tag = walk.source.tag_at(node.lineno)
    span = walk.source.span(tag.start, tag.end)
    shown = walk.source.inner(tag).partition(" in ")[2].strip()
    element = Resolved(over.names, over.calls, over.filters, element=True)
    outer_guards, before = walk.guards, walk.bindings
    walk.guards = (*outer_guards, Loop(shown, span, over.names, over.calls + _as_calls(over.filters)))
    walk.bindings = {**before, "loop": NOTHING}
    _assign(walk, node.target, element)
    _body(walk, node.body)
    after = {name: value for name, value in walk.bindings.items() if name in before or "." in name}
    walk.guards = outer_guards
    walk.bindings = merged([before, after], element)
    _body(walk, node.else_)


def _as_calls(filters: tuple[str, ...]) -> tuple[str, ...]:
    """Filters that make an order of their own, as the calls they amount to."""
    return tuple(
        {"shuffle": "shuffle()", "random": "choice()"}[name]
        for name in filters
        if name in ("shuffle", "random")
    )


def _include(walk: Walk, node: nodes.Include) -> None:
    found = resolve(node.template, walk.bindings)
    choices = found.value if isinstance(found.value, list) else [found.prints]
    with entered(walk, choices[0] if choices else None, node) as inside_file:
        if inside_file:
            with scope(walk, walk.bindings if node.with_context else {}):
                _body(walk, walk.source.tree.body)
            return
    if not found.is_constant:
        tag = walk.source.tag_at(node.lineno)
        span = walk.source.span(tag.start, tag.end)
        walk.parts.append(Value(walk.source.inner(tag), span, found.names, found.calls, (), walk.guards))


def _import(walk: Walk, node: nodes.Import | nodes.FromImport) -> None:
    loaded = load(walk, resolve(node.template, walk.bindings).prints, node)
    if loaded is None:
        return
    found = {macro.name: Macro(macro, loaded) for macro in loaded.tree.find_all(nodes.Macro)}
    if isinstance(node, nodes.Import):
        walk.macros.update({f"{node.target}.{name}": macro for name, macro in found.items()})
        walk.macros.update({name: macro for name, macro in found.items() if name not in walk.macros})
    else:
        for entry in node.names:
            name, alias = entry if isinstance(entry, tuple) else (entry, entry)
            if name in found:
                walk.macros[alias] = found[name]


def _block(walk: Walk, node: nodes.Block) -> None:
    chain = walk.blocks.setdefault(node.name, [])
    if not any(block is node for block, _ in chain):
        chain.append((node, walk.source))
    _block_level(walk, node.name, 0)


def _block_level(walk: Walk, name: str, level: int) -> None:
    chain = walk.blocks.get(name, [])
    if level >= len(chain):
        return
    node, source = chain[level]
    before = walk.current_block
    walk.current_block = (name, level)
    with inside(walk, source), scope(walk):
        _body(walk, node.body)
    walk.current_block = before


def _unused(walk: Walk) -> None:
    """Macros and text variables of the template itself that nothing uses."""
    tree = walk.source.tree
    read = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "load"}
    if not walk.parts or tree.find(nodes.Extends) is not None:
        return
    for node in tree.body:
        if isinstance(node, nodes.Macro) and node.name not in read:
            what = f"macro '{node.name}', which nothing calls"
        elif (
            isinstance(node, nodes.Assign)
            and isinstance(node.target, nodes.Name)
            and node.target.name not in read
        ):
            value = resolve(node.node, {})
            if not isinstance(value.prints, str) or len(value.prints) < 40:
                continue
            what = f"variable '{node.target.name}', which nothing reads"
        else:
            continue
        tag = walk.source.tag_at(node.lineno)
        walk.dead.append(Dead(what, walk.source.span(tag.start, tag.end)))


def _without_neighbours(parts: list[Part]) -> Iterator[Part]:
    """The parts without empty texts."""
    for part in parts:
        if not (isinstance(part, Text) and not part.text):
            yield part
