"""OpenAI Responses."""

from typing import Any

from analyzers.logs.calls import CallReader, score_of
from analyzers.logs.reader import Carries
from analyzers.request import Dialect


class OpenAIResponses(CallReader):
    """Bodies with `input`, bare or as `{request, response}`; a stored conversation is said to be missing."""

    name = "openai-responses"
    title = "OpenAI Responses"
    carries = Carries(text="yes", tools="yes", usage="with the response", times="where the row has them")
    keys = ("id", "timestamp", "request", "response", "model", "input", "instructions", "tools")
    dialect = Dialect.OPENAI_RESPONSES

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return score_of(record, Dialect.OPENAI_RESPONSES)
