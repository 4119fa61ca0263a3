"""Anthropic Messages, and the traces of claude-trace."""

from typing import Any

from analyzers.logs.calls import CallReader, score_of
from analyzers.logs.reader import Carries
from analyzers.request import Dialect


class Anthropic(CallReader):
    """Bodies with `system` and `messages`, bare, as `{request, response}`, or as claude-trace's HTTP pairs."""

    name = "anthropic"
    title = "Anthropic Messages (also claude-trace, Bedrock InvokeModel)"
    carries = Carries(text="yes", tools="yes", usage="with the response", times="where the row has them")
    keys = ("id", "timestamp", "request", "response", "model", "system", "messages", "tools", "max_tokens")
    dialect = Dialect.ANTHROPIC

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return score_of(record, Dialect.ANTHROPIC)
