"""Hash-only traces: block ids in place of text, as Mooncake, Bailian and others publish them.

Mooncake: `{timestamp ms, input_length, output_length, hash_ids}` with blocks of 512 tokens. Bailian: the same with
seconds as decimals, `chat_id`, `parent_chat_id`, `turn`, `type` and blocks of 16. An id stands for a block and
all blocks before it. The block length is in no row: it is inferred, or given by `--map block_length=512`.
"""

import itertools
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from analyzers.errors import InputError, UsageError
from analyzers.logs.answers import LARGEST_COUNT, usage_of
from analyzers.logs.reader import Carries, NotThisFormatError, Reader, Record
from analyzers.logs.timestamps import Unit, read_time
from analyzers.request import Dialect, Identity, Log, PartKind, Request

ID_NAMES: Final = ("hash_ids", "block_hashes", "block_ids", "block_hash_ids", "hashes")
_INPUT_NAMES = ("input_length", "input_tokens", "prompt_length", "prompt_tokens", "input_len", "isl")
_OUTPUT_NAMES = ("output_length", "output_tokens", "completion_tokens", "output_len", "osl")
_TIME_NAMES = ("timestamp", "time", "arrival_time", "arrival_timestamp")
LONGEST_BLOCK: Final = 2**20
FROM_THE_START = "Times of the hash trace count from its start; they are read as {} since then."
_EPOCH_SECONDS = 10**9
"""Smaller times count from the start of the trace."""


@dataclass(slots=True)
class _Row:
    request: Request
    ids: list[int | str]
    length: int
    time: Any


_FIELDS = msgspec.json.Decoder(dict[str, Any])


