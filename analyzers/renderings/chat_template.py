"""A Hugging Face chat template: the whole prompt is rendered, then cut at the tokenizer's special tokens.

The template is data from outside: it runs in jinja's sandbox and sees messages, tools and the special tokens.
JSON paths are found by looking for the text of each message in the prompt, so they are a help, not a proof.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import jinja2

from analyzers.errors import InputError
from analyzers.rendering import BlockEnd, RenderedPart, RenderingAccount, Segment, content_digest
from analyzers.renderings.chat_messages import Chat, Message, answer_messages, chat_of
from analyzers.renderings.cutting import cut, stretches
from analyzers.renderings.provider_order import ProviderOrder, answers_of
from analyzers.renderings.raw_json import any_of
from analyzers.renderings.sandbox import compile_template
from analyzers.renderings.template_files import TemplateSource, find_template
from analyzers.renderings.writing import Draft, SegmentStore
from analyzers.request import Dialect, Part, PartKind, Request

if TYPE_CHECKING:
    from analyzers.tokenization import Tokenizer

_READS_BLOCKS = re.compile(
    r"content\s+is\s+(not\s+)?(string|iterable|sequence|mapping)"
    r"|\bin\s+[^\s%]*(\.content|\[['\"]content['\"]\])\s*(-?%|if\b)"
)
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Prompt:
    parts: tuple[RenderedPart, ...]
    paths: tuple[str, ...]
    text: str | None
    """None where the template refused and the provider's order stands in."""


