"""From text to token ids: one Tokenizer for every vocabulary, offline unless a hub name is given.

Encode distinct segments in one call to `Tokenizer.encode_segments`; ids of special tokens and placeholders come
from `special_id`. What a tokenizer allows to encode once is in `memoisation`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from analyzers.errors import InputError
from analyzers.rendering import Segment
from analyzers.tokenizers.added_tokens import (
    Memoisation,
    SpecialSplitter,
    is_byte_level,
    memoisation_of,
    read_added_tokens,
    splitter_of,
)
from analyzers.tokenizers.engines import (
    Engine,
    Gigatoken,
    HuggingFace,
    PurePython,
    encode_batch,
    give_back_memory,
)
from analyzers.tokenizers.models import (
    TokenizerChoice,
    choose_tokenizer,
    choose_tokenizer_of_log,
    vocabulary_of,
)
from analyzers.tokenizers.self_check import agrees_with
from analyzers.tokenizers.vocabularies import Vocabulary, find_vocabulary

__all__ = [
    "FIRST_VIRTUAL_ID",
    "Memoisation",
    "Tokenizer",
    "TokenizerChoice",
    "choose_tokenizer",
    "choose_tokenizer_of_log",
    "load_tokenizer",
]

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

FIRST_VIRTUAL_ID = 1 << 31
"""Ids from here on are no vocabulary's: special tokens a vocabulary lacks, and placeholders of media."""


@dataclass
class Tokenizer:
    """Text to ids with one vocabulary.

    `fingerprint` is the SHA-256 of the vocabulary file; `notes` say what a reader of the figures must know about
    exactness. Not safe to share between threads that encode at the same time.
    """

    name: str
    fingerprint: str
    memoisation: Memoisation
    notes: tuple[str, ...]
    specials: dict[str, int]
    """The vocabulary's own special and added tokens, id by text."""
    byte_level: bool
    """Whether ids stand for bytes of the text."""
    cuts_at_lines: bool
    """Whether text may be cut between a line end and an ASCII letter without changing its ids."""
    folder: Path | None
    """Where the vocabulary lies, and perhaps a chat template."""
    _load_engine: Callable[[], Engine]
    _splitter: SpecialSplitter
    _whole: HuggingFace | None
    _engine: Engine | None = None
    _virtual: dict[str, int] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """What encodes; loaded when first needed."""
        if self._engine is None:
            self._engine = self._load_engine()
        return self._engine

    def release(self) -> None:
        """Give the engine's memory back (120 MB after a large log); it loads again when next needed."""
        self._engine = None
        give_back_memory()

    def is_own_for(self, model: str) -> bool | None:
        """Whether `model` reads with this vocabulary; None where that cannot be known."""
        known = vocabulary_of(model)
        if known is not None and self.name in _PUBLIC_NAMES:
            return known == self.name
        if self.name in _PUBLIC_NAMES:
            return False
        same = self.name.lower().rsplit("/", 1)[-1] == model.lower().rsplit("/", 1)[-1]
        return True if same else None

    def encode(self, text: str) -> UInt32:
        """The ids of one segment (uint32). Text that spells a special token is ordinary text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> tuple[UInt32, Int64]:
        """The ids of many segments on all cores: (uint32 flat, int64 offsets of length texts + 1)."""
        return encode_batch(self.engine, texts)

    def encode_prompt(self, text: str) -> UInt32:
        """The ids of a whole rendered prompt (uint32), its special tokens recognised."""
        if self._whole is not None:
            return np.asarray(self._whole.encode_prompt(text), np.uint32)
        pieces = self.split(text)
        texts, offsets = self.encode_batch([piece for piece, special in pieces if not special])
        runs = iter(range(len(offsets) - 1))
        ids = [
            np.array([self.special_id(piece)], np.uint32) if special else _slice(texts, offsets, next(runs))
            for piece, special in pieces
        ]
        return np.concatenate(ids) if ids else np.empty(0, np.uint32)

    def split(self, text: str) -> list[tuple[str, bool]]:
        """A rendered prompt cut at the special and added tokens: (piece, is it one token) in order."""
        return self._splitter.split(text)

    def special_id(self, text: str) -> int:
        """The vocabulary's id of a special token; where it has none, an id from FIRST_VIRTUAL_ID on, one a text."""
        own = self.specials.get(text)
        if own is not None:
            return own
        return self._virtual.setdefault(text, FIRST_VIRTUAL_ID + len(self._virtual))

    def virtual_texts(self) -> dict[int, str]:
        """The text that each id from FIRST_VIRTUAL_ID on stands for, as far as ids were given."""
        return {number: text for text, number in self._virtual.items()}

    def encode_segments(self, segments: Sequence[Segment]) -> tuple[UInt32, Int64]:
        """The ids of segments of every kind: (uint32 flat, int64 offsets of length segments + 1)."""
        reserved: dict[int, UInt32] = {}
        for index, segment in enumerate(segments):
            if segment.special:
                reserved[index] = np.full(segment.repeat, self.special_id(segment.text), np.uint32)
            elif segment.whole:
                reserved[index] = self.encode_prompt(segment.text)
        return encode_batch(self.engine, [segment.text for segment in segments], reserved)

    def token_byte_lengths(self) -> UInt32 | None:
        """Bytes each id stands for (uint32, by id), None where ids do not stand for bytes.

        They add up to the UTF-8 length of a segment unless the tokenizer normalises its text.
        """
        if not self.byte_level:
            return None
        vocabulary = self._vocabulary()
        lengths = np.zeros(max(vocabulary, default=-1) + 1, np.uint32)
        for token, content in vocabulary.items():
            lengths[token] = len(content)
        return lengths

    def line_ends(self) -> npt.NDArray[np.uint8]:
        """1 for each id whose text has a line end in it (uint8, by id)."""
        vocabulary = self._vocabulary()
        ends = np.zeros(max(vocabulary, default=-1) + 1, np.uint8)
        ends[[token for token, content in vocabulary.items() if b"\n" in content]] = 1
        return ends

    def _vocabulary(self) -> dict[int, bytes]:
        return self.engine.vocabulary() | {number: text.encode() for text, number in self.specials.items()}


