"""Prompts kept in YAML, TOML and JSON files, LangChain hub files among them."""

import re
from dataclasses import dataclass, field

from analyzers.templates.jinja_files import JinjaFiles
from analyzers.templates.parts import ANYWHERE, Dead, LineIndex, Part, Place, Problem, Prompt, Source, Value
from analyzers.templates.text_blocks import node_source, parts_of
from analyzers.templates.trees import Node

PROMPT_KEY = re.compile(
    r"prompt|template|instruction|preamble|persona|^system|^developer|^user$|^human$|^content$|^text$|^message$",
    re.I,
)
_SYSTEM_KEYS = (
    "system",
    "system_prompt",
    "systemPrompt",
    "system_message",
    "developer",
    "instructions",
    "preamble",
)
_USER_KEYS = ("user", "user_prompt", "userPrompt", "user_message", "human", "prompt", "template")
_STYLES = {"f-string": "format", "jinja2": "jinja", "jinja": "jinja", "mustache": "handlebars"}
_LANGCHAIN_ROLES = {"System": "system", "Human": "user", "AI": "assistant"}


@dataclass
class _Reader:
    path: str
    text: str
    lines: LineIndex
    files: JinjaFiles
    filters: frozenset[str]
    prompts: list[Prompt] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    dead: list[Dead] = field(default_factory=list)

    def parts(self, node: Node, place: Place, style: str | None = None) -> tuple[Part, ...]:
        source = node_source(
            self.path,
            node,
            self.text,
            self.lines,
            self.files,
            style=style,
            place=place,
            filters=self.filters,
        )
        self.problems += source.problems
        self.dead += [dead for prompt in source.prompts for dead in prompt.dead]
        return parts_of(source)

    def add(self, parts: tuple[Part, ...], name: str, node: Node) -> None:
        if any(isinstance(part, Value) for part in parts):
            model = node.string("model")
            version = node.get("version")
            shown = None if version is None else str(version.text or version.value)
            self.prompts.append(
                Prompt(self.path, "structured", parts, name, model, version=shown, dead=tuple(self.dead))
            )
        self.dead = []


def read_structured(
    path: str, text: str, root: Node, files: JinjaFiles, filters: frozenset[str] = frozenset()
) -> Source:
    """The prompts of the file: message lists, system and user pairs, and single strings under a telling key."""
    reader = _Reader(path, text, LineIndex(path, text), files, filters)
    _read(reader, root, "", False)
    return Source(path, text, tuple(reader.prompts), problems=tuple(dict.fromkeys(reader.problems)))


def _read(reader: _Reader, node: Node, path: str, telling: bool) -> None:
    if _langchain(reader, node, path) or _messages(reader, node, path) or _pair(reader, node, path):
        return
    for key, child in node.items:
        below = f"{path}[{key}]" if node.kind == "list" else f"{path}.{key}" if path else key
        here = telling or (node.kind == "object" and PROMPT_KEY.search(key) is not None)
        if child.kind == "string" and here:
            reader.add(reader.parts(child, Place(path=below), _style(node)), below, node)
        else:
            _read(reader, child, below, here)


def _style(node: Node) -> str | None:
    return _STYLES.get(node.string("template_format") or "")


def _messages(reader: _Reader, node: Node, path: str) -> bool:
    """A list of messages with role and content, as one prompt."""
    found = node.get("messages") or node.get("prompt") if node.kind == "object" else node
    if found is None or found.kind != "list":
        return False
    messages = [item for item in found.elements() if item.string("role") is not None]
    if not messages or len(messages) != len(found.elements()):
        return False
    parts: tuple[Part, ...] = ()
    for number, message in enumerate(messages):
        role = message.string("role") or ""
        section = "system" if role in ("system", "developer") else "messages"
        content = message.get("content")
        for inner, string in content.walk(f"[{number}].content") if content is not None else ():
            if string.kind == "string" and not inner.endswith(".type"):
                place = Place(section, role, f"{path}.messages{inner}" if path else f"messages{inner}")
                parts += reader.parts(string, place, _style(node))
    reader.add(parts, path or "messages", node)
    return True


def _pair(reader: _Reader, node: Node, path: str) -> bool:
    """An object with a system string and a user string, as one prompt."""
    system = next((key for key in _SYSTEM_KEYS if node.string(key) is not None), None)
    user = next((key for key in _USER_KEYS if node.string(key) is not None and key != system), None)
    if system is None or user is None:
        return False
    parts: tuple[Part, ...] = ()
    for key, section, role in ((system, "system", "system"), (user, "messages", "user")):
        found = node.get(key)
        if found is not None:
            place = Place(section, role, f"{path}.{key}" if path else key)
            parts += reader.parts(found, place, _style(node))
    reader.add(parts, path or system, node)
    for key, child in node.items:
        if key not in (system, user):
            _read(reader, child, f"{path}.{key}" if path else key, False)
    return True


def _langchain(reader: _Reader, node: Node, path: str) -> bool:
    """A LangChain prompt: `{"id": [..., "ChatPromptTemplate"], "kwargs": {...}}` or the older `{"_type": "prompt"}`."""
    kind = _langchain_kind(node)
    if kind is None:
        return False
    parts = _langchain_parts(reader, node, ANYWHERE)
    reader.add(parts, path or kind, node)
    return True


def _langchain_kind(node: Node) -> str | None:
    if node.string("_type") in ("prompt", "chat", "few_shot"):
        return node.string("_type")
    identity = node.get("id")
    if node.get("lc") is None or identity is None or not identity.elements():
        return None
    name = identity.elements()[-1].text
    return name if name.endswith(("PromptTemplate", "Prompt", "MessagesPlaceholder")) else None


def _langchain_parts(reader: _Reader, node: Node, place: Place) -> tuple[Part, ...]:
    if node.kind == "list":
        return tuple(part for item in node.elements() for part in _langchain_parts(reader, item, place))
    kind = _langchain_kind(node) or ""
    for word, role in _LANGCHAIN_ROLES.items():
        if kind.startswith(word):
            place = Place("system" if role == "system" else "messages", role)
    inner = node.get("kwargs") or node
    if kind == "MessagesPlaceholder":
        name = inner.string("variable_name") or "messages"
        span = reader.lines.span(node.start, node.end)
        return (Value(name, span, (name,), place=Place("messages")),)
    parts: tuple[Part, ...] = ()
    for key in ("prefix", "messages", "prompt", "template", "examples", "suffix"):
        child = inner.get(key)
        if child is not None and child.kind == "string":
            parts += reader.parts(child, place, _style(inner) or "format")
        elif child is not None:
            parts += _langchain_parts(reader, child, place)
    return parts
