"""inspect_ai logs: a whole log as JSON, or the samples of an `.eval` archive. Each model event of a sample is a call.

Where the event kept the provider's own request (`call.request`) that is read, else the event's `input` is written out
as Chat messages. Long strings stand as `attachment://<hash>` and lie in the sample's `attachments`. Newer logs pool
messages: `input_refs` are ranges into `events_data.messages`. Field names: inspect_ai log files, read 2025 and 2026.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.prompt_values import Prompt, PromptValues
from analyzers.logs.reader import NOT_A_CALL, Carries, NotThisFormatError, Reader, Record
from analyzers.logs.span_calls import tool_call
from analyzers.logs.timestamps import read_time
from analyzers.request import Dialect, Identity, Log, Part, Request

_ATTACHMENT = re.compile(rb'"attachment://([0-9a-f]+)"')


class _Call(msgspec.Struct):
    request: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    response: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Output(msgspec.Struct):
    choices: list[dict[str, msgspec.Raw]] = []
    usage: dict[str, Any] | None = None


class _Event(msgspec.Struct):
    event: str = ""
    uuid: str | None = None
    timestamp: Any = None
    completed: Any = None
    model: str | None = None
    role: str | None = None
    cache: str | None = None
    input: list[msgspec.Raw] = []
    input_refs: list[tuple[int, int]] | None = None
    tools: list[dict[str, Any]] = []
    output: _Output | None = None
    call: _Call | None = None


class _ToolCall(msgspec.Struct):
    id: str | None = None
    function: str | None = None
    arguments: Any = None


class _Message(msgspec.Struct):
    role: str
    content: Any = ""
    function: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Pool(msgspec.Struct):
    messages: list[msgspec.Raw] = []


class _Sample(msgspec.Struct):
    events: list[msgspec.Raw] = []
    id: int | str = ""
    epoch: int = 1
    attachments: dict[str, str] = {}
    events_data: _Pool | None = None


class _Log(msgspec.Struct):
    samples: list[_Sample] | None = None
    events: list[msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET


_LOG = msgspec.json.Decoder(_Log)
_SAMPLE = msgspec.json.Decoder(_Sample)
_MESSAGE = msgspec.json.Decoder(_Message)
_EVENT = msgspec.json.Decoder(_Event)


class InspectAI(Reader):
    name = "inspect-ai"
    title = "inspect_ai log"
    carries = Carries(text="yes", tools="yes", usage="yes", times="yes")
    keys = ("version", "status", "eval", "plan", "results", "stats", "samples")
    reach = "record"

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        super().__init__(log, mapping)
        self._values = PromptValues(log.parts)

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        if isinstance(record.get("eval"), dict) and "status" in record:
            return 1
        return float(isinstance(record.get("events"), list) and {"epoch", "attachments"} <= record.keys())

    def read(self, record: Record) -> None:
        whole = _LOG.decode(record.raw)
        is_sample = whole.events is not msgspec.UNSET
        samples = [_SAMPLE.decode(record.raw)] if is_sample else whole.samples or []
        events = [(sample, _EVENT.decode(raw)) for sample in samples for raw in sample.events]
        calls = [(sample, event) for sample, event in events if event.event == "model"]
        if not calls:
            self.log.skip(record.file, record.line, NOT_A_CALL)
            return
        self.log.records += len(calls) - 1
        known: dict[bytes, bytes] = {}
        for number, (sample, event) in enumerate(calls, 1):
            try:
                self._read_event(record, sample, event, number, known)
            except NotThisFormatError as error:
                self.log.skip(record.file, record.line, error.reason, error.detail)
            except msgspec.DecodeError as error:
                self.log.skip(record.file, record.line, "unexpected shape", str(error))

    def _read_event(
        self, record: Record, sample: _Sample, event: _Event, number: int, known: dict[bytes, bytes]
    ) -> None:
        if event.cache == "read":
            self.log.skip(record.file, record.line, NOT_A_CALL, "answered from inspect_ai's own cache")
            return
        provider, _, model = (event.model or "").rpartition("/")
        prompt = self._prompt(sample, event, provider, known)
        self.log.requests.append(
            Request(
                request_id=event.uuid or f"sample {sample.id} epoch {sample.epoch}/{number}",
                file=record.file,
                line=record.line,
                dialect=prompt.dialect,
                parts=prompt.parts,
                time_ns=read_time(event.timestamp, self.log),
                end_ns=read_time(event.completed, self.log),
                model=model or None,
                provider=provider or None,
                identity=Identity(session=f"sample {sample.id} epoch {sample.epoch}", route=event.role),
                parameters=prompt.parameters,
                output=self._answer(sample, event, prompt.dialect),
                usage=None
                if event.output is None or not event.output.usage
                else usage_of(event.output.usage),
            )
        )

    def _prompt(self, sample: _Sample, event: _Event, provider: str, known: dict[bytes, bytes]) -> Prompt:
        request = event.call.request if event.call is not None else msgspec.UNSET
        if request is not msgspec.UNSET and bytes(request) not in (b"null", b"{}"):
            return self._values.prompt(_whole(bytes(request), sample.attachments), provider=provider)
        pool = sample.events_data.messages if sample.events_data is not None else []
        messages = list(event.input)
        for start, end in event.input_refs or []:
            messages += pool[start:end]
        if not messages:
            raise NotThisFormatError("no prompt", "the event has neither a request nor messages")
        chat = [_chat_message(bytes(message), sample, known) for message in messages]
        tools = msgspec.json.encode([{"type": "function", "function": tool} for tool in event.tools])
        return self._values.prompt(b"[" + b",".join(chat) + b"]", tools if event.tools else None)

    def _answer(self, sample: _Sample, event: _Event, dialect: Dialect) -> Part | None:
        response = event.call.response if event.call is not None else msgspec.UNSET
        if response is not msgspec.UNSET and bytes(response) != b"null":
            return self._values.answer(dialect, _whole(bytes(response), sample.attachments))
        choices = event.output.choices if event.output is not None else []
        if not choices or "message" not in choices[0] or dialect is not Dialect.OPENAI_CHAT:
            return None
        return self._values.answer(dialect, _chat_message(bytes(choices[0]["message"]), sample, {}))


def _whole(raw: bytes, attachments: Mapping[str, str]) -> bytes:
    """JSON with its attachments put back in place."""

    def replace(match: re.Match[bytes]) -> bytes:
        text = attachments.get(match[1].decode())
        return match[0] if text is None else msgspec.json.encode(text)

    return _ATTACHMENT.sub(replace, raw)


def _chat_message(raw: bytes, sample: _Sample, known: dict[bytes, bytes]) -> bytes:
    """A message of inspect_ai, whose tool calls hold their function's name and arguments flat, as a Chat message."""
    made = known.get(raw)
    if made is None:
        message = _MESSAGE.decode(_whole(raw, sample.attachments))
        fields = {
            "role": message.role,
            "content": message.content,
            "name": message.function if message.role == "tool" else None,
            "tool_call_id": message.tool_call_id,
            "tool_calls": [
                tool_call(call.id, call.function, call.arguments) for call in message.tool_calls or []
            ],
        }
        kept = {name: value for name, value in fields.items() if value is not None and value != []}
        made = known[raw] = msgspec.json.encode(kept)
    return made
