"""The default rendering: the parts of a request in its provider's order, framed like ChatML.

Providers do not publish how they write a request down. What counts for prefix caching is the order of the parts
and that the content is there as sent; the frame (START role SEPARATOR content END) costs the same few tokens
for every message, and its tokens keep text of one block from running into the next.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from analyzers.rendering import RenderedPart, RenderingAccount, Segment, content_digest
from analyzers.renderings import anthropic, bedrock, gemini, openai_chat, openai_responses
from analyzers.renderings.cutting import cut, stretches
from analyzers.renderings.raw_json import (
    Json,
    any_of,
    items_of,
    marker_ttl,
    members_of,
    source_of,
    text_in,
    text_of,
)
from analyzers.renderings.writing import END, Draft, SegmentStore, answer_of, generation_prompt
from analyzers.request import Dialect, Part, PartKind, Request

if TYPE_CHECKING:
    from analyzers.tokenization import Tokenizer

_Write = Callable[[Draft, Json], None]

_MESSAGE: dict[Dialect, _Write] = {
    Dialect.OPENAI_CHAT: openai_chat.write_message,
    Dialect.OPENAI_RESPONSES: openai_responses.write_item,
    Dialect.ANTHROPIC: anthropic.write_message,
    Dialect.GEMINI: gemini.write_content,
    Dialect.BEDROCK: bedrock.write_message,
}
_SYSTEM: dict[Dialect, Callable[[Draft, Json, str], None]] = {
    Dialect.ANTHROPIC: anthropic.write_content,
    Dialect.BEDROCK: bedrock.write_content,
    Dialect.OPENAI_CHAT: anthropic.write_content,
    Dialect.OPENAI_RESPONSES: anthropic.write_content,
}
_ANSWERS: dict[Dialect, Callable[[Json], list[Json]]] = {
    Dialect.OPENAI_CHAT: openai_chat.answers,
    Dialect.OPENAI_RESPONSES: openai_responses.answers,
    Dialect.ANTHROPIC: anthropic.answers,
    Dialect.GEMINI: gemini.answers,
    Dialect.BEDROCK: bedrock.answers,
}
_GOES_ON = (Dialect.ANTHROPIC, Dialect.BEDROCK)
"""Where a last message by the assistant is the start of the answer."""


class ProviderOrder:
    """Parts in the order of the request, each written once. With a tokenizer, plain prompts are cut at its
    special tokens."""

    description = "the provider's order (schema and tools, system, messages), messages framed like ChatML"

    def __init__(self, tokenizer: "Tokenizer | None" = None, store: SegmentStore | None = None) -> None:
        self._store = store if store is not None else SegmentStore()
        self._tokenizer = tokenizer
        self._inner: dict[Part, RenderedPart] = {}
        self._last: dict[Part, RenderedPart] = {}
        self._ends_open: set[Part] = set()
        self._texts: dict[Part, tuple[RenderedPart, ...]] = {}
        self._answers: dict[Part, RenderedPart | None] = {}
        self._ask: RenderedPart | None = None
        self._estimated: dict[int, RenderedPart] = {}

    @property
    def segments(self) -> Sequence[Segment]:
        return self._store.segments

    @property
    def account(self) -> RenderingAccount:
        return RenderingAccount({_digest(part): part.estimated_tokens for part in self._estimated.values()})

    def render(self, request: Request) -> Sequence[RenderedPart]:
        parts = request.parts
        if not parts:
            return ()
        if request.dialect is Dialect.TEXT:
            return [stretch for part in parts for stretch in self._render_text(part)]
        inner = self._inner
        try:
            rendered = [inner[part] for part in parts[:-1]]
        except KeyError:
            rendered = [self._render_inner(part) for part in parts[:-1]]
        last = parts[-1]
        end = self._last.get(last)
        rendered.append(end if end is not None else self._render_last(last))
        if last not in self._ends_open:
            if self._ask is None:
                self._ask = self._store.part(generation_prompt(self._store))
            rendered.append(self._ask)
        return rendered

    def paths(self, request: Request) -> Sequence[str]:
        rendered = self.render(request)
        paths = list(request.part_paths())
        if request.dialect is Dialect.TEXT:
            return paths[:1] * len(rendered)
        return paths + [""] * (len(rendered) - len(paths))

    def render_response(self, request: Request) -> RenderedPart | None:
        output = request.output
        if output is None or output.kind is not PartKind.RESPONSE:
            return None
        if output not in self._answers:
            self._answers[output] = self._render_answer(output)
        return self._answers[output]

    def _render_text(self, part: Part) -> tuple[RenderedPart, ...]:
        """What came as text is what the model read: its special tokens count as such."""
        rendered = self._texts.get(part)
        if rendered is None:
            text = part.raw.decode("utf-8", "replace")
            drafts = [
                Draft(self._store, run, [""] * len(run))
                for run in stretches(cut(text, self._store, self._tokenizer))
            ]
            if drafts:
                drafts[-1].end_block("")
            rendered = self._texts[part] = tuple(map(self._store.part, drafts))
        return rendered

    def _render_inner(self, part: Part) -> RenderedPart:
        rendered = self._inner.get(part)
        if rendered is None:
            rendered = self._inner[part] = self._intern(self._write(part))
        return rendered

    def _render_last(self, part: Part) -> RenderedPart:
        """The last part of a prompt: an assistant's message that the answer goes on with stays open."""
        if part.kind is PartKind.MESSAGE and part.dialect in _GOES_ON and _role(part) == "assistant":
            draft = self._write(part)
            draft.segments.pop()
            draft.paths.pop()
            self._ends_open.add(part)
            rendered = self._intern(draft)
        else:
            rendered = self._render_inner(part)
        self._last[part] = rendered
        return rendered

    def _intern(self, draft: Draft) -> RenderedPart:
        part = self._store.part(draft)
        if part.estimated_tokens:
            self._estimated[part.number] = part
        return part

    def _write(self, part: Part) -> Draft:
        draft = Draft(self._store)
        match part.kind:
            case PartKind.MESSAGE:
                _MESSAGE[part.dialect](draft, part.raw)
            case PartKind.SYSTEM:
                draft.open_frame("system")
                if part.dialect is Dialect.GEMINI:
                    gemini.write_system(draft, part.raw)
                else:
                    _SYSTEM[part.dialect](draft, part.raw, "")
                draft.close_message()
            case PartKind.TOOLS:
                draft.open_frame("tools")
                _write_tools(draft, part.raw)
                draft.close_message()
            case PartKind.SCHEMA:
                draft.open_frame("schema")
                draft.source(part.raw, members_of(part.raw), "")
                draft.end_block("")
                draft.close_message()
        return draft

    def _render_answer(self, output: Part) -> RenderedPart | None:
        if output.dialect is Dialect.TEXT:
            answer = Draft(self._store)
            answer.text(output.raw.decode("utf-8", "replace"), "")
            answer.special(END)
            return self._intern(answer)
        drafts = [self._write_answer(output.dialect, raw) for raw in answers_of(output)]
        return self._intern(answer_of(drafts, self._store)) if drafts else None

    def _write_answer(self, dialect: Dialect, raw: Json) -> Draft:
        draft = Draft(self._store)
        text = text_of(raw)
        if text is None and any_of(raw) is None:
            text = source_of(raw)
        if text is None:
            _MESSAGE[dialect](draft, raw)
        else:
            draft.open_message("assistant")
            draft.begin_content()
            draft.text(text, "")
            draft.close_message()
        return draft


def _digest(part: RenderedPart) -> bytes:
    segments = [(s.text, s.special, s.repeat, s.whole) for s in part.segments]
    ends = [(end.segments, end.path, end.marker_ttl_s) for end in part.block_ends]
    return content_digest((segments, part.paths, ends))


def answers_of(output: Part) -> list[Json]:
    """The messages or items of a logged answer, one by one; text that is no JSON stands for itself."""
    return _ANSWERS[output.dialect](output.raw) if any_of(output.raw) is not None else [output.raw]


def _write_tools(draft: Draft, raw: Json) -> None:
    """Each tool as the JSON sent, a block of its own."""
    items = items_of(raw)
    if items is None:
        draft.source(raw, members_of(raw), "")
        draft.end_block("")
    for index, tool in enumerate(items or []):
        path = f"[{index}]"
        members = members_of(tool)
        if members is None or "cachePoint" not in members:
            draft.source(tool, members, path)
            draft.end_block(path)
        if members is not None:
            function = members_of(members["function"]) if "function" in members else None
            for holder in (members, function):
                ttl = marker_ttl(holder) if holder is not None else None
                if ttl is not None:
                    draft.mark(path, ttl)


def _role(part: Part) -> str | None:
    return text_in(members_of(part.raw), "role")
