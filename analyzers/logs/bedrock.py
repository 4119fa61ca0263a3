"""Bedrock Converse."""

from typing import Any

from analyzers.logs.calls import CallReader, score_of
from analyzers.logs.reader import Carries
from analyzers.request import Dialect


class BedrockConverse(CallReader):
    """Converse bodies, and InvokeModel bodies of the models that take the same shape (Nova)."""

    name = "bedrock-converse"
    title = "Bedrock Converse"
    carries = Carries(text="yes", tools="yes", usage="with the response", times="where the row has them")
    keys = ("id", "timestamp", "request", "response", "modelId", "system", "messages", "toolConfig")
    dialect = Dialect.BEDROCK

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return score_of(record, Dialect.BEDROCK)
