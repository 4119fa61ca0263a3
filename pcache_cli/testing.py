"""For test suites: `assert_cache_stable` fails when prompts that should share a prefix do not.

from pcache_cli.testing import assert_cache_stable

def test_the_prompt_is_the_same_for_every_customer():
    assert_cache_stable(build_request(customer="Anna"), build_request(customer="Ben"))

def test_a_conversation_only_grows():
    assert_cache_stable(request_of(turns=3), request_of(turns=4))
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analyzers.templates.parts import Part, Text
from analyzers.templates.request_body import read_requests

Prompt = str | Sequence[Any] | dict[str, Any]
"""A whole prompt as text, a list of messages, or a request body (OpenAI, Anthropic, Gemini, Bedrock)."""


@dataclass(frozen=True)
class _Piece:
    path: str
    text: str
    newest: bool


def assert_cache_stable(first: Prompt, *others: Prompt, share: float | None = None) -> None:
    """Assert that each of the other prompts begins like the first, as a prefix cache needs it.

    Everything before the newest message of the first prompt must be the same in the others, in the order in
    which the provider renders it: tools, system, messages. For prompts that are plain text, and wherever `share`
    is given, the common beginning must make up this share of the first prompt's characters (0.9 unless given).
    Raises AssertionError that says where the first difference is, as JSON path and character, and what the
    difference leaves behind. Cache markers are not compared: they may move.
    """
    if not others:
        raise ValueError("give at least two prompts to compare")
    pieces = _pieces(first)
    wanted = sum(len(piece.text) for piece in pieces if not piece.newest)
    if share is not None or isinstance(first, str):
        wanted = int((0.9 if share is None else share) * sum(len(piece.text) for piece in pieces))
    for number, other in enumerate(others, 2):
        common, where = _common(pieces, _pieces(other))
        if common < wanted:
            raise AssertionError(
                f"prompt {number} leaves prompt 1 at {where}: {common:,} characters are the same from the start, "
                f"{wanted:,} were expected; {wanted - common:,} characters cannot be read from cache"
            )


def _common(first: list[_Piece], other: list[_Piece]) -> tuple[int, str]:
    """How many characters two prompts share from the start, and where they part."""
    common = 0
    for number, mine in enumerate(first):
        if number >= len(other):
            return common, f"{mine.path} (missing in the other)"
        theirs = other[number]
        if mine.path != theirs.path:
            return common, f"{mine.path} (there is {theirs.path} in the other)"
        if mine.text != theirs.text:
            pairs = zip(mine.text, theirs.text, strict=False)
            at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(mine.text), len(theirs.text)))
            return common + at, f"{mine.path}, character {at}"
        common += len(mine.text)
    return common, "its end"


def _pieces(prompt: Prompt) -> list[_Piece]:
    if isinstance(prompt, str):
        return [_Piece("the text", prompt, False)]
    body = prompt if isinstance(prompt, dict) else {"messages": list(prompt)}
    source = read_requests("prompt", json.dumps(body, ensure_ascii=False))
    if not source.prompts:
        raise ValueError("this is no prompt: give a text, a list of messages with roles, or a request body")
    parts = source.prompts[0].parts
    messages = [_message(part) for part in parts if part.place.section == "messages"]
    newest = messages[-1] if messages else None
    return [
        _Piece(
            part.place.path or "", part.text, part.place.section == "messages" and _message(part) == newest
        )
        for part in parts
        if isinstance(part, Text)
    ]


def _message(part: Part) -> str:
    """The message a part belongs to: `messages[3]`."""
    return (part.place.path or "").partition("]")[0]
