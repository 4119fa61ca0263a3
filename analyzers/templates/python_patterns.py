"""Template objects in Python source: string.Template, Jinja2, LangChain's prompt templates."""

import ast
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import analyzers.templates.python_calls as calls
import analyzers.templates.python_sinks as sinks
from analyzers.templates.parts import Cause, Span, Text, Value
from analyzers.templates.python_state import Run
from analyzers.templates.python_text import filled, values_in, words_of
from analyzers.templates.python_values import (
    Abstract,
    Entry,
    External,
    Fields,
    Function,
    Instance,
    Item,
    Items,
    Known,
    Pattern,
    Words,
    blended,
    guarded,
    joined,
)

if TYPE_CHECKING:
    from analyzers.templates.python_calls import Arguments

_FILLS = frozenset(
    "format render render_async substitute safe_substitute invoke ainvoke stream astream batch format_messages "
    "format_prompt aformat_messages ainvoke".split()
)
_CHAT_FILLS = frozenset(
    "invoke ainvoke stream astream batch format_messages format_prompt aformat_messages".split()
)
_ROLES = {"human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "system": "system"}
_TEMPLATE_FOLDERS = ("", "templates", "prompts", "prompt_templates")


def made_by(run: Run, dotted: str, given: "Arguments", node: ast.Call) -> Abstract | None:
    """The template object that a call makes, None when it makes none."""
    owner, _, last = dotted.rpartition(".")
    span = run.span(node)
    if dotted in ("string.Template", "jinja2.Template") or last == "from_string":
        text = given.get(0, "template", "source")
        style = "dollar" if dotted == "string.Template" else "jinja"
        return Pattern(style, words_of(run, text, span), span) if text is not None else None
    if last == "get_template":
        return _jinja_file(run, given, span)
    if not any(word in dotted for word in ("PromptTemplate", "MessagesPlaceholder")):
        return None
    if "MessagePromptTemplate" in dotted or "MessagesPlaceholder" in dotted:
        return External(
            f"{owner if last == 'from_template' else dotted}()",
            span,
            tuple(given.positional),
            tuple(given.keywords.items()),
        )
    if last == "from_messages" or (last == "ChatPromptTemplate" and not given.keywords.get("template")):
        body = given.get(0, "messages")
        style = "chat"
    elif last in ("from_template", "PromptTemplate", "FewShotPromptTemplate"):
        body = given.get(0, "template")
        style = "f-string"
        if last == "FewShotPromptTemplate":
            return None
    else:
        return None
    if body is None:
        return None
    format = given.get(None, "template_format")
    if isinstance(format, Words) and format.constant == "jinja2" and style == "f-string":
        style = "jinja"
    made = Pattern(style, body, span)
    partial = run.at(given.keywords.get("partial_variables", Known(None)))
    if isinstance(partial, Fields):
        made = _partial(run, made, {e.key: e.value for e in partial.entries if e.key is not None}, node)
    sinks.template(run, made, span, node)
    return made


def _partial(run: Run, pattern: Pattern, values: dict[str, Abstract], node: ast.Call) -> Pattern:
    """The template with some of its names given; a function is called each time the template is filled."""
    given = []
    for name, value in values.items():
        held = run.at(value)
        if isinstance(held, Function | External):
            outside = run.frame.lasting
            run.frame.lasting = None
            try:
                value = calls.apply(run, held, calls.Arguments(), node)
            finally:
                run.frame.lasting = outside
        given.append((name, value))
    return replace(pattern, filled=(*pattern.filled, *given))


def method(run: Run, held: Pattern, name: str, given: "Arguments", node: ast.Call) -> Abstract | None:
    """A method of a template object."""
    if name == "partial":
        made = _partial(run, held, given.keywords, node)
        run.filled.add(held.span)
        sinks.template(run, made, run.span(node), node)
        return replace(made, span=run.span(node))
    if name in ("bind", "with_config", "with_structured_output", "bind_tools", "assign", "pipe"):
        return held
    if name not in _FILLS:
        return None
    values = dict(given.keywords)
    members = run.at(given.positional[0]) if given.positional else None
    if isinstance(members, Fields):
        values |= {entry.key: entry.value for entry in members.entries if entry.key is not None}
    made = replace(held, filled=(*held.filled, *values.items()))
    if held.style != "chat":
        text = rendered(run, made)
        if name in _CHAT_FILLS:
            run.filled.add(held.span)
            sinks.prompt_of(run, text, node, "langchain")
        return text
    run.filled.add(held.span)
    messages = chat_messages(run, made)
    sinks.prompt_of(run, messages, node, "langchain")
    return messages


def rendered(run: Run, pattern: Pattern) -> Words:
    """The text of a template that is no chat: what is not given stands as a value of its name."""
    known = dict(pattern.filled)
    body = words_of(run, pattern.body, pattern.span)

    def fill(name: str, span: Span) -> Words | None:
        value = known.get(name)
        return words_of(run, value, span) if value is not None else None

    if pattern.style == "jinja":
        return _jinja(run, body, known)
    return filled(run, body, fill, pattern.style)


def chat_messages(run: Run, pattern: Pattern) -> Items:
    """The messages of a chat template, filled."""
    held = run.at(pattern.body)
    items = held.items if isinstance(held, Items) else (Item(held),)
    made: list[Item] = []
    for item in items:
        made += [replace(m, guards=(*item.guards, *m.guards)) for m in _chat_message(run, item, pattern)]
    return Items(tuple(made), pattern.span)


def _chat_message(run: Run, item: Item, pattern: Pattern) -> list[Item]:
    held = run.at(item.value)
    known = dict(pattern.filled)
    if isinstance(held, Items) and len(held.items) == 2:
        role = run.at(held.items[0].value)
        word = role.constant if isinstance(role, Words) else None
        if word == "placeholder":
            return [_placeholder(run, held.items[1].value, known, pattern.span)]
        return [Item(_message(run, _ROLES.get(word or "", word or "user"), held.items[1].value, pattern))]
    if isinstance(held, External) and "MessagesPlaceholder" in held.dotted:
        name = held.arguments[0] if held.arguments else dict(held.keywords).get("variable_name", Known(None))
        return [_placeholder(run, name, known, held.span)]
    if isinstance(held, External) and "MessagePromptTemplate" in held.dotted:
        spoken_by = "system" if "System" in held.dotted else "assistant" if "AI" in held.dotted else "user"
        content = held.arguments[0] if held.arguments else dict(held.keywords).get("template", Known(None))
        inner = run.at(content)
        return [
            Item(_message(run, spoken_by, inner.body if isinstance(inner, Pattern) else content, pattern))
        ]
    if isinstance(held, Words):
        return [Item(_message(run, "user", held, pattern))]
    return [item]


def _message(run: Run, role: str, content: Abstract, pattern: Pattern) -> Fields:
    span = pattern.span
    text = rendered(run, replace(pattern, style="f-string", body=content))
    entries = (Entry("role", Words((Text(role, span),)), span), Entry("content", text, span))
    return Fields(entries, span)


def _placeholder(run: Run, name: Abstract, known: dict[str, Abstract], span: Span) -> Item:
    held = run.at(name)
    word = (held.constant if isinstance(held, Words) else None) or "history"
    word = word.strip("{}")
    value = known.get(word)
    given = run.at(value) if value is not None else None
    if isinstance(given, Value):
        return Item(given, spread=True)
    place = held.parts[0].span if isinstance(held, Words) and held.parts else span
    return Item(Value(word, place, (word,), cause=Cause.CONVERSATION), spread=True)


def _jinja_file(run: Run, given: "Arguments", span: Span) -> Pattern | None:
    """The template file of a Jinja2 environment, looked for near the file at hand."""
    name = given.get(0, "name")
    word = name.constant if isinstance(name, Words) else None
    if not word or word.startswith(("/", "..")):
        return None
    place = Path(run.frame.home.path).parent
    for _ in range(4):
        for folder in _TEMPLATE_FOLDERS:
            path = place / folder / word
            if path.is_file():
                return Pattern("jinja", Words((Text(str(path), span),)), span, (("", Known(str(path))),))
        place = place.parent if place != Path(".") else place.resolve().parent
    return None


def _jinja(run: Run, body: Words, known: dict[str, Abstract]) -> Words:
    """A Jinja2 template read by its own front end, its names replaced by what they are given."""
    from analyzers.errors import InputError
    from analyzers.templates.jinja import read_jinja
    from analyzers.templates.jinja_files import JinjaFiles
    from analyzers.templates.reading import read_text

    pieces: list[Words | Value] = []
    file = known.pop("", None)
    for part in body.parts:
        if isinstance(part, Value):
            pieces.append(part)
            continue
        path, text = part.span.path, part.text
        if isinstance(file, Known):
            path = file.value
            try:
                text = read_text(Path(path)).text
            except InputError:
                return Words(())
        source = read_jinja(path, text, JinjaFiles(()), chat=False, filters=frozenset())
        for inner in source.prompts[0].parts if source.prompts else ():
            own = inner.span if isinstance(file, Known) else part.span
            if isinstance(inner, Text):
                pieces.append(Words((replace(inner, span=own),)))
            elif isinstance(inner, Value):
                place = (
                    own
                    if isinstance(file, Known)
                    else run.inside(part.span, text, inner.span.start, inner.span.end)
                )
                pieces.append(_given(run, replace(inner, span=place), known))
    return joined(pieces)


def _given(run: Run, value: Value, known: dict[str, Abstract]) -> Words:
    used = [known[name.partition(".")[0]] for name in value.names if name.partition(".")[0] in known]
    if not used:
        return Words((value,))
    if len(used) == 1 and not value.calls and not value.filters:
        text = guarded(words_of(run, used[0], value.span), value.guards)
        if isinstance(text, Words) and not isinstance(run.at(used[0]), Items | Fields | Instance):
            return text
    values = [inner for each in used for inner in values_in(run, each)]
    made = blended(value.expression, value.span, values, value.calls)
    return Words((replace(made, guards=value.guards, filters=value.filters),))
