"""What a Claude Code session sent before each of its calls, from rows linked to their parents.

Two habits of the files shape this: the blocks of one answer lie on a row each, and the results of parallel
tool calls hang each off its own tool call, so that a walk from the newest row to the root misses all but one.
"""

from dataclasses import dataclass, field

import msgspec

from analyzers.request import Dialect, Part, PartKind, PartStore

_BLOCKS = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(slots=True, frozen=True)
class Row:
    """One row of a session. `role` is empty where the row holds no message; `call` names an answer's call."""

    role: str
    call: str
    content: bytes
    """The raw JSON of the content: a string or an array of blocks."""

    @property
    def holds_tool_results(self) -> bool:
        return self.role == "user" and b'"tool_result"' in self.content


@dataclass(slots=True)
class Message:
    """One message as the client sends it: the rows of one answer, or the user rows between two answers."""

    role: str
    call: str
    contents: list[bytes]
    part: Part | None = None

    def raw(self) -> bytes:
        """The message's JSON. The blocks of several rows are joined; a block repeated in an answer counts once."""
        content = self.contents[0]
        if len(self.contents) > 1:
            blocks = [block for each in self.contents for block in blocks_of(each)]
            content = b"[" + b",".join(dict.fromkeys(blocks) if self.call else blocks) + b"]"
        return b'{"role":"' + self.role.encode() + b'","content":' + content + b"}"


def blocks_of(content: bytes) -> list[bytes]:
    """The raw blocks of a content; a plain string counts as one text block."""
    if content.startswith(b"["):
        return [bytes(block) for block in _BLOCKS.decode(content)]
    return [b'{"type":"text","text":' + content + b"}"]


@dataclass(slots=True)
class History:
    """A line of rows from the root of a conversation on. Rows are only ever added at its end."""

    rows: list[Row] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    last_ns: int | None = None
    """The time of the last row."""

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if not row.role:
            return
        # An answer's later blocks can follow the results of its first tool calls: it stays one message.
        for message in self.messages[-2:]:
            if (
                message.role == row.role
                and message.call == row.call
                and (row.call or message is self.messages[-1])
            ):
                message.contents.append(row.content)
                message.part = None
                return
        self.messages.append(Message(row.role, row.call, [row.content]))

    def prompt(self, parts: PartStore) -> tuple[Part, ...]:
        """The messages so far as parts."""
        intern = parts.interner(Dialect.ANTHROPIC, PartKind.MESSAGE)
        for message in reversed(self.messages):
            if message.part is not None and message is not self.messages[-1]:
                break
            message.part = intern(message.raw())
        return tuple([message.part for message in self.messages if message.part is not None])

    def belongs_after(self, index: int) -> bool:
        """Whether all rows after `index` are of the same turn as it: blocks of one answer and their results."""
        turn = next((row.call for row in reversed(self.rows[: index + 1]) if row.call), "")
        return bool(turn) and all(
            row.call == turn or row.holds_tool_results or not row.role for row in self.rows[index + 1 :]
        )

    def branch(self, index: int) -> "History":
        """A new line that shares the rows up to and including `index`."""
        branch = History()
        for row in self.rows[: index + 1]:
            branch.add(row)
        return branch
