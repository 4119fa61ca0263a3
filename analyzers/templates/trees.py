"""JSON, YAML and TOML files as one kind of tree that knows where each value stands."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """A value: `text` for a string, `value` for another scalar, `items` for an object or a list.

    Characters [start, end) of the file; `inner` is where a string's own characters begin, with `verbatim`
    saying that they stand in the file as they are (no escapes, no folding).
    """

    kind: str
    start: int
    end: int
    text: str = ""
    value: Any = None
    items: tuple[tuple[str, "Node"], ...] = ()
    inner: int = 0
    verbatim: bool = False

    def get(self, key: str) -> "Node | None":
        """The member of an object with this key, None when there is none."""
        return (
            next((node for name, node in self.items if name == key), None) if self.kind == "object" else None
        )

    def string(self, key: str) -> str | None:
        """The string member with this key, None when there is none."""
        node = self.get(key)
        return node.text if node is not None and node.kind == "string" else None

    def elements(self) -> list["Node"]:
        """The elements of a list, nothing for anything else."""
        return [node for _, node in self.items] if self.kind == "list" else []

    def walk(self, path: str = "") -> Iterator[tuple[str, "Node"]]:
        """Every value below with its path (`messages[0].content`), itself first."""
        yield path, self
        for key, node in self.items:
            below = f"{path}[{key}]" if self.kind == "list" else f"{path}.{key}" if path else key
            yield from node.walk(below)


class TreeError(Exception):
    """A file that is not what it should be; `offset` says where."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_WORDS = {"true": True, "false": False, "null": None}
_DEEPEST = 200


def parse_json(text: str) -> Node:
    """The JSON value of the text. Raises TreeError, also for what follows the value."""
    node, end = json_at(text, 0)
    if end != len(text):
        raise TreeError("text behind the end of the JSON value", end)
    return node


def json_at(text: str, start: int) -> tuple[Node, int]:
    """The JSON value that starts at `start`, and where the white space behind it ends. Raises TreeError."""
    node, end = _json(text, _SPACE.match(text, start).end(), 0)  # type: ignore[union-attr]
    return node, _SPACE.match(text, end).end()  # type: ignore[union-attr]


def _json(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > _DEEPEST:
        raise TreeError("the JSON is nested too deeply", at)
    first = text[at : at + 1]
    if first == '"':
        return _json_string(text, at)
    if first in ("{", "["):
        return _json_items(text, at, depth)
    match = _SCALAR.match(text, at)
    if match is None:
        raise TreeError("a JSON value was expected here", at)
    word = match[0]
    value = _WORDS[word] if word in _WORDS else float(word) if set(word) & set(".eE") else _integer(word)
    return Node("scalar", at, match.end(), value=value), match.end()


def _integer(word: str) -> int | float:
    return int(word) if len(word) < 40 else float(word)


def _json_string(text: str, at: int) -> tuple[Node, int]:
    try:
        value, end = scanstring(text, at + 1, True)
    except ValueError as problem:
        raise TreeError("a JSON string does not end or holds a control character", at) from problem
    return Node("string", at, end, text=value, inner=at + 1, verbatim=end - at - 2 == len(value)), end


def _json_items(text: str, at: int, depth: int) -> tuple[Node, int]:
    is_object = text[at] == "{"
    closing = "}" if is_object else "]"
    items: list[tuple[str, Node]] = []
    end = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]
    if text[end : end + 1] == closing:
        return Node("object" if is_object else "list", at, end + 1), end + 1
    while True:
        key = str(len(items))
        if is_object:
            if text[end : end + 1] != '"':
                raise TreeError("a JSON key was expected here", end)
            name, end = _json_string(text, end)
            key = name.text
            end = _SPACE.match(text, end).end()  # type: ignore[union-attr]
            if text[end : end + 1] != ":":
                raise TreeError("a colon was expected here", end)
            end = _SPACE.match(text, end + 1).end()  # type: ignore[union-attr]
        node, end = _json(text, end, depth + 1)
        items.append((key, node))
        end = _SPACE.match(text, end).end()  # type: ignore[union-attr]
        follows = text[end : end + 1]
        if follows not in (",", closing):
            raise TreeError(f"a comma or {closing} was expected here", end)
        end += 1
        if follows == closing:
            return Node("object" if is_object else "list", at, end, items=tuple(items)), end
        end = _SPACE.match(text, end).end()  # type: ignore[union-attr]


