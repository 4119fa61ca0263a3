"""A prompt that a log keeps in one field: a text, a list of messages or of token ids, or a whole body.

Exports often hold such a value as JSON in a string; it is then read as what it says.
"""

from dataclasses import dataclass

import msgspec

from analyzers.logs.answers import read_answer
from analyzers.logs.assembly import Assembler
from analyzers.logs.body import Body
from analyzers.logs.dialects import dialect_of_body
from analyzers.logs.reader import NotThisFormatError
from analyzers.logs.token_ids import id_bytes
from analyzers.request import Dialect, Parameters, Part, PartKind, PartStore

_BODY = msgspec.json.Decoder(Body)
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ANTHROPIC_BLOCKS = (b'"tool_use"', b'"tool_result"', b'"cache_control"')


@dataclass(frozen=True, slots=True)
class Prompt:
    dialect: Dialect
    parts: tuple[Part, ...]
    parameters: Parameters = ()


class PromptValues:
    """Reads prompts and answers that are one JSON value each."""

    def __init__(self, store: PartStore) -> None:
        self._store = store
        self._assembler = Assembler(store)

    def prompt(self, raw: bytes, tools: bytes | None = None, provider: str | None = None) -> Prompt:
        """The prompt a value holds; `tools` are those kept beside it. Raises NotThisFormatError if it is none."""
        raw = _unfolded(raw.strip())
        if raw[:1] == b'"':
            text: str = msgspec.json.decode(raw)
            return Prompt(Dialect.TEXT, (self._store.intern(Dialect.TEXT, PartKind.TEXT, text.encode()),))
        if raw[:1] == b"{":
            body = _BODY.decode(raw)
        elif raw[:1] == b"[":
            items = _LIST.decode(raw)
            if items and bytes(items[0])[:1].isdigit():
                ids = self._store.intern(Dialect.TOKENS, PartKind.TOKENS, id_bytes(raw))
                return Prompt(Dialect.TOKENS, (ids,))
            if len(items) == 1 and bytes(items[0])[:1] in (b"[", b'"'):
                return self.prompt(bytes(items[0]), tools, provider)
            if not items or not all(is_message(bytes(item)) for item in items):
                raise NotThisFormatError("no prompt", "the list holds no messages")
            body = Body(messages=items)
        else:
            raise NotThisFormatError("no prompt")
        if tools is not None and body.tools is msgspec.UNSET:
            body.tools = msgspec.Raw(tools)
        anthropic = any(block in raw for block in _ANTHROPIC_BLOCKS)
        dialect = dialect_of_body(body, provider, Dialect.ANTHROPIC if anthropic else Dialect.OPENAI_CHAT)
        if dialect is None:
            raise NotThisFormatError("no prompt")
        parts, parameters = self._assembler.assemble(dialect, body)
        return Prompt(dialect, parts, parameters)

    def answer(self, dialect: Dialect, raw: bytes) -> Part | None:
        """The answer a value holds, None for null and for an empty text."""
        raw = raw.strip()
        if raw in (b"null", b'""', b""):
            return None
        if dialect is Dialect.TOKENS:
            return self._store.intern(dialect, PartKind.TOKENS, id_bytes(raw)) if raw[:1] == b"[" else None
        if raw[:1] == b'"':
            unfolded = _unfolded(raw)
            if dialect is Dialect.TEXT:
                raw = msgspec.json.decode(raw, type=str).encode()
            elif unfolded is raw:
                raw = b'{"role":"assistant","content":' + raw + b"}"
            else:
                raw = unfolded
        elif not is_message(raw):
            raw = read_answer(raw).output or raw
        return self._store.intern(dialect, PartKind.RESPONSE, raw)


def _unfolded(raw: bytes) -> bytes:
    """The messages or the body that a JSON string spells out; any other value as it is."""
    if raw[:1] != b'"':
        return raw
    inner = msgspec.json.decode(raw, type=str).strip().encode()
    if inner[:1] not in (b"[", b"{"):
        return raw
    try:
        items = _LIST.decode(inner) if inner[:1] == b"[" else []
        fields = _OBJECT.decode(inner) if inner[:1] == b"{" else {}
    except msgspec.DecodeError:
        return raw
    if items and (bytes(items[0])[:1].isdigit() or all(is_message(bytes(item)) for item in items)):
        return inner
    return inner if {"messages", "contents", "role", "prompt"} & fields.keys() else raw


def is_message(raw: bytes) -> bool:
    """Whether a JSON value is an object with a role."""
    if raw[:1] != b"{":
        return False
    try:
        return "role" in _OBJECT.decode(raw)
    except msgspec.DecodeError:
        return False
