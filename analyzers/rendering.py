"""From the parts of a request to the text a model reads, cut into segments that tokenize on their own.

Special tokens split text before any other step of a tokenizer, so a segment between two special tokens has the
same ids wherever it stands. A part is rendered once and its rendering kept, however often it is sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from analyzers.request import Request


@dataclass(slots=True, frozen=True, eq=False)
class Segment:
    """A run of rendered prompt that tokenizes on its own. Interned: same text and kind are one object.

    `special` marks the text of one special token (`<|im_start|>`); it is looked up, not encoded.
    """

    number: int
    text: str
    special: bool


@dataclass(slots=True, frozen=True)
class BlockEnd:
    """A content block ends after the first `segments` segments of a rendered part.

    `path` is relative to the part's path in the body ("" for the part itself, "[2]", ".content[0]").
    `marker_ttl_s` is set where a cache marker stands on the block: its lifetime in seconds, -1 where the
    marker names none.
    """

    segments: int
    path: str
    marker_ttl_s: int | None = None


@dataclass(slots=True, frozen=True, eq=False)
class RenderedPart:
    """The rendering of one part (or, for chat templates, of one stretch of the prompt). Interned by content.

    `segments` in order; `paths[i]` is the JSON path of segment i relative to the part, None for text the
    rendering adds. `block_ends` ascend.
    """

    number: int
    segments: tuple[Segment, ...]
    paths: tuple[str | None, ...]
    block_ends: tuple[BlockEnd, ...]


class Rendering(Protocol):
    """How requests become text. `description` states the order and format assumed, for the report."""

    description: str

    def render(self, request: Request) -> Sequence[RenderedPart]:
        """The whole prompt in order. Interned: content met before gives the same RenderedPart object.

        This is called for every request of a log: a part met before must cost one look-up and nothing else.
        """
        ...

    def paths(self, request: Request) -> Sequence[str]:
        """The JSON path in the body of each part that `render` gives, "" for text the rendering adds."""
        ...
