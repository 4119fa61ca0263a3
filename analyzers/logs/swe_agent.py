"""SWE-agent trajectories (.traj): each answer of `history` is a call, and each step where `query` says what was sent.

Messages carry bookkeeping beside what is sent (`agent`, `thought`, `action`, `message_type` ...); only the fields
of a Chat message are kept, in their order. Field names as read from public trajectories of versions 0.7 to 1.1.
"""

from typing import Any

import msgspec

from analyzers.logs.conversation import Conversation
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record
from analyzers.request import Dialect, Identity, Part, PartKind, Request

HISTORY_AS_STORED = (
    "SWE-agent trajectories store the full history; where a history processor shortened it before sending, "
    "the real prompts were shorter. Tools are not in the file."
)
_SENT = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call")


class _Message(msgspec.Struct):
    role: str
    agent: str = ""
    is_demo: bool = False


class _Step(msgspec.Struct):
    query: list[msgspec.Raw] | None = None
    response: str | None = None


class _Trajectory(msgspec.Struct):
    history: list[msgspec.Raw]
    trajectory: list[_Step] = []
    environment: str | None = None


_TRAJECTORY = msgspec.json.Decoder(_Trajectory)
_MESSAGE = msgspec.json.Decoder(_Message)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_IDS = msgspec.json.Decoder(list[msgspec.Raw])


class SweAgent(Reader):
    name = "swe-agent"
    title = "SWE-agent trajectory"
    carries = Carries(text="yes", tools="calls and results, no definitions", usage="no", times="no")
    keys = ("environment", "trajectory", "history", "info", "replay_config")
    reach = "record"

    @staticmethod
    def matches(record: Any) -> float:
        return float(
            isinstance(record, dict)
            and isinstance(record.get("trajectory"), list)
            and isinstance(record.get("history"), list)
        )

    def read(self, record: Record) -> None:
        run = _TRAJECTORY.decode(record.raw)
        history = [(_MESSAGE.decode(raw), _sent(raw)) for raw in run.history]
        name = record.file.rsplit("/", 1)[-1].removesuffix(".traj")
        queries = [step for step in run.trajectory if step.query]
        if queries:
            self._read_queries(record, name, queries)
            return
        conversations: dict[str, Conversation] = {}
        for message, raw in history:
            conversation = conversations.get(message.agent)
            if conversation is None:
                identity = Identity(session=name, route=message.agent or None)
                conversation = Conversation(self.log, record, f"{name}/{message.agent}", identity=identity)
                conversations[message.agent] = conversation
            if message.role == "assistant" and not message.is_demo:
                conversation.answer(raw)
            else:
                conversation.add(raw)
        calls = sum(conversation.calls for conversation in conversations.values())
        if not calls:
            raise NotThisFormatError("no answer in the trajectory")
        self.log.records += calls - 1
        self.log.note(HISTORY_AS_STORED)

    def _read_queries(self, record: Record, name: str, steps: list[_Step]) -> None:
        """Every step tells what was sent: take it as it is."""
        intern = self.log.parts.interner(Dialect.OPENAI_CHAT, PartKind.MESSAGE)
        known: dict[bytes, Part] = {}
        for number, step in enumerate(steps, 1):
            parts = []
            for message in map(bytes, step.query or []):
                part = known.get(message)
                if part is None:
                    part = known[message] = intern(_sent(message))
                parts.append(part)
            answer = msgspec.json.encode({"role": "assistant", "content": step.response or ""})
            self.log.requests.append(
                Request(
                    request_id=f"{name}/{number}",
                    file=record.file,
                    line=record.line,
                    dialect=Dialect.OPENAI_CHAT,
                    parts=tuple(parts),
                    identity=Identity(session=name),
                    output=self.log.parts.intern(Dialect.OPENAI_CHAT, PartKind.RESPONSE, answer),
                )
            )
        self.log.records += len(steps) - 1


def _sent(raw: bytes | msgspec.Raw) -> bytes:
    """The message without its bookkeeping; `tool_call_ids` is sent as the id of the one call it answers."""
    kept = []
    for name, value in _FIELDS.decode(raw).items():
        if name == "tool_call_ids" and bytes(value) != b"null":
            ids = _IDS.decode(value)
            if ids:
                kept.append(b'"tool_call_id":' + bytes(ids[0]))
        elif name in _SENT and not (name == "tool_calls" and bytes(value) == b"null"):
            kept.append(b'"' + name.encode() + b'":' + bytes(value))
    return b"{" + b",".join(kept) + b"}"
