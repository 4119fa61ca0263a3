"""Counters that a provider leaves out of its answer when they are zero.

Gemini's JSON omits fields that hold their default (the proto3 rule), so a row without `cachedContentTokenCount`
says 0, but only where rows of the same log show that the field was logged at all.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from analyzers.request import Dialect, Log
from analyzers.request_rows import RequestRows
from analyzers.trace import MISSING, Int64

ZEROS = "Gemini leaves out counts that are zero: rows without a cached count are taken as 0, as other rows state one."


def fill_omitted_zeros(log: Log) -> None:
    """Set the cached count of Gemini rows without one to 0 where other Gemini rows of the log state it."""
    rows = [r for r in log.requests if r.dialect is Dialect.GEMINI and r.usage is not None]
    prompt = [
        MISSING if r.usage is None or r.usage.prompt_tokens is None else r.usage.prompt_tokens for r in rows
    ]
    read = [MISSING if r.usage is None or r.usage.read_tokens is None else r.usage.read_tokens for r in rows]
    for row in np.flatnonzero(_omitted(np.array(prompt, np.int64), np.array(read, np.int64))).tolist():
        usage = rows[row].usage
        assert usage is not None
        rows[row].usage = replace(usage, read_tokens=0)
        log.note(ZEROS)


def omitted_zeros_filled(rows: RequestRows, log: Log) -> RequestRows:
    """The rows as `fill_omitted_zeros` leaves them, which need all rows of a log; the note goes to `log`."""
    of_gemini = [name == Dialect.GEMINI.value for name in rows.dialect.values]
    gemini = np.flatnonzero(np.array([*of_gemini, False], bool)[rows.dialect.codes])
    filled = gemini[_omitted(rows.usage_prompt[gemini], rows.usage_read[gemini])]
    if not len(filled):
        return rows
    log.note(ZEROS)
    read = rows.usage_read.copy()
    read[filled] = 0
    return replace(rows, usage_read=read)


def _omitted(prompt: Int64, read: Int64) -> npt.NDArray[np.bool_]:
    """Which Gemini rows (bool) say by leaving out their cached count `read` that it is 0; MISSING in what is unknown."""
    if not (read > 0).any():
        return np.zeros(len(read), bool)
    unsaid: npt.NDArray[np.bool_] = (read == MISSING) & (prompt != MISSING)
    return unsaid
