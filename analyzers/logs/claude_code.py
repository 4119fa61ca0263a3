"""Claude Code session files: requests rebuilt turn by turn.

The rows of one answer repeat its message id, request id and input counters while its output counter grows, and
a resumed session repeats whole rows of an earlier file: every distinct (message id, request id) is one call.
Field names as read from public session files of January 2026.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.claude_code_history import History, Message, Row
from analyzers.logs.reader import NOT_A_CALL, Carries, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import read_time
from analyzers.request import Dialect, Identity, Log, PartKind, Request

NOT_IN_THE_FILE = (
    "Claude Code session files hold neither the base system prompt nor the tools: prompts are rebuilt from "
    "the messages alone and are shorter than what was sent; usage is as logged."
)
EARLIER_ROWS_MISSING = (
    "Some Claude Code sessions continue from rows that are not in these files; those prompts lack the "
    "earlier history."
)
FIRST_FIGURES = (
    "Some Claude Code rows give fewer output tokens than their answers can have (the count at the start of a "
    "stream): outputs and what they cost are larger than stated."
)
_MOST_BYTES_A_TOKEN = 40
_CLOUDS = {"msg_bdrk": "bedrock", "msg_vrtx": "vertex"}
"""Beginnings of message ids where the model is not served by Anthropic itself."""
_CONVERSATION = ("user", "assistant")
_BY_THE_CLIENT = "<synthetic>"


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    uuid: str | None = None
    parent_uuid: str | msgspec.UnsetType | None = msgspec.UNSET
    session_id: str | None = None
    request_id: str | None = None
    agent_id: str | None = None
    timestamp: Any = None
    version: str | None = None
    is_sidechain: bool | None = None
    is_api_error_message: bool | None = None
    message: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Message(msgspec.Struct):
    role: str = ""
    id: str | None = None
    model: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"[]")
    usage: dict[str, Any] | None = None


@dataclass(slots=True)
class _Call:
    """A model call and what its rows have told so far."""

    request: Request
    answer: Message
    output_tokens: int = -1


_LINE = msgspec.json.Decoder(_Line)
_MESSAGE = msgspec.json.Decoder(_Message)


class ClaudeCode(Reader):
    name = "claude-code"
    title = "Claude Code session"
    carries = Carries(text="messages, no base system prompt", tools="no", usage="yes", times="yes")
    keys = ("parentUuid", "isSidechain", "sessionId", "type", "message", "uuid", "timestamp", "requestId")

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        super().__init__(log, mapping)
        self._calls: dict[str, _Call] = {}
        self._touched: dict[str, _Call] = {}
        self._places: dict[str, tuple[History, int]] = {}
        self._unlinked: dict[tuple[str | None, str | None, bool], History] = {}

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict) or not isinstance(record.get("type"), str):
            return 0
        if "sessionId" in record and ("parentUuid" in record or "operation" in record or "uuid" in record):
            return 1
        if record["type"] in _CONVERSATION and "uuid" in record and isinstance(record.get("message"), dict):
            return 0.95
        return 0.9 if record["type"] in ("summary", "file-history-snapshot") else 0

    def read(self, record: Record) -> None:
        line = _LINE.decode(record.raw)
        if not line.type:
            raise NotThisFormatError("no row type")
        message = None
        if line.type in _CONVERSATION:
            if line.message is msgspec.UNSET:
                raise NotThisFormatError("no message")
            message = _MESSAGE.decode(line.message)
        history = self._history_of(line)
        row = _row_of(line, message, record)
        if line.type == "assistant" and message is not None and row.call:
            self._read_answer(record, line, message, history, row)
        elif line.type == "user":
            self.log.merged += 1
        else:
            self.log.skip(record.file, record.line, NOT_A_CALL)
        history.add(row)
        history.last_ns = read_time(line.timestamp, self.log) or history.last_ns
        if line.uuid is not None:
            self._places[line.uuid] = (history, len(history.rows) - 1)

    def end_of_file(self) -> None:
        intern = self.log.parts.interner(Dialect.ANTHROPIC, PartKind.RESPONSE)
        for call in self._touched.values():
            call.request.output = intern(call.answer.raw())
            size = sum(map(len, call.answer.contents))
            if 0 <= call.output_tokens < size // _MOST_BYTES_A_TOKEN - 10:
                self.log.note(FIRST_FIGURES)
        self._touched.clear()
        self._unlinked.clear()

    def end_of_input(self) -> None:
        if self._calls:
            self.log.note_incomplete(NOT_IN_THE_FILE)

    def _read_answer(
        self, record: Record, line: _Line, message: _Message, history: History, row: Row
    ) -> None:
        call = self._calls.get(row.call)
        if call is None:
            request = Request(
                request_id=line.request_id or message.id or line.uuid or f"line {record.line}",
                file=record.file,
                line=record.line,
                dialect=Dialect.ANTHROPIC,
                parts=history.prompt(self.log.parts),
                # The prompt was complete when its last row was written.
                time_ns=history.last_ns or read_time(line.timestamp, self.log),
                model=message.model,
                provider=_CLOUDS.get((message.id or "")[:8], "anthropic"),
                identity=_identity(line),
            )
            call = self._calls[row.call] = _Call(request, Message("assistant", row.call, []))
            self.log.requests.append(request)
        else:
            self.log.merged += 1
        if row.content not in call.answer.contents:
            call.answer.contents.append(row.content)
            call.request.end_ns = read_time(line.timestamp, self.log) or call.request.end_ns
        self._touched[row.call] = call
        output_tokens = (message.usage or {}).get("output_tokens")
        size = output_tokens if isinstance(output_tokens, int) else -1
        if message.usage is not None and (call.request.usage is None or size >= call.output_tokens):
            call.output_tokens = size
            call.request.usage = usage_of(message.usage)

    def _history_of(self, line: _Line) -> History:
        """The line of rows that this row continues."""
        parent = line.parent_uuid
        if parent is msgspec.UNSET:
            stream = (line.session_id, line.agent_id, bool(line.is_sidechain))
            return self._unlinked.setdefault(stream, History())
        if parent is None:
            return History()
        place = self._places.get(parent)
        if place is None:
            self.log.note_incomplete(EARLIER_ROWS_MISSING)
            return History()
        history, index = place
        if index == len(history.rows) - 1 or history.belongs_after(index):
            return history
        return history.branch(index)


def _row_of(line: _Line, message: _Message | None, record: Record) -> Row:
    # What the client shows as an error of the API is not sent back to it.
    if message is None or line.is_api_error_message:
        return Row("", "", b"")
    if line.type == "user" or message.model == _BY_THE_CLIENT:
        return Row(line.type, "", bytes(message.content))
    call = message.id or line.uuid or f"{record.file}:{record.line}"
    return Row("assistant", f"{call} {line.request_id or ''}", bytes(message.content))


def _identity(line: _Line) -> Identity:
    labels = {"agent": line.agent_id, "client_version": line.version}
    return Identity(
        session=line.session_id,
        route="sidechain" if line.is_sidechain else None,
        labels=tuple((name, value) for name, value in sorted(labels.items()) if value),
    )