def parse_yaml(text: str) -> Node:
    """A YAML text, without running any constructor; several documents become a list. Raises TreeError."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        roots = list(yaml.compose_all(text, Loader=loader))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        what = getattr(problem, "problem", None) or "not YAML"
        raise TreeError(f"{what}", mark.index if mark is not None else 0) from None
    except RecursionError:
        raise TreeError("the YAML is nested too deeply", 0) from None
    documents = [_yaml(root, text, 0) for root in roots if root is not None]
    if len(documents) == 1:
        return documents[0]
    return Node("list", 0, len(text), items=tuple((str(i), node) for i, node in enumerate(documents)))


def _yaml(node: Any, text: str, depth: int) -> Node:
    if depth > _DEEPEST:
        raise TreeError("the YAML is nested too deeply, or refers to itself", node.start_mark.index)
    start, end = node.start_mark.index, node.end_mark.index
    if node.id == "scalar":
        if node.tag not in ("tag:yaml.org,2002:str",) and node.style is None:
            return Node("scalar", start, end, value=node.value)
        inner = _yaml_inner(text, start, end, node.value, node.style)
        verbatim = text.startswith(node.value, inner)
        return Node("string", start, end, text=node.value, inner=inner, verbatim=verbatim)
    if node.id == "sequence":
        items = tuple((str(number), _yaml(item, text, depth + 1)) for number, item in enumerate(node.value))
        return Node("list", start, end, items=items)
    pairs = tuple((str(key.value), _yaml(item, text, depth + 1)) for key, item in node.value)
    return Node("object", start, end, items=pairs)


def _yaml_inner(text: str, start: int, end: int, value: str, style: str | None) -> int:
    """Where the characters of a scalar begin: behind the quote, or on the line after `|` or `>`."""
    if style in ("|", ">"):
        line_end = text.find("\n", start, end)
        first = value.lstrip("\n").partition("\n")[0]
        found = text.find(first, line_end, end) if line_end >= 0 else -1
        return found if found >= 0 else start
    return start + 1 if style in ("'", '"') else start


_TOML_KEY = re.compile(r"^\s*([\w.\"'-]+)\s*=\s*|^\s*\[+([^\]]+)\]+", re.M)


def parse_toml(text: str) -> Node:
    """A TOML file; strings are found again by their key, so positions are exact where a key stands once."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(problem))
        offset = _offset_of_line(text, int(at[1]), int(at[2])) if at else len(text)
        raise TreeError(str(problem).partition(" (at")[0], offset) from None
    places: dict[str, int] = {}
    table = ""
    for match in _TOML_KEY.finditer(text):
        if match[2]:
            table = match[2].strip() + "."
        else:
            places.setdefault(table + match[1].strip("\"'"), match.end())
    return _toml(document, "", text, places, 0)


def _toml(value: Any, path: str, text: str, places: dict[str, int], at: int) -> Node:
    at = places.get(path, at)
    if isinstance(value, dict):
        items = tuple(
            (key, _toml(item, f"{path}.{key}" if path else key, text, places, at))
            for key, item in value.items()
        )
        return Node("object", at, at, items=items)
    if isinstance(value, list):
        return Node(
            "list",
            at,
            at,
            items=tuple((str(i), _toml(v, path, text, places, at)) for i, v in enumerate(value)),
        )
    if isinstance(value, str):
        inner = text.find(value.partition("\n")[0], at) if value else at
        inner = inner if inner >= 0 else at
        return Node(
            "string", at, at + len(value), text=value, inner=inner, verbatim=text.startswith(value, inner)
        )
    return Node("scalar", at, at, value=value)


def _offset_of_line(text: str, line: int, column: int) -> int:
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    return starts[min(line, len(starts)) - 1] + column - 1
