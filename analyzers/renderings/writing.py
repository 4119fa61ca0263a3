"""Writing a part down as segments: the store that interns them and the writer that every dialect uses."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from analyzers.rendering import BlockEnd, RenderedPart, Segment
from analyzers.renderings.raw_json import Json, Members, marker_ttl, source_of, without_markers

START, SEPARATOR, END = "<|im_start|>", "<|im_sep|>", "<|im_end|>"
"""Message frame: START role SEPARATOR content END."""
CALL, RESULT, REASONING = "<|tool_call|>", "<|tool_result|>", "<|reasoning|>"
"""What a model must be able to tell from plain text gets one token in front."""


class SegmentStore:
    """Interns segments and rendered parts: the same content is one object, numbered in order of appearance."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._plain: dict[str, Segment] = {}
        self._special: dict[str, Segment] = {}
        self._placeholders: dict[tuple[str, int], Segment] = {}
        self._whole: dict[str, Segment] = {}
        self._parts: dict[tuple[object, ...], RenderedPart] = {}
        self._paths: dict[tuple[str | None, ...], tuple[str | None, ...]] = {}
        self._block_ends: dict[tuple[BlockEnd, ...], tuple[BlockEnd, ...]] = {}

    def plain(self, text: str) -> Segment:
        """Text to be encoded; special tokens it spells are ordinary text."""
        segment = self._plain.get(text)
        if segment is None:
            segment = self._plain[text] = Segment(len(self.segments), text, False)
            self.segments.append(segment)
        return segment

    def special(self, text: str) -> Segment:
        """One special token."""
        segment = self._special.get(text)
        if segment is None:
            segment = self._special[text] = Segment(len(self.segments), text, True)
            self.segments.append(segment)
        return segment

    def placeholder(self, name: str, tokens: int) -> Segment:
        """What stands for data that is not text, `tokens` tokens long."""
        segment = self._placeholders.get((name, tokens))
        if segment is None:
            segment = self._placeholders[name, tokens] = Segment(len(self.segments), name, True, tokens)
            self.segments.append(segment)
        return segment

    def whole(self, text: str) -> Segment:
        """A prompt, or the start of one, that cannot be cut."""
        segment = self._whole.get(text)
        if segment is None:
            segment = self._whole[text] = Segment(len(self.segments), text, False, whole=True)
            self.segments.append(segment)
        return segment

    def part(self, draft: "Draft") -> RenderedPart:
        """The rendered part of a draft, numbered when it is first asked for."""
        paths, ends = tuple(draft.paths), tuple(draft.block_ends)
        key = (
            tuple(draft.segments),
            self._paths.setdefault(paths, paths),
            self._block_ends.setdefault(ends, ends),
        )
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = RenderedPart(len(self._parts), *key, draft.estimated_tokens)
        return part


@dataclass(slots=True)
class Draft:
    """The rendering of a part while it is written, and not yet interned."""

    store: SegmentStore
    segments: list[Segment] = field(default_factory=list)
    paths: list[str | None] = field(default_factory=list)
    block_ends: list[BlockEnd] = field(default_factory=list)
    estimated_tokens: int = 0

    def text(self, text: str | None, path: str) -> None:
        """Text of the request itself; empty text leaves nothing."""
        if text:
            self.segments.append(self.store.plain(text))
            self.paths.append(path)

    def source(self, value: Json, members: Members | None, path: str) -> None:
        """A JSON value as it was sent, less the cache markers on it."""
        self.text(source_of(value) if members is None else without_markers(value, members), path)

    def special(self, token: str) -> None:
        """A token that the rendering adds."""
        self.segments.append(self.store.special(token))
        self.paths.append(None)

    def placeholder(self, name: str, tokens: int, path: str) -> None:
        """Data that is not text: `tokens` equal ids that no other data has. Counted as an estimate."""
        self.segments.append(self.store.placeholder(name, tokens))
        self.paths.append(path)
        self.estimated_tokens += tokens

    def end_block(self, path: str, members: Members | None = None) -> None:
        """A content block ends here; `members` may hold a cache marker."""
        ttl = None if members is None else marker_ttl(members)
        self.block_ends.append(BlockEnd(len(self.segments), path, ttl))

    def mark(self, path: str, ttl_s: int) -> None:
        """A cache marker stands here: on the block that ends here, or on its own at `path`."""
        if self.block_ends and self.block_ends[-1].segments == len(self.segments):
            last = self.block_ends[-1]
            self.block_ends[-1] = BlockEnd(last.segments, last.path, ttl_s)
        else:
            self.block_ends.append(BlockEnd(len(self.segments), path, ttl_s))

    def open_message(self, role: str | None, path: str = ".role") -> None:
        """The head of a message up to its content."""
        self.special(START)
        self.text(role, path)

    def open_frame(self, role: str) -> None:
        """The head of a message whose role the request does not name."""
        self.special(START)
        self.segments.append(self.store.plain(role))
        self.paths.append(None)
        self.special(SEPARATOR)

    def begin_content(self) -> None:
        self.special(SEPARATOR)

    def close_message(self) -> None:
        self.special(END)


def answer_of(drafts: Sequence[Draft], store: SegmentStore) -> Draft:
    """Drafts of assistant messages as one answer that goes on where the generation prompt ends."""
    head = generation_prompt(store).segments
    answer = Draft(store)
    for draft in drafts:
        skip = len(head) if not answer.segments and draft.segments[: len(head)] == head else 0
        answer.segments += draft.segments[skip:]
        answer.paths += draft.paths[skip:]
        answer.estimated_tokens += draft.estimated_tokens
    return answer


def generation_prompt(store: SegmentStore) -> Draft:
    """What stands in front of an answer."""
    draft = Draft(store)
    draft.open_frame("assistant")
    return draft
