"""OpenAI Chat Completions, and the many servers that speak it."""

from typing import Any

from analyzers.logs.calls import CallReader, score_of
from analyzers.logs.reader import Carries
from analyzers.request import Dialect


class OpenAIChat(CallReader):
    """Bodies with `messages`, bare or as `{request, response}`; schema and tools come before the messages."""

    name = "openai-chat"
    title = "OpenAI Chat Completions (also vLLM, SGLang, DeepSeek, OpenRouter ...)"
    carries = Carries(text="yes", tools="yes", usage="with the response", times="where the row has them")
    keys = ("id", "timestamp", "request", "response", "model", "messages", "tools", "usage")
    dialect = Dialect.OPENAI_CHAT

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return score_of(record, Dialect.OPENAI_CHAT)
