"""From the parts of a request to the text a model reads, cut into segments that tokenize on their own.

Special tokens split text before any other step of a tokenizer, so a segment between two special tokens has the
same ids wherever it stands. A part is rendered once and its rendering kept, however often it is sent.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import msgspec

from analyzers.request import Request

if TYPE_CHECKING:
    from analyzers.tokenization import Tokenizer


@dataclass(slots=True, frozen=True, eq=False)
class Segment:
    """A run of rendered prompt that tokenizes on its own. Interned: same text and kind are one object.

    `special` marks one special token (`<|im_start|>`), which is looked up, not encoded; `repeat` is above 1 for
    the placeholder of an image, a file or other data that stands for that many tokens. `whole` marks text that
    is encoded as a whole prompt from its start on, with the special tokens it spells recognised.
    """

    number: int
    text: str
    special: bool
    repeat: int = 1
    whole: bool = False


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
    rendering adds. `block_ends` ascend. `estimated_tokens` of its tokens are estimates (images, files, opaque
    data), not counts.
    """

    number: int
    segments: tuple[Segment, ...]
    paths: tuple[str | None, ...]
    block_ends: tuple[BlockEnd, ...]
    estimated_tokens: int = 0


@dataclass
class RenderingAccount:
    """What a rendering had to estimate or give up, by 128-bit digests of content so that accounts can be added up.

    `estimated`: tokens counted by estimate, by rendered part; `noted`: the prompts that each note is about.
    """

    estimated: dict[bytes, int] = field(default_factory=dict)
    noted: dict[str, set[bytes]] = field(default_factory=dict)

    def add(self, other: "RenderingAccount") -> None:
        """Take in what another rendering tells; content that both met counts once."""
        self.estimated.update(other.estimated)
        for note, prompts in other.noted.items():
            self.noted.setdefault(note, set()).update(prompts)

    def notes(self) -> list[str]:
        """What a reader of the figures must know."""
        notes = [
            f"{note} ({len(prompts)} prompt{'' if len(prompts) == 1 else 's'})"
            for note, prompts in sorted(self.noted.items())
        ]
        if self.estimated:
            notes.insert(
                0,
                f"{len(self.estimated)} distinct parts hold images, files or encrypted data, which count "
                f"as {sum(self.estimated.values()):,} tokens by estimate",
            )
        return notes


def content_digest(content: object) -> bytes:
    """128 bits that tell one content (nested tuples of plain values) from another."""
    return hashlib.blake2b(msgspec.msgpack.encode(content), digest_size=16).digest()


class Rendering(Protocol):
    """How requests become text. `description` states the order and format assumed, for the report."""

    description: str

    @property
    def segments(self) -> Sequence[Segment]:
        """Every distinct segment so far, by number."""
        ...

    @property
    def account(self) -> RenderingAccount:
        """What was estimated, and what a template could not do, up to now."""
        ...

    def render(self, request: Request) -> Sequence[RenderedPart]:
        """The whole prompt in order. Interned: content met before gives the same RenderedPart object.

        This is called for every request of a log: a part met before must cost one look-up and nothing else.
        RenderedParts are numbered from 0 in the order in which they are first given.
        """
        ...

    def paths(self, request: Request) -> Sequence[str]:
        """The JSON path in the body of each part that `render` gives, "" for text the rendering adds."""
        ...

    def render_response(self, request: Request) -> RenderedPart | None:
        """The logged answer as it stands in a cache right behind the prompt, None where the log has none.

        It ends with the token that closes the answer, which the model sampled last.
        """
        ...


def make_rendering(chat_template: str | None, tokenizer: "Tokenizer | None") -> Rendering:
    """The rendering asked for: a chat template by file, `"tokenizer"` for the one that lies beside the
    tokenizer, None for the provider's own order.

    `tokenizer` may be None only where nothing is to be tokenized. Raises UsageError for a template that is not
    there and InputError for one that cannot be read.
    """
    if chat_template is None:
        from analyzers.renderings.provider_order import ProviderOrder

        return ProviderOrder(tokenizer)
    from analyzers.renderings.chat_template import ChatTemplate

    return ChatTemplate.load(chat_template, tokenizer)
