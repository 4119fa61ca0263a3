"""Codex rollout files: requests rebuilt from the items that the model wrote and the token counts after them.

Rows are `{timestamp, type, payload}`; files of 2025 before September hold bare items instead. One call is a run of
items by the model (reasoning, messages, calls); its usage is the `last_token_usage` of the next token count.
The running total restarts inside some files, so only the figures of the last call are used.
Field names as read from public rollout files, 2025 and 2026.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.reader import NOT_A_CALL, Carries, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import read_time
from analyzers.request import Dialect, Identity, Log, Parameters, Part, PartKind, Request

NOT_IN_THE_FILE = (
    "Codex rollouts do not hold the tools, and older ones not the base instructions: prompts are rebuilt from "
    "the items alone and are shorter than what was sent; usage is as logged."
)
HISTORY_REWRITTEN = (
    "Some Codex sessions were compacted or rolled back in a way their rollout does not spell out; the prompts "
    "after that point are approximate."
)
_BY_THE_MODEL = {
    "reasoning",
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "tool_search_call",
    "image_generation_call",
}
_NEVER_SENT = {"ghost_snapshot", "other"}
_LINE_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")


class _Line(msgspec.Struct):
    type: str = ""
    timestamp: Any = None
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    record_type: str | None = None
    id: str | None = None
    role: str | None = None
    instructions: Any = msgspec.UNSET


class _Payload(msgspec.Struct):
    type: str = ""
    role: str | None = None
    id: str | None = None
    cli_version: str | None = None
    model: str | None = None
    effort: str | None = None
    base_instructions: Any = None
    info: dict[str, Any] | None = None
    message: Any = None
    replacement_history: list[msgspec.Raw] | None = None


_LINE = msgspec.json.Decoder(_Line)
_PAYLOAD = msgspec.json.Decoder(_Payload)


class Codex(Reader):
    name = "codex"
    title = "Codex rollout"
    carries = Carries(text="items, base instructions in newer files", tools="no", usage="yes", times="yes")
    keys = ("timestamp", "type", "payload", "ordinal")
    reach = "file"

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        super().__init__(log, mapping)
        self._calls = 0
        self._start_session()

    def _start_session(self) -> None:
        self._lead: tuple[Part, ...] = ()
        self._items: list[Part] = []
        self._call: Request | None = None
        """The call whose usage has not come yet."""
        self._answer: list[bytes] = []
        self._answering = False
        self._counted: object = None
        self._last_ns: int | None = None
        self._model: str | None = None
        self._parameters: Parameters = ()
        self._identity = Identity()

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        if isinstance(record.get("payload"), dict) and record.get("type") in _LINE_TYPES:
            return 1
        return 0.8 if "record_type" in record or {"id", "timestamp", "instructions"} <= record.keys() else 0

    def read(self, record: Record) -> None:
        line = _LINE.decode(record.raw)
        if line.payload is msgspec.UNSET:
            self._read_bare(record, line)
            return
        payload = _PAYLOAD.decode(line.payload)
        time_ns = read_time(line.timestamp, self.log)
        if line.type == "response_item" and payload.type not in _NEVER_SENT:
            self._read_item(record, payload.type, payload.role, bytes(line.payload), time_ns)
            return
        if (
            line.type == "event_msg"
            and payload.type == "token_count"
            and self._read_count(record, payload, time_ns)
        ):
            return
        if line.type == "event_msg" and payload.type == "thread_rolled_back":
            self.log.note_incomplete(HISTORY_REWRITTEN)
        elif line.type == "session_meta":
            self._read_meta(payload)
        elif line.type == "turn_context":
            self._model = payload.model or self._model
            if payload.effort is not None:
                self._parameters = (("reasoning.effort", msgspec.json.encode(payload.effort)),)
        elif line.type == "compacted":
            self._compact(payload)
        self.log.skip(record.file, record.line, NOT_A_CALL)

    def end_of_file(self) -> None:
        self._close_call()
        self._start_session()

    def end_of_input(self) -> None:
        if self._calls:
            self.log.note_incomplete(NOT_IN_THE_FILE)

    def _read_bare(self, record: Record, line: _Line) -> None:
        time_ns = read_time(line.timestamp, self.log)
        if line.type == "message" or line.type in _BY_THE_MODEL or line.type.endswith("_output"):
            self._read_item(record, line.type, line.role, record.raw, time_ns)
            return
        if line.id is not None and line.instructions is not msgspec.UNSET:
            self._identity = Identity(session=line.id)
            self._last_ns = time_ns
        elif line.record_type is None:
            raise NotThisFormatError("no payload")
        self.log.skip(record.file, record.line, NOT_A_CALL)

    def _read_meta(self, payload: _Payload) -> None:
        labels = (("client_version", payload.cli_version),) if payload.cli_version else ()
        self._identity = Identity(session=payload.id, labels=labels)
        instructions = payload.base_instructions
        text = instructions.get("text") if isinstance(instructions, dict) else instructions
        if isinstance(text, str):
            raw = msgspec.json.encode(text)
            self._lead = (self.log.parts.intern(Dialect.OPENAI_RESPONSES, PartKind.SYSTEM, raw),)

    def _read_item(
        self, record: Record, kind: str, role: str | None, raw: bytes, time_ns: int | None
    ) -> None:
        by_the_model = kind in _BY_THE_MODEL or (kind == "message" and role == "assistant")
        if by_the_model and not self._answering:
            self._open_call(record)
        else:
            self.log.merged += 1
        self._answering = by_the_model
        if by_the_model:
            self._answer.append(raw)
            if self._call is not None:
                self._call.end_ns = time_ns
        self._items.append(self.log.parts.intern(Dialect.OPENAI_RESPONSES, PartKind.MESSAGE, raw))
        self._last_ns = time_ns or self._last_ns

    def _read_count(self, record: Record, payload: _Payload, time_ns: int | None) -> bool:
        """Give the open call its usage. False for a count without figures or one that repeats the last."""
        info = payload.info or {}
        usage = info.get("last_token_usage")
        if not isinstance(usage, dict) or info == self._counted:
            return False
        self._counted = info
        if self._call is None:
            call = self._open_call(record)
        else:
            call = self._call
            self.log.merged += 1
        call.usage = usage_of(usage)
        call.end_ns = time_ns or call.end_ns
        self._close_call()
        return True

    def _open_call(self, record: Record) -> Request:
        self._close_call()
        self._calls += 1
        self._call = Request(
            request_id=f"{self._identity.session or record.file}:{record.line}",
            file=record.file,
            line=record.line,
            dialect=Dialect.OPENAI_RESPONSES,
            parts=(*self._lead, *self._items),
            time_ns=self._last_ns,
            model=self._model,
            provider="openai",
            identity=self._identity,
            parameters=self._parameters,
        )
        self.log.requests.append(self._call)
        return self._call

    def _close_call(self) -> None:
        if self._call is not None and self._answer:
            raw = b"[" + b",".join(self._answer) + b"]"
            self._call.output = self.log.parts.intern(Dialect.OPENAI_RESPONSES, PartKind.RESPONSE, raw)
        self._call = None
        self._answer = []
        self._answering = False

    def _compact(self, payload: _Payload) -> None:
        """Start over from the history that the row names."""
        self._close_call()
        history = payload.replacement_history
        if history is None:
            self.log.note_incomplete(HISTORY_REWRITTEN)
            text = msgspec.json.encode(payload.message if isinstance(payload.message, str) else "")
            history = [
                msgspec.Raw(
                    b'{"type":"message","role":"user","content":[{"type":"input_text","text":' + text + b"}]}"
                )
            ]
        intern = self.log.parts.interner(Dialect.OPENAI_RESPONSES, PartKind.MESSAGE)
        self._items = [intern(bytes(item)) for item in history]
