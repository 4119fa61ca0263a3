"""What a log format is: a Reader class, in a file of its own and on one line of the registry."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from analyzers.request import Log


class Record(NamedTuple):
    """One JSON value of an input: a line, an element of an array, a document, a table row, a YAML document.

    `raw` is its JSON without surrounding white space; `line` counts from 1 (the row number in Parquet).
    """

    file: str
    line: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Carries:
    """What a format holds, for the table of formats: "yes", "no" or a few words."""

    text: str
    tools: str
    usage: str
    times: str


class NotThisFormatError(Exception):
    """Raised by `Reader.read` for a record it cannot read; other formats are then tried on the record.

    `reason` is the short kind that is counted should no format read it, for example "no prompt".
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


NOT_A_CALL = "not a model call"
FAILED_CALL = "failed call"
GATEWAY_CACHE = "answered from a response cache"
IN_ORDER = frozenset({NOT_A_CALL, FAILED_CALL, GATEWAY_CACHE})
"""The reasons of records that are in order but ran no prompt through a model; `--strict` passes over them."""


class Reader(ABC):
    """Reads the records of one format into a log. One object reads all files of its format in a run.

    `log.records` already counts the record given to `read`, which accounts for it in exactly one way: it
    appends a request, adds one to `log.merged` (folded into another request), calls `log.skip`, or raises
    NotThisFormatError or msgspec.DecodeError. A record that holds several calls adds the others to `log.records`;
    one that is kept for later is accounted for in `end_of_file` or `end_of_input`.
    """

    name: ClassVar[str]
    """As in `--format`."""
    title: ClassVar[str]
    """As people call the format."""
    carries: ClassVar[Carries]
    keys: ClassVar[tuple[str, ...]]
    """The top-level keys that its records usually have, for naming the nearest format of an unknown one."""
    reach: ClassVar[Literal["record", "file", "input", "log"]] = "input"
    """What must be read together, by one reader, for the log to be right.

    "record": nothing; each record is read without any other, so a file may be cut between any two.
    "file": the records of one file. "input": all files of this format (rows of several files are joined, numbered
    or compared). "log": all files of any format. At the end of a file or the input, a reader of reach "record" or
    "file" at most adds notes, which count once however often they are given, or raises CannotEvaluateError if there
    is no request at all."""

    def __init__(self, log: Log, mapping: Mapping[str, str]) -> None:
        """`mapping` is what `--map` gives: our field -> the log's column or dotted path."""
        self.log = log
        self.mapping = mapping

    @classmethod
    def check_mapping(cls, mapping: Mapping[str, str], records: Iterable[Record]) -> None:
        """Raise UsageError if the first of all records show that a mapped column is a mistake."""
        return

    def trust_mapping(self) -> None:  # noqa: B027
        """`check_mapping` has passed: this reader's records need not have every mapped column."""

    @staticmethod
    @abstractmethod
    def matches(record: Any) -> float:
        """How surely a decoded record is of this format: 0 no, 1 it can be nothing else."""

    @abstractmethod
    def read(self, record: Record) -> None:
        """Read one record. Called in file order."""

    def end_of_file(self) -> None:  # noqa: B027
        """The file whose records were read last has ended."""

    def end_of_input(self) -> None:  # noqa: B027
        """All files have been read."""
