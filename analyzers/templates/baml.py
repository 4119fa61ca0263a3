"""BAML files: `function … { prompt #"…"# }` and `template_string`, whose bodies are Jinja2."""

import re
from dataclasses import replace

from jinja2 import nodes

from analyzers.templates.jinja import read_jinja
from analyzers.templates.jinja_files import JinjaFiles
from analyzers.templates.jinja_source import JinjaSyntaxError, parse_jinja
from analyzers.templates.jinja_walk import Macro
from analyzers.templates.parts import Part, Place, Prompt, Scope, Source, Text, Value

_BLOCK = re.compile(
    r"(?:template_string\s+(?P<macro>\w+)\s*(?:\((?P<args>[^)]*)\))?\s*|\bprompt\s+)(?P<hashes>#+)\"(?P<body>.*?)\"(?P=hashes)",
    re.S,
)
_FUNCTION = re.compile(r"\bfunction\s+(\w+)")
_CLIENT = re.compile(r"\bclient\s+\"?([\w./-]+)\"?")
_ROLE = re.compile(r"_\.(?:role|chat)\(\s*(?:role\s*=\s*)?['\"](\w+)['\"]")


def read_baml(path: str, text: str, files: JinjaFiles, filters: frozenset[str] = frozenset()) -> Source:
    """One prompt for each function of the file."""
    source = Source(path, text)
    macros: dict[str, Macro] = {}
    for match in _BLOCK.finditer(text):
        if match["macro"]:
            macros |= _template_string(path, text, match)
    for match in _BLOCK.finditer(text):
        if not match["macro"]:
            read = read_jinja(path, _alone(text, match), files, filters=filters, macros=macros)
            source = replace(
                source,
                prompts=(*source.prompts, *_prompts(read, text, match)),
                comments=(*source.comments, *read.comments),
                problems=(*source.problems, *read.problems),
            )
    return source


def _alone(text: str, match: re.Match[str]) -> str:
    """The body at its place in the file, everything before it blanked out."""
    return re.sub(r"[^\n]", " ", text[: match.start("body")]) + match["body"]


def _template_string(path: str, text: str, match: re.Match[str]) -> dict[str, Macro]:
    """The body as a macro; one that Jinja refuses is left to the place that would use it."""
    try:
        parsed = parse_jinja(path, _alone(text, match), chat=False)
    except JinjaSyntaxError:
        return {}
    first = parsed.tree.find(nodes.TemplateData)
    if first is not None and first.lineno == 0:
        first.data = first.data[match.start("body") :]
        first.lineno = match.start("body")
    names = [argument.partition(":")[0].strip() for argument in (match["args"] or "").split(",")]
    arguments = [nodes.Name(name, "param") for name in names if name]
    macro = nodes.Macro(match["macro"], arguments, [], parsed.tree.body, lineno=0)
    return {match["macro"]: Macro(macro, parsed)}


def _prompts(read: Source, text: str, match: re.Match[str]) -> tuple[Prompt, ...]:
    before = text[: match.start()]
    functions = _FUNCTION.findall(before)
    clients = _CLIENT.findall(before[max(before.rfind("function"), 0) :])
    return tuple(
        Prompt(
            prompt.path,
            "baml",
            tuple(_with_roles(_without_padding(prompt.parts, match.start("body")))),
            name=functions[-1] if functions else "",
            model=clients[-1].rpartition("/")[2] if clients else None,
            dead=prompt.dead,
        )
        for prompt in read.prompts
    )


def _without_padding(parts: tuple[Part, ...], start: int) -> list[Part]:
    first = parts[0]
    if not isinstance(first, Text) or first.span.start != 0:
        return list(parts)
    rest = first.text[start:]
    return [Text(rest, first.span, first.guards), *parts[1:]] if rest else list(parts[1:])


def _with_roles(parts: list[Part]) -> list[Part]:
    """`{{ _.role("system") }}` starts a message; `ctx` is what BAML itself writes, the same each time."""
    place = Place()
    result: list[Part] = []
    for part in parts:
        if isinstance(part, Value):
            role = _ROLE.search(part.expression)
            if role is not None:
                place = Place("system" if role[1] == "system" else "messages", role[1])
                continue
            if part.expression.startswith("ctx."):
                part = replace(part, scope=Scope.RELEASE)
        result.append(replace(part, place=place))
    return result