class HashTrace(Reader):
    name = "hash-trace"
    title = "Hash-only trace (Mooncake, Bailian)"
    carries = Carries(text="no, block ids", tools="no", usage="lengths", times="yes")
    keys = (
        "timestamp",
        "input_length",
        "output_length",
        "hash_ids",
        "chat_id",
        "parent_chat_id",
        "turn",
        "type",
    )
    reach = "log"

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        super().__init__(log, mapping)
        self._rows: list[_Row] = []
        self._sessions: dict[object, str] = {}

    @staticmethod
    def matches(record: Any) -> float:
        if not isinstance(record, dict):
            return 0
        return float(any(isinstance(record.get(name), list) for name in ID_NAMES))

    def read(self, record: Record) -> None:
        fields = _FIELDS.decode(record.raw)
        ids = self._value(fields, "hash_ids", ID_NAMES)
        if not isinstance(ids, list) or not all(type(item) in (int, str) for item in ids):
            raise NotThisFormatError("no block ids")
        length = self._value(fields, "input_length", _INPUT_NAMES)
        if type(length) is not int or not 0 <= length < LARGEST_COUNT:
            raise NotThisFormatError("no input length")
        if ids and not length:
            raise NotThisFormatError("block ids for an empty prompt")
        output = self._value(fields, "output_length", _OUTPUT_NAMES)
        request = Request(
            request_id=str(fields.get("request_id", fields.get("chat_id", f"{record.file}:{record.line}"))),
            file=record.file,
            line=record.line,
            dialect=Dialect.TOKENS,
            parts=(),
            model=fields["model"] if isinstance(fields.get("model"), str) else None,
            identity=Identity(session=self._session(fields), route=_text(fields.get("type"))),
            usage=usage_of(
                {"prompt_tokens": length} | ({"completion_tokens": output} if type(output) is int else {})
            ),
        )
        self._rows.append(_Row(request, ids, length, self._value(fields, "timestamp", _TIME_NAMES)))
        self.log.requests.append(request)

    def end_of_input(self) -> None:
        if not self._rows:
            return
        self._check_unmixed()
        self.log.unit = self._block_length()
        self._give_times()
        self._give_ids()

    def _value(self, fields: dict[str, Any], ours: str, names: tuple[str, ...]) -> Any:
        for name in (self.mapping[ours],) if ours in self.mapping else names:
            if name in fields:
                return fields[name]
        return None

    def _session(self, fields: dict[str, Any]) -> str | None:
        """The first chat of the line that the row's chat continues, or the session that the row names."""
        for name in ("session_id", "conversation_id"):
            if fields.get(name) is not None:
                return str(fields[name])
        chat, parent = fields.get("chat_id"), fields.get("parent_chat_id")
        if not isinstance(chat, int | str):
            return None
        known = self._sessions.get(parent) if isinstance(parent, int | str) else None
        session = self._sessions[chat] = known or str(chat)
        return session

    def _check_unmixed(self) -> None:
        if len(self._rows) != len(self.log.requests):
            raise InputError(
                "Hash-only traces cannot be read together with logs that hold text or token ids: "
                "analyze them one at a time."
            )

    def _block_length(self) -> int:
        lengths = np.array([row.length for row in self._rows], dtype=np.int64)
        counts = np.array([len(row.ids) for row in self._rows], dtype=np.int64)
        given = self.mapping.get("block_length")
        if given is not None:
            if not given.isdigit() or not 0 < int(given) <= LONGEST_BLOCK:
                raise UsageError(f"--map block_length={given}: give the number of tokens in a block.")
            fits = _fits(lengths, counts, int(given))
            if not fits.all():
                row = self._rows[int(np.argmin(fits))]
                raise InputError(
                    f"{row.request.file}, line {row.request.line}: {len(row.ids)} blocks of {given} tokens cannot "
                    f"hold a prompt of {row.length}; give another --map block_length."
                )
            return int(given)
        length = infer_block_length(lengths, counts)
        if length is None:
            raise InputError(
                f"{self._rows[0].request.file}: no power of two up to {LONGEST_BLOCK} is the block length of all "
                "rows; name it with --format hash-trace --map block_length=N."
            )
        self.log.note(f"Blocks of {length} tokens, inferred from prompt lengths and block counts.")
        return length

    def _give_times(self) -> None:
        """Times that count from the start are seconds where any has decimals, as in Bailian, else milliseconds."""
        numbers = [row.time for row in self._rows if isinstance(row.time, int | float)]
        relative = bool(numbers) and max(numbers) < _EPOCH_SECONDS
        unit: Unit = "s" if any(isinstance(number, float) for number in numbers) else "ms"
        if relative:
            self.log.note(FROM_THE_START.format("seconds" if unit == "s" else "milliseconds"))
        for row in self._rows:
            if relative and isinstance(row.time, int | float):
                row.request.time_ns = read_time(row.time, self.log, unit)
            else:
                row.request.time_ns = read_time(row.time, self.log)

    def _give_ids(self) -> None:
        """Number the ids from 0 in order of appearance. A last block without an id is one nobody shares."""
        numbers: defaultdict[object, int] = defaultdict(itertools.count().__next__)
        intern = self.log.parts.interner(Dialect.TOKENS, PartKind.TOKENS)
        for index, row in enumerate(self._rows):
            dense = array("I", map(numbers.__getitem__, row.ids))
            if len(row.ids) * self.log.unit < row.length:
                dense.append(numbers[("tail", index)])
            row.request.parts = (intern(dense.tobytes()),) if dense else ()
        self._rows.clear()


def infer_block_length(lengths: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> int | None:
    """The smallest power of two with which every prompt fills its blocks; None if there is none.

    `lengths` are prompt tokens, `counts` block ids, int64 of shape (rows,). A row fits if the blocks cover the
    prompt, the last one in part, or if they are its whole blocks, the rest having no id.
    """
    powers = _powers()
    for length in powers:
        if np.array_equal(-(-lengths // length), counts):
            return length
    return next((length for length in _powers() if _fits(lengths, counts, length).all()), None)


def _fits(lengths: np.ndarray[Any, Any], counts: np.ndarray[Any, Any], block: int) -> np.ndarray[Any, Any]:
    fits: np.ndarray[Any, Any] = (-(-lengths // block) == counts) | (lengths // block == counts)
    return fits


def _powers() -> Iterator[int]:
    length = 1
    while length <= LONGEST_BLOCK:
        yield length
        length *= 2


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
