"""Small logs written out as JSON lines, for tests about what differs between requests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analyzers.log_evidence import LogEvidence, log_evidence
from analyzers.logs import read_log
from analyzers.pipeline import TraceOptions, trace_log

RULES = " ".join(
    f"Rule {number}: keep answers short and name the shelf of part {number}." for number in range(60)
)
"""About a thousand tokens of text that stays the same."""

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def chat(
    messages: Sequence[Message], *, second: float, session: str | None = None, **body: Any
) -> dict[str, Any]:
    """One Chat Completions call at a second after nine o'clock."""
    row: dict[str, Any] = {
        "id": f"call at {second:g}",
        "timestamp": 1_790_000_000 + second,
        "request": {"model": "gpt-4.1", **body, "messages": list(messages)},
    }
    if session is not None:
        row["session"] = session
    return row


def evidence_of(folder: Path, rows: Sequence[dict[str, Any]]) -> LogEvidence:
    """The evidence of a log with these rows."""
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return log_evidence(trace_log(read_log([str(path)]), TraceOptions(answers=False)))
