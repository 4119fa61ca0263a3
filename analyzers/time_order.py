"""Requests in time order, and those of a period."""

import numpy as np
import numpy.typing as npt

from analyzers.errors import CannotEvaluateError
from analyzers.request import Log
from analyzers.trace import NO_TIME, Int64

Bool = npt.NDArray[np.bool_]

OUTSIDE = "outside the period"
"""The reason under which requests that --since and --until leave out are counted."""


def put_in_time_order(log: Log) -> None:
    """Sort the requests of a log, see `time_order`, and add what is to be said about their times to its notes."""
    requests = log.requests
    times = np.array([NO_TIME if r.time_ns is None else r.time_ns for r in requests], np.int64)
    order, notes = time_order(times)
    log.requests = [requests[i] for i in order.tolist()]
    for note in notes:
        log.note(note)


def time_order(time_ns: Int64) -> tuple[Int64, list[str]]:
    """The places of requests in the order of time (int64), and notes on missing times and a log in reverse.

    `time_ns` (int64) stands in file order, which is kept among equal times; a request without a time stays behind
    the one it follows in the file.
    """
    place = np.arange(len(time_ns), dtype=np.int64)
    known = time_ns != NO_TIME
    if not known.any():
        return place, ["no request has a time: file order is taken as time order"]
    notes = []
    missing = int((~known).sum())
    if missing:
        notes.append(f"{_requests(missing)} without a time kept the place that the file gives")
    steps = np.diff(time_ns[known])
    falls, rises = int((steps < 0).sum()), int((steps > 0).sum())
    if falls > rises and falls > 1:
        notes.append("the log stands in reverse time order and was turned round")
        if not missing:
            place = place[::-1]
    elif falls:
        notes.append(f"{_requests(falls)} out of time order: sorted")
    last_known = np.maximum.accumulate(np.where(known, np.arange(len(time_ns)), -1))
    keys = np.where(last_known >= 0, time_ns[last_known], time_ns[known].min())
    return place[np.argsort(keys[place], kind="stable")], notes


def keep_period(log: Log, since_ns: int | None, until_ns: int | None) -> None:
    """Leave the requests with since <= time < until and count the others as skipped.

    Raises CannotEvaluateError when the log has no times or nothing is left.
    """
    if since_ns is None and until_ns is None:
        return
    times = np.array([NO_TIME if r.time_ns is None else r.time_ns for r in log.requests], np.int64)
    kept = in_period(times, since_ns, until_ns)
    check_period(times, kept)
    outside = len(kept) - int(kept.sum())
    if outside:
        log.skipped[OUTSIDE] = outside
    log.requests = [request for request, keep in zip(log.requests, kept.tolist(), strict=True) if keep]


def in_period(time_ns: Int64, since_ns: int | None, until_ns: int | None) -> Bool:
    """Which requests have since <= time < until (bool); those without a time do not, if there is a limit."""
    if since_ns is None and until_ns is None:
        return np.ones(len(time_ns), bool)
    low = since_ns if since_ns is not None else NO_TIME
    high = until_ns if until_ns is not None else np.iinfo(np.int64).max
    inside: Bool = (time_ns != NO_TIME) & (time_ns >= low) & (time_ns < high)
    return inside


def check_period(time_ns: Int64, kept: Bool) -> None:
    """Raises CannotEvaluateError when no request has a time, or none is kept."""
    if not (time_ns != NO_TIME).any():
        raise CannotEvaluateError("--since and --until need times, and no request of this log has one")
    if not kept.any():
        raise CannotEvaluateError("no request lies between --since and --until")


def _requests(number: int) -> str:
    return "1 request" if number == 1 else f"{number:,} requests"