@dataclass
class ChatTemplate:
    """Renders requests through one template. Plain prompts are taken as rendered already."""

    source: TemplateSource
    tokenizer: "Tokenizer | None"
    description: str = field(init=False)

    def __post_init__(self) -> None:
        self.description = f"chat template {self.source.name}"
        self._store = SegmentStore()
        self._fallback = ProviderOrder(self.tokenizer, self._store)
        self._now = _NO_TIME
        try:
            self._template = compile_template(self.source.text, lambda: self._now)
        except jinja2.TemplateSyntaxError as error:
            raise InputError(f"{self.source.name}, line {error.lineno}: {error.message}") from error
        self._reads_clock = "strftime_now" in self.source.text
        self._reads_blocks = _READS_BLOCKS.search(self.source.text) is not None
        self._prompts: dict[tuple[object, ...], _Prompt] = {}
        self._answers: dict[tuple[object, ...], RenderedPart | None] = {}
        self._noted: dict[str, set[bytes]] = {}

    @classmethod
    def load(cls, name: str, tokenizer: "Tokenizer | None") -> "ChatTemplate":
        """From a file, or `"tokenizer"` for the template beside the tokenizer."""
        folder = tokenizer.folder if tokenizer is not None else None
        return cls(find_template(name, folder), tokenizer)

    @property
    def segments(self) -> Sequence[Segment]:
        return self._store.segments

    @property
    def account(self) -> RenderingAccount:
        account = self._fallback.account
        account.add(RenderingAccount(noted=self._noted))
        return account

    def render(self, request: Request) -> Sequence[RenderedPart]:
        return self._prompt(request).parts

    def paths(self, request: Request) -> Sequence[str]:
        return self._prompt(request).paths

    def render_response(self, request: Request) -> RenderedPart | None:
        output = request.output
        if output is None or output.kind is not PartKind.RESPONSE:
            return None
        key = (*self._key(request), output)
        if key not in self._answers:
            self._answers[key] = self._answer(request, output)
        return self._answers[key]

    def _key(self, request: Request) -> tuple[object, ...]:
        return (request.parts, request.parameters, request.time_ns if self._reads_clock else None)

    def _prompt(self, request: Request) -> _Prompt:
        key = self._key(request)
        prompt = self._prompts.get(key)
        if prompt is None:
            prompt = self._prompts[key] = self._new_prompt(request)
        return prompt

    def _new_prompt(self, request: Request) -> _Prompt:
        if request.dialect in (Dialect.TEXT, Dialect.TOKENS):
            return _Prompt(tuple(self._fallback.render(request)), tuple(self._fallback.paths(request)), None)
        chat = chat_of(request.parts)
        for kind in sorted(chat.left_out):
            self._note(f"the template has no place for the {kind} of a request", request)
        text = self._render(request, chat.messages, chat.tools)
        if text is None:
            return _Prompt(tuple(self._fallback.render(request)), tuple(self._fallback.paths(request)), None)
        parts, paths = self._stretches(text, request, chat)
        return _Prompt(parts, paths, text)

    def _render(
        self,
        request: Request,
        messages: list[Message],
        tools: list[dict[str, Any]],
        answer: Part | None = None,
    ) -> str | None:
        """The prompt as one string, or the prompt with `answer`, whose messages stand last; None where the template
        refuses."""
        if self._reads_clock:
            self._now = _NO_TIME
            if request.time_ns is not None:
                self._now = datetime.fromtimestamp(request.time_ns / 1e9, UTC)
            else:
                self._note(
                    "the template tells the date and the log does not: 1 January 2000 stands in",
                    request,
                    answer,
                )
        settings = request.parameter("chat_template_kwargs")
        variables: dict[str, Any] = dict(settings) if isinstance(settings, dict) else {}
        if not self._reads_blocks:
            messages = [_with_plain_content(message) for message in messages]
        try:
            return self._template.render(
                {
                    **self.source.tokens,
                    "documents": None,
                    **variables,
                    "messages": messages,
                    "tools": tools or None,
                    "add_generation_prompt": answer is None,
                }
            )
        except (
            jinja2.TemplateError,
            TypeError,
            KeyError,
            ValueError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as error:
            self._note(f"the template refused and the provider's order stands in: {error}", request, answer)
            return None

    def _note(self, note: str, request: Request, answer: Part | None = None) -> None:
        """A note about a prompt, or about a prompt with this answer."""
        parts = (*request.parts, answer) if answer is not None else request.parts
        time_ns = request.time_ns if self._reads_clock else None
        content = [(part.dialect, part.kind, part.raw) for part in parts], request.parameters, time_ns
        self._noted.setdefault(note, set()).add(content_digest(content))

    def _stretches(
        self, text: str, request: Request, chat: Chat
    ) -> tuple[tuple[RenderedPart, ...], tuple[str, ...]]:
        """The prompt in stretches that each end with text, so that prompts share what they begin with."""
        places = _message_places(text, request, chat)
        parts: list[RenderedPart] = []
        paths: list[str] = []
        start = 0
        for run in stretches(cut(text, self._store, self.tokenizer)):
            draft = Draft(self._store, run, [None if segment.special else "" for segment in run])
            end = start + sum(len(segment.text) for segment in run)
            paths.append("" if run[-1].special else self._close(draft, places, end))
            parts.append(self._store.part(draft))
            start = end
        return tuple(parts), tuple(paths)

    def _close(self, draft: Draft, places: list[tuple[int, int, str]], end: int) -> str:
        """Path of the message that a stretch shows, with a block end where the message's text ends in it."""
        path = ""
        while places and places[0][0] < end:
            path = path or places[0][2]
            if places[0][1] > end:
                break
            places.pop(0)
            draft.block_ends = [BlockEnd(len(draft.segments), "")]
        return path

    def _answer(self, request: Request, output: Part) -> RenderedPart | None:
        prompt = self._prompt(request)
        if prompt.text is None:
            return self._fallback.render_response(request)
        chat = chat_of(request.parts)
        values = [any_of(raw) for raw in answers_of(output)]
        messages = answer_messages(output.dialect, [value for value in values if value is not None])
        if not messages:
            return None
        text = self._render(request, chat.messages + messages, chat.tools, output)
        draft = Draft(self._store)
        if text is not None and text.startswith(prompt.text):
            draft.segments = cut(text[len(prompt.text) :], self._store, self.tokenizer)
            while draft.segments and not draft.segments[-1].special and not draft.segments[-1].text.strip():
                draft.segments.pop()  # what the template adds behind the token that closes the answer
        else:
            content = messages[-1].get("content")
            if isinstance(content, str) and content:
                draft.segments = [self._store.plain(content)]
            if eos := self.source.tokens.get("eos_token"):
                draft.segments.append(self._store.special(eos))
        draft.paths += [None] * len(draft.segments)
        return self._store.part(draft) if draft.segments else None


def _with_plain_content(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    texts = [block.get("text") if isinstance(block, dict) else block for block in content]
    return {**message, "content": "\n".join(text for text in texts if isinstance(text, str))}


def _message_places(text: str, request: Request, chat: Chat) -> list[tuple[int, int, str]]:
    """(start, end, path) of each message's text in the prompt, in order, as far as it is found."""
    names = list(request.part_paths())
    places: list[tuple[int, int, str]] = []
    cursor = 0
    for message, origin in zip(chat.messages, chat.origins, strict=True):
        content = message.get("content")
        found = content.strip() if isinstance(content, str) else ""
        place = text.find(found, cursor) if found else -1
        if place >= 0:
            cursor = place + len(found)
            places.append((place, cursor, names[origin]))
    return places
