"""The added tokens of a tokenizer.json: how they split text, and when they make splitting inexact.

A tokenizer takes its added tokens out of the text before it normalises and splits the rest; what stands between
two of them is then encoded on its own. So a prompt may be cut at added tokens and each piece encoded once, unless
a token eats or looks at its neighbours (lstrip, rstrip, single_word), or the first piece of a text is treated in
a way of its own (Metaspace with prepend_scheme "first"). Source: the behaviour of Hugging Face tokenizers 0.23,
checked by encoding both ways (November 2026).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Memoisation(StrEnum):
    """What may be encoded once and reused."""

    EXACT = "exact"
    """Every piece between two special tokens."""
    BEHIND_SENTINEL = "behind-sentinel"
    """Every piece, encoded behind a special token; the start of a prompt differs and is encoded as one."""
    WHOLE = "whole"
    """Nothing below a whole prompt."""


@dataclass(frozen=True)
class AddedToken:
    """One entry of `added_tokens`."""

    content: str
    id: int
    special: bool
    normalized: bool
    lstrip: bool
    rstrip: bool
    single_word: bool


def read_added_tokens(definition: dict[str, Any]) -> list[AddedToken]:
    """The added tokens of a decoded tokenizer.json, in its order."""
    return [
        AddedToken(
            entry["content"],
            entry["id"],
            entry.get("special", False),
            entry.get("normalized", True),
            entry.get("lstrip", False),
            entry.get("rstrip", False),
            entry.get("single_word", False),
        )
        for entry in definition.get("added_tokens") or []
    ]


class SpecialSplitter:
    """Cuts text at special tokens: at each place the longest that matches, left to right, in up to two passes.

    Tokens that are not normalised are taken out first, the others from what remains.
    """

    def __init__(self, passes: Sequence[Sequence[str]]) -> None:
        self._patterns = [
            re.compile("|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True)))
            for tokens in passes
            if tokens
        ]

    def split(self, text: str) -> list[tuple[str, bool]]:
        """(piece, is it a special token) in order; no piece is empty."""
        pieces = [(text, False)] if text else []
        for pattern in self._patterns:
            pieces = [cut for piece in pieces for cut in _cut(pattern, piece)]
        return pieces


def _cut(pattern: re.Pattern[str], piece: tuple[str, bool]) -> Iterator[tuple[str, bool]]:
    text, special = piece
    if special:
        yield piece
        return
    end = 0
    for match in pattern.finditer(text):
        if match.start() > end:
            yield text[end : match.start()], False
        yield match.group(), True
        end = match.end()
    if end < len(text):
        yield text[end:], False


def splitter_of(definition: dict[str, Any]) -> SpecialSplitter:
    """The splitter of a tokenizer.json. Tokens that are searched for in normalised text are left to the engine,
    unless there is no normaliser."""
    tokens = [token for token in read_added_tokens(definition) if token.content]
    first = [token.content for token in tokens if not token.normalized]
    if not _flat(definition.get("normalizer"), "normalizers"):
        return SpecialSplitter([first, [token.content for token in tokens if token.normalized]])
    return SpecialSplitter([first])


def memoisation_of(definition: dict[str, Any]) -> tuple[Memoisation, str | None]:
    """How far a tokenizer.json allows to encode pieces once, and why not further (None for exact)."""
    for token in read_added_tokens(definition):
        flags = [name for name in ("lstrip", "rstrip", "single_word") if getattr(token, name)]
        if flags:
            return (
                Memoisation.WHOLE,
                f"its token {token.content!r} is {' and '.join(flags)}, so what stands beside it counts",
            )
    if _flat(definition.get("normalizer"), "normalizers"):
        for token in read_added_tokens(definition):
            if token.special and token.normalized:
                return Memoisation.WHOLE, f"its token {token.content!r} is searched for in normalised text"
    steps = _flat(definition.get("pre_tokenizer"), "pretokenizers")
    if any(step.get("type") == "Metaspace" and step.get("prepend_scheme") == "first" for step in steps):
        return Memoisation.BEHIND_SENTINEL, "it treats the start of a prompt apart (Metaspace, first)"
    return Memoisation.EXACT, None


def is_byte_level(definition: dict[str, Any]) -> bool:
    """Whether every id stands for bytes of the text itself: byte-level, with no prefix added to it."""
    steps = _flat(definition.get("pre_tokenizer"), "pretokenizers")
    return any(step.get("type") == "ByteLevel" and not step.get("add_prefix_space", True) for step in steps)


def _flat(step: dict[str, Any] | None, members: str) -> list[dict[str, Any]]:
    if step is None:
        return []
    if step.get("type") == "Sequence":
        return [inner for member in step[members] for inner in _flat(member, members)]
    return [step]
