"""tau-bench results: a list of `{task_id, trial, reward, info, traj}`, whose `traj` holds Chat messages."""

from typing import Any

import msgspec

from analyzers.logs.conversation import Conversation
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record

TOOLS_MISSING = "tau-bench results do not hold the tools; prompts are shorter by them than what was sent."


class _Run(msgspec.Struct):
    traj: list[msgspec.Raw]
    task_id: int | str = ""
    trial: int | str = ""


class _Message(msgspec.Struct):
    role: str


_RUN = msgspec.json.Decoder(_Run)
_MESSAGE = msgspec.json.Decoder(_Message)


class TauBench(Reader):
    name = "tau-bench"
    title = "tau-bench results"
    carries = Carries(text="yes", tools="calls and results, no definitions", usage="no", times="no")
    keys = ("task_id", "trial", "reward", "info", "traj")
    reach = "record"

    @staticmethod
    def matches(record: Any) -> float:
        return float(
            isinstance(record, dict) and isinstance(record.get("traj"), list) and "task_id" in record
        )

    def read(self, record: Record) -> None:
        run = _RUN.decode(record.raw)
        messages = [(_MESSAGE.decode(raw).role, bytes(raw)) for raw in run.traj]
        conversation = Conversation(self.log, record, f"task {run.task_id} trial {run.trial}")
        for role, raw in messages:
            if role == "assistant":
                conversation.answer(raw)
            else:
                conversation.add(raw)
        if not conversation.calls:
            raise NotThisFormatError("no answer in the trajectory")
        self.log.records += conversation.calls - 1
        self.log.note_incomplete(TOOLS_MISSING)