_CUT_AT_LINES = ("o200k", "gpt4")
"""Schemes in which a run of white space or punctuation takes the line ends behind it, a letter never takes the line
end before it, and nothing looks back: so no piece reaches over such a place, and none changes if the text ends there.
GPT-2's scheme looks ahead from white space and is not one of them."""
_PUBLIC_NAMES = ("o200k", "o200k_harmony", "cl100k", "deepseek")


def _slice(flat: UInt32, offsets: Int64, index: int) -> UInt32:
    return flat[offsets[index] : offsets[index + 1]]


def load_tokenizer(name: str) -> Tokenizer:
    """The tokenizer called `name`: o200k, cl100k, deepseek, a file, a folder, or a hub name.

    Raises UsageError where there is none of that name, InputError where it cannot be read.
    """
    vocabulary = find_vocabulary(name)
    try:
        return _from_ranks(vocabulary) if vocabulary.ranks is not None else _from_json(vocabulary)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"Cannot read the tokenizer {vocabulary.name}: {error}") from error


def _from_ranks(vocabulary: Vocabulary) -> Tokenizer:
    assert vocabulary.ranks is not None
    specials = vocabulary.ranks.specials
    tokenizer = Tokenizer(
        name=vocabulary.name,
        fingerprint=vocabulary.fingerprint,
        memoisation=Memoisation.EXACT,
        notes=(),
        specials=specials,
        byte_level=True,
        cuts_at_lines=vocabulary.ranks.scheme in _CUT_AT_LINES,
        folder=vocabulary.folder,
        _load_engine=lambda: Gigatoken.from_ranks(vocabulary),
        _splitter=SpecialSplitter([list(specials)]),
        _whole=None,
    )
    if find_spec("gigatoken") is None:
        tokenizer._load_engine = lambda: PurePython(vocabulary)
        tokenizer.notes = ("gigatoken is not installed: encoding in Python, about 100 times slower",)
    _ = tokenizer.engine
    return tokenizer


def _from_json(vocabulary: Vocabulary) -> Tokenizer:
    definition = _definition(vocabulary)
    memoisation, reason = memoisation_of(definition)
    behind_sentinel = memoisation is Memoisation.BEHIND_SENTINEL
    tokenizer = Tokenizer(
        name=vocabulary.name,
        fingerprint=vocabulary.fingerprint,
        memoisation=memoisation,
        notes=(),
        specials={token.content: token.id for token in read_added_tokens(definition)},
        byte_level=is_byte_level(definition),
        cuts_at_lines=False,
        folder=vocabulary.folder,
        _load_engine=lambda: HuggingFace(vocabulary.data, behind_sentinel),
        _splitter=splitter_of(definition),
        _whole=None if memoisation is Memoisation.EXACT else HuggingFace(vocabulary.data),
    )
    notes = []
    if not behind_sentinel:
        fast = _gigatoken(definition)
        if fast is not None and agrees_with(tokenizer.engine, fast, definition):
            tokenizer._engine = fast
            tokenizer._load_engine = lambda: Gigatoken.from_definition(_definition(vocabulary))
        else:
            notes.append(
                "encoded by Hugging Face tokenizers: the fast engine does not give the same ids here"
            )
    if memoisation is Memoisation.WHOLE:
        notes.append(f"rendered prompts are encoded whole: {reason}")
    tokenizer.notes = tuple(notes)
    _ = tokenizer.engine
    return tokenizer


def _definition(vocabulary: Vocabulary) -> dict[str, Any]:
    try:
        definition = msgspec.json.decode(vocabulary.data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(f"{vocabulary.name} is not a tokenizer.json: {error}") from error
    if "model" not in definition:
        raise InputError(f"{vocabulary.name} is JSON but not a tokenizer.json: it has no model.")
    return definition


def _gigatoken(definition: dict[str, Any]) -> Gigatoken | None:
    """The fast engine for a tokenizer.json, None where it does not know its kind."""
    try:
        return Gigatoken.from_definition(definition)
    except Exception:
        return None
