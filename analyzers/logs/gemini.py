"""Gemini generateContent, on the Gemini API and on Vertex."""

from typing import Any

from analyzers.logs.calls import CallReader, score_of
from analyzers.logs.reader import Carries
from analyzers.request import Dialect


class Gemini(CallReader):
    """Bodies with `contents`, bare or as `{request, response}`."""

    name = "gemini"
    title = "Gemini generateContent"
    carries = Carries(text="yes", tools="yes", usage="with the response", times="where the row has them")
    keys = ("id", "timestamp", "request", "response", "model", "contents", "systemInstruction", "tools")
    dialect = Dialect.GEMINI

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return score_of(record, Dialect.GEMINI)
