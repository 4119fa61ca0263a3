"""Cutting rendered text into segments, as far as the tokenizer allows."""

from typing import TYPE_CHECKING

from analyzers.rendering import Segment
from analyzers.renderings.writing import SegmentStore
from analyzers.tokenizers.added_tokens import Memoisation

if TYPE_CHECKING:
    from analyzers.tokenization import Tokenizer


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
    segments = [
        store.special(piece) if special else store.plain(piece) for piece, special in tokenizer.split(text)
    ]
    if tokenizer.memoisation is Memoisation.BEHIND_SENTINEL and not segments[0].special:
        segments[0] = store.whole(segments[0].text)
    return segments
