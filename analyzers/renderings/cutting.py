"""Cutting rendered text into segments, as far as the tokenizer allows."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzers.rendering import Segment
from analyzers.renderings.writing import SegmentStore
from analyzers.tokenizers.added_tokens import Memoisation

if TYPE_CHECKING:
    from analyzers.tokenization import Tokenizer


_LINE_START = re.compile(r"(?<=\n)(?=[A-Za-z])")
_SHORTEST = 2_000
"""Characters between two cuts inside text: the ids of a prompt that repeats another's start are shared in such
pieces, and each piece costs an object."""


def cut(text: str, store: SegmentStore, tokenizer: "Tokenizer | None") -> list[Segment]:
    """Segments whose ids, one behind the other, are the ids of the whole text with its special tokens recognised.

    Without a tokenizer nothing is known to be special, and the text is one segment.
    """
    if not text:
        return []
    if tokenizer is None:
        return [store.plain(text)]
    if tokenizer.memoisation is Memoisation.WHOLE:
        return [store.whole(text)]
    segments: list[Segment] = []
    for piece, special in tokenizer.split(text):
        if special:
            segments.append(store.special(piece))
        elif tokenizer.cuts_at_lines:
            segments += map(store.plain, between_lines(piece))
        else:
            segments.append(store.plain(piece))
    if tokenizer.memoisation is Memoisation.BEHIND_SENTINEL and not segments[0].special:
        segments[0] = store.whole(segments[0].text)
    return segments


def stretches(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Runs that each end with text, so that prompts which begin alike share what they begin with."""
    run: list[Segment] = []
    for segment in segments:
        run.append(segment)
        if not segment.special:
            yield run
            run = []
    if run:
        yield run


def between_lines(text: str, shortest: int = _SHORTEST) -> Iterator[str]:
    """Text cut where a line starts with a letter, in pieces of at least `shortest` characters but for the last.

    Each cut depends only on what stands before it, so texts that begin alike are cut alike.
    """
    start = 0
    while match := _LINE_START.search(text, start + shortest):
        yield text[start : match.start()]
        start = match.start()
    yield text[start:]
