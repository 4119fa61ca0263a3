"""ATIF trajectories (Agent Trajectory Interchange Format): `{schema_version, session_id, agent, steps, final_metrics}`.

Each agent step is a call; its usage is the step's `metrics`, whose prompt tokens include the cached ones. Steps are
written out again as Chat messages. Field names as in versions 1.2 to 1.7, read from public trajectories of 2026.
"""

from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.conversation import Conversation
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import parse_time
from analyzers.request import Dialect, Identity, PartKind

NO_TOOLS = (
    "Some ATIF trajectories do not list their tools; those prompts are shorter than what was sent by them."
)
_EMPTY = msgspec.Raw(b'""')


class _ToolCall(msgspec.Struct):
    function_name: str = ""
    tool_call_id: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Result(msgspec.Struct):
    source_call_id: str | None = None
    content: msgspec.Raw = _EMPTY


class _Observation(msgspec.Struct):
    results: list[_Result] = []


class _Step(msgspec.Struct):
    source: str
    timestamp: str | None = None
    message: msgspec.Raw = _EMPTY
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_ToolCall] | None = None
    observation: _Observation | None = None
    metrics: dict[str, Any] | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None


class _Agent(msgspec.Struct):
    name: str | None = None
    version: str | None = None
    model_name: str | None = None
    tool_definitions: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Trajectory(msgspec.Struct):
    agent: _Agent
    steps: list[_Step]
    session_id: str | None = None
    subagent_trajectories: "list[_Trajectory] | None" = None


_TRAJECTORY = msgspec.json.Decoder(_Trajectory)


class Atif(Reader):
    name = "atif"
    title = "ATIF trajectory"
    carries = Carries(text="yes", tools="if the file lists them", usage="yes", times="yes")
    keys = ("schema_version", "session_id", "agent", "steps", "final_metrics")
    reach = "record"

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict) or not isinstance(record.get("steps"), list):
            return 0
        return 1 if str(record.get("schema_version", "")).startswith("ATIF") else 0.6 * ("agent" in record)

    def read(self, record: Record) -> None:
        calls = self._read(record, _TRAJECTORY.decode(record.raw), record.file.rsplit("/", 1)[-1])
        if not calls:
            raise NotThisFormatError("no agent step")
        self.log.records += calls - 1

    def _read(self, record: Record, run: _Trajectory, name: str) -> int:
        """Log the calls of a trajectory and of those it holds; how many they are."""
        inner = [(f"{name}/{number}", each) for number, each in enumerate(run.subagent_trajectories or [], 1)]
        calls = sum(self._read(record, each, inner_name) for inner_name, each in inner)
        lead = []
        if run.agent.tool_definitions is not msgspec.UNSET and bytes(run.agent.tool_definitions) != b"null":
            tools = bytes(run.agent.tool_definitions)
            lead.append(self.log.parts.intern(Dialect.OPENAI_CHAT, PartKind.TOOLS, tools))
        else:
            self.log.note_incomplete(NO_TOOLS)
        labels = (("client_version", run.agent.version),) if run.agent.version else ()
        identity = Identity(session=run.session_id or name, route=run.agent.name, labels=labels)
        conversation = Conversation(
            self.log, record, run.session_id or name, lead=lead, model=run.agent.model_name, identity=identity
        )
        last_ns = None
        for step in run.steps:
            time_ns = parse_time(step.timestamp)
            self._read_step(conversation, step, last_ns, time_ns)
            last_ns = time_ns or last_ns
        return calls + conversation.calls

    def _read_step(
        self, conversation: Conversation, step: _Step, last_ns: int | None, time_ns: int | None
    ) -> None:
        message = _message(step)
        if step.source != "agent" or step.is_copied_context or step.llm_call_count == 0:
            conversation.add(message)
        else:
            request = conversation.answer(message, model=step.model_name)
            # A step is stamped when it is written, after the answer; the prompt was complete one step before.
            request.time_ns = last_ns or time_ns
            request.end_ns = time_ns
            if step.metrics is not None:
                cost = step.metrics.get("cost_usd")
                request.usage = usage_of(step.metrics | ({} if cost is None else {"cost": cost}))
        for result in step.observation.results if step.observation is not None else []:
            call_id = msgspec.json.encode(result.source_call_id)
            role = b'{"role":"tool","tool_call_id":' + call_id if result.source_call_id else b'{"role":"user"'
            conversation.add(role + b',"content":' + bytes(result.content) + b"}")


def _message(step: _Step) -> bytes:
    """The step as a Chat message."""
    role = {"agent": "assistant", "system": "system"}.get(step.source, "user")
    fields = [b'"role":"' + role.encode() + b'"', b'"content":' + bytes(step.message)]
    if step.reasoning_content:
        fields.append(b'"reasoning_content":' + msgspec.json.encode(step.reasoning_content))
    if step.tool_calls:
        calls = [
            {
                "id": call.tool_call_id,
                "type": "function",
                "function": {"name": call.function_name, "arguments": bytes(call.arguments).decode()},
            }
            for call in step.tool_calls
        ]
        fields.append(b'"tool_calls":' + msgspec.json.encode(calls))
    return b"{" + b",".join(fields) + b"}"
