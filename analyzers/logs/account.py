"""What reading a log, or a slice of it, came to beside the requests; and how the slices' accounts become one.

A log is read in slices where it is larger than memory or where several processes share it. Each slice tells what
every file added to it, so that requests, notes and examples of all slices can be put into the order of one reading,
whatever the order of the slices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzers.errors import CannotEvaluateError, InputError
from analyzers.logs.inputs import title_of
from analyzers.request import Log, SkippedRecord

FORMATS_JOINED_BY = " + "
"""Between the names of the formats that one file holds."""
UNREADABLE = "unreadable file"
"""Why a file was given up whose format did not matter."""


@dataclass(frozen=True, slots=True)
class FileRun:
    """What a slice gained while one file was read, or when one reader saw the end of the input.

    `file` is the file's number among all inputs, None at the end; `reader` is the name of the format that ended, None
    in a file. `requests` are so many in a row of the slice's; `formats` are (file name, format name) pairs.
    """

    file: int | None
    reader: str | None
    requests: int
    formats: tuple[tuple[str, str], ...]
    examples: tuple[SkippedRecord, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileNote:
    """A file by its number among all inputs, and what is to be said of it."""

    file: int
    text: str


@dataclass(frozen=True, slots=True)
class SliceAccount:
    """A slice of a log without its requests.

    `records`, `merged`, `unit` and `prompts_incomplete` are as in `Log`, `skipped` as pairs. `runs` hold the rest in
    order. `readers` names the formats that read records, in the order of their first one, each with the first file.
    `empty` are files without a record (their names), `problems` files that were given up (why), and `unanswerable` is
    why a log without requests cannot be evaluated, if a reader knows.
    """

    records: int
    merged: int
    skipped: tuple[tuple[str, int], ...]
    unit: int
    prompts_incomplete: bool
    runs: tuple[FileRun, ...]
    readers: tuple[FileNote, ...]
    empty: tuple[FileNote, ...]
    problems: tuple[FileNote, ...]
    unanswerable: str | None

    @property
    def requests(self) -> int:
        """How many requests the slice has."""
        return sum(run.requests for run in self.runs)


def merged_log(accounts: Sequence[SliceAccount]) -> Log:
    """The account of the whole log as a Log without requests. `accounts` stand in the order of shards and slices.

    It is what `read_log` gives, but for the counts that Gemini leaves out: `fill_omitted_zeros` wants all requests.
    Raises what `read_log` raises if no slice has a request: CannotEvaluateError or InputError.
    """
    log = Log()
    skipped: dict[str, int] = {}
    for account in accounts:
        log.records += account.records
        log.merged += account.merged
        log.unit = max(log.unit, account.unit)
        log.prompts_incomplete |= account.prompts_incomplete
        for reason, count in account.skipped:
            skipped[reason] = skipped.get(reason, 0) + count
    # A file that is read in ranges may fail in each of them.
    files = [problem.file for problem in _by_file(accounts, "problems")]
    repeated = len(files) - len(set(files))
    log.records -= repeated
    skipped[UNREADABLE] = skipped.get(UNREADABLE, 0) - repeated
    given_up: set[str] = set()
    for run, _ in _in_order(accounts):
        for file, names in run.formats:
            known = log.formats[file].split(FORMATS_JOINED_BY) if file in log.formats else []
            log.formats[file] = FORMATS_JOINED_BY.join(
                dict.fromkeys([*known, *names.split(FORMATS_JOINED_BY)])
            )
        for example in run.examples:
            if example.reason == UNREADABLE:
                if example.file in given_up:
                    continue
                given_up.add(example.file)
            log.skip(example.file, example.line, example.reason, example.detail)
        for note in run.notes:
            log.note(note)
    # Every reason has an example, so the reasons stand in the order in which they first occurred.
    log.skipped = {reason: skipped[reason] for reason in log.skipped}
    empty = [note.text for note in _by_file(accounts, "empty")]
    for name in empty:
        log.note(f"{name} is empty.")
    if not any(account.requests for account in accounts):
        _raise_why(log, accounts, empty)
    return log


def row_order(accounts: Sequence[SliceAccount]) -> npt.NDArray[np.int64]:
    """The slices' requests in the order of one reading, as places among all of them (int64, one a request).

    The requests count through all slices in the order of shards and slices; element k is the place of the request
    that `read_log` gives as its k-th, before any ordering by time.
    """
    ranges = [np.arange(at, at + run.requests, dtype=np.int64) for run, at in _in_order(accounts)]
    return np.concatenate(ranges) if ranges else np.empty(0, np.int64)


def _in_order(accounts: Sequence[SliceAccount]) -> list[tuple[FileRun, int]]:
    """The runs of all slices in the order of one reading, each with the place of its first request."""
    ranks: dict[str, int] = {}
    for use in _by_file(accounts, "readers"):
        ranks.setdefault(use.text, len(ranks))
    placed: list[tuple[tuple[bool, int], FileRun, int]] = []
    place = 0
    for account in accounts:
        for run in account.runs:
            at_end = run.file is None
            placed.append(((at_end, ranks[run.reader or ""] if at_end else run.file or 0), run, place))
            place += run.requests
    placed.sort(key=lambda each: each[0])  # stable: the slices of one file stay in order
    return [(run, start) for _, run, start in placed]


def _by_file(accounts: Sequence[SliceAccount], field: str) -> Iterator[FileNote]:
    notes: list[FileNote] = [note for account in accounts for note in getattr(account, field)]
    return iter(sorted(notes, key=lambda note: note.file))


def _raise_why(log: Log, accounts: Sequence[SliceAccount], empty: Sequence[str]) -> None:
    for account in accounts:
        if account.unanswerable is not None:
            raise CannotEvaluateError(account.unanswerable)
    for problem in _by_file(accounts, "problems"):
        raise InputError(problem.text)
    if not log.records and not empty:
        raise InputError(f"There is no log among the files found: {' '.join(log.notes)}")
    if not log.records:
        raise InputError(f"There is no record in {', '.join(empty)}.")
    first = log.examples[0] if log.examples else None
    where = (
        f": {title_of(first.file)}, line {first.line}: {first.reason}. {first.detail}".rstrip()
        if first
        else ""
    )
    raise InputError(f"None of the {log.records} records is a model call{where}")
