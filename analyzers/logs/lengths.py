"""Traces of lengths alone (Azure's CSV, aibrix without prompts): recognised to say why they cannot answer."""

from typing import Any

from analyzers.errors import CannotEvaluateError
from analyzers.logs.aibrix import LENGTHS_ALONE, NO_CONTENT
from analyzers.logs.hash_trace import ID_NAMES
from analyzers.logs.reader import Carries, Reader, Record

_KEYS = (
    {"ContextTokens", "GeneratedTokens"},
    {"Request tokens", "Response tokens"},
    {"num_prefill_tokens", "num_decode_tokens"},
    {"input_length", "output_length"},
    {"input_tokens", "output_tokens"},
    {"prompt_len", "output_len"},
)


class LengthsOnly(Reader):
    name = "lengths"
    title = "Lengths only (Azure LLM trace)"
    carries = Carries(text="no", tools="no", usage="lengths", times="yes")
    keys = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
    reach = "record"

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        if not record.keys().isdisjoint(ID_NAMES):
            return 0
        return 0.3 if any(keys <= record.keys() for keys in _KEYS) else 0

    def read(self, record: Record) -> None:
        self.log.skip(record.file, record.line, NO_CONTENT)

    def end_of_input(self) -> None:
        if not self.log.requests:
            raise CannotEvaluateError(LENGTHS_ALONE)
