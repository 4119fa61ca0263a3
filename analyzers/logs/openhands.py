"""OpenHands trajectories: events `{id, timestamp, source, action | observation, args | content, ...}` in a list.

Each distinct `tool_call_metadata.model_response` is one call, whichever events repeat it, and so is a plain message
by the agent. The prompt is rebuilt as Chat messages from the events before it. As read from public trajectories
of 2025 (the event stream of versions 0.x); `output.jsonl` rows of the evaluation harness hold such a list too.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.conversation import Conversation
from analyzers.logs.reader import NOT_A_CALL, Carries, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import parse_time
from analyzers.request import Dialect, Identity, Log, Part, PartKind

REBUILT = (
    "OpenHands prompts are rebuilt from events: what the agent adds while it builds a prompt (workspace hints, "
    "condensed history) is not in the file, so real prompts can differ."
)


class _Choice(msgspec.Struct):
    message: msgspec.Raw


class _Response(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] = []
    usage: dict[str, Any] | None = None


class _CallData(msgspec.Struct):
    tool_call_id: str | None = None
    function_name: str | None = None
    model_response: _Response | None = None


class _Args(msgspec.Struct):
    content: str | None = None
    tools: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Event(msgspec.Struct):
    id: int | None = None
    timestamp: str | None = None
    source: str | None = None
    action: str | None = None
    observation: str | None = None
    content: str | None = None
    message: Any = None
    args: _Args | None = None
    tool_call_metadata: _CallData | None = None


class _Run(msgspec.Struct):
    history: list[msgspec.Raw]
    instance_id: str | None = None


_EVENT = msgspec.json.Decoder(_Event)
_RUN = msgspec.json.Decoder(_Run)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class OpenHands(Reader):
    name = "openhands"
    title = "OpenHands trajectory"
    carries = Carries(text="yes", tools="yes", usage="yes", times="yes")
    keys = ("id", "timestamp", "source", "message", "action", "observation", "args", "tool_call_metadata")
    reach = "file"

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        super().__init__(log, mapping)
        self._open: _Session | None = None

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        if isinstance(record.get("history"), list) and "instance_id" in record:
            events = [event for event in record["history"][:4] if isinstance(event, dict)]
            return float(bool(events) and all("source" in event for event in events))
        acts = "action" in record or "observation" in record
        return 0.95 if acts and "source" in record and ("args" in record or "extras" in record) else 0

    def read(self, record: Record) -> None:
        if b'"history"' in record.raw:
            self._read_run(record)
            return
        if self._open is None or self._open.file != record.file:
            self._open = _Session(self.log, record.file)
        self._read_event(record, self._open)

    def end_of_file(self) -> None:
        self._open = None

    def _read_run(self, record: Record) -> None:
        """A row that holds a whole trajectory: its events count as records, its own row as the first of them."""
        run = _RUN.decode(record.raw)
        events = [_EVENT.decode(raw) for raw in run.history]
        if not events:
            raise NotThisFormatError("no events")
        session = _Session(self.log, run.instance_id or f"{record.file}:{record.line}")
        for number, event in enumerate(events):
            self.log.records += number > 0
            session.read(record, event)

    def _read_event(self, record: Record, session: "_Session") -> None:
        event = _EVENT.decode(record.raw)
        if event.source is None:
            raise NotThisFormatError("no event")
        session.read(record, event)


class _Session:
    """One run of the agent: what was sent so far, and which responses were seen."""

    def __init__(self, log: Log, name: str) -> None:
        self.file = name
        self._log = log
        self._name = name.rsplit("/", 1)[-1]
        self._seen: set[str] = set()
        self._conversation: Conversation | None = None
        self._tools: tuple[Part, ...] = ()
        self._last_ns: int | None = None

    def read(self, record: Record, event: _Event) -> None:
        time_ns = parse_time(event.timestamp)
        calls = len(self._log.requests)
        taken = self._take(record, event, time_ns)
        self._last_ns = time_ns or self._last_ns
        if len(self._log.requests) > calls:
            return
        if taken:
            self._log.merged += 1
        else:
            self._log.skip(record.file, record.line, NOT_A_CALL)

    def _take(self, record: Record, event: _Event, time_ns: int | None) -> bool:
        """Put what the event says into the conversation. False if it says nothing that is sent."""
        data = event.tool_call_metadata
        content = event.args.content if event.args is not None else None
        if data is not None:
            response = data.model_response
            if response is not None and response.choices and (response.id or "") not in self._seen:
                self._seen.add(response.id or "")
                self._answer(record, _without_nulls(response.choices[0].message), response, time_ns)
            if event.observation is not None and event.content is not None:
                self._messages(record).add(_tool_result(data, event.content))
            return True
        if content is None or event.action not in ("system", "message"):
            return False
        if event.action == "system":
            self._keep_tools(event)
        role = "system" if event.action == "system" else "assistant" if event.source == "agent" else "user"
        raw = msgspec.json.encode({"role": role, "content": content})
        if role == "assistant":
            self._answer(record, raw, _Response(), time_ns)
        else:
            self._messages(record).add(raw)
        return True

    def _messages(self, record: Record) -> Conversation:
        if self._conversation is None:
            self._conversation = Conversation(
                self._log, record, self._name, lead=self._tools, identity=Identity(session=self._name)
            )
        return self._conversation

    def _keep_tools(self, event: _Event) -> None:
        tools = event.args.tools if event.args is not None else msgspec.UNSET
        if tools is not msgspec.UNSET and memoryview(tools)[0] == ord("["):
            self._tools = (self._log.parts.intern(Dialect.OPENAI_CHAT, PartKind.TOOLS, bytes(tools)),)

    def _answer(self, record: Record, raw: bytes, response: _Response, time_ns: int | None) -> None:
        self._log.note_incomplete(REBUILT)
        request = self._messages(record).answer(raw, model=response.model)
        request.line = record.line
        request.time_ns = self._last_ns or time_ns
        request.end_ns = time_ns
        if response.usage is not None:
            request.usage = usage_of(response.usage)


def _tool_result(data: _CallData, content: str) -> bytes:
    message = {"role": "tool", "tool_call_id": data.tool_call_id, "name": data.function_name}
    return msgspec.json.encode(message | {"content": content})


def _without_nulls(message: msgspec.Raw) -> bytes:
    """The answer without its empty fields, which are not sent back; an empty content is."""
    fields = _FIELDS.decode(message).items()
    kept = [
        b'"%b":%b' % (name.encode(), bytes(value))
        for name, value in fields
        if bytes(value) != b"null" or name == "content"
    ]
    return b"{" + b",".join(kept) + b"}"
