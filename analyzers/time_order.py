"""Requests in time order, and those of a period."""

from itertools import pairwise

import numpy as np

from analyzers.errors import CannotEvaluateError
from analyzers.request import Log
from analyzers.trace import NO_TIME


def put_in_time_order(log: Log) -> None:
    """Sort the requests by time, keeping file order among equals; a request without a time stays behind the one
    it follows in the file. Notes missing times and a log that stood in reverse."""
    requests = log.requests
    times = [r.time_ns for r in requests]
    known = [t for t in times if t is not None]
    if not known:
        log.note("no request has a time: file order is taken as time order")
        return
    if len(known) < len(times):
        log.note(f"{_requests(len(times) - len(known))} without a time kept the place that the file gives")
    falls = sum(b < a for a, b in pairwise(known))
    rises = sum(b > a for a, b in pairwise(known))
    if falls > rises and falls > 1:
        log.note("the log stands in reverse time order and was turned round")
        if len(known) == len(times):
            requests.reverse()
            times.reverse()
    elif falls:
        log.note(f"{_requests(falls)} out of time order: sorted")
    keys: list[int] = []
    last = min(known)
    for time in times:
        last = time if time is not None else last
        keys.append(last)
    order = sorted(range(len(requests)), key=keys.__getitem__)
    log.requests = [requests[i] for i in order]


def _requests(number: int) -> str:
    return "1 request" if number == 1 else f"{number:,} requests"


def keep_period(log: Log, since_ns: int | None, until_ns: int | None) -> None:
    """Leave the requests with since <= time < until and count the others as skipped.

    Raises CannotEvaluateError when the log has no times or nothing is left.
    """
    if since_ns is None and until_ns is None:
        return
    if all(r.time_ns is None for r in log.requests):
        raise CannotEvaluateError("--since and --until need times, and no request of this log has one")
    low = since_ns if since_ns is not None else NO_TIME
    high = until_ns if until_ns is not None else np.iinfo(np.int64).max
    kept = [r for r in log.requests if r.time_ns is not None and low <= r.time_ns < high]
    outside = len(log.requests) - len(kept)
    if outside:
        log.skipped["outside the period"] = outside
    if not kept:
        raise CannotEvaluateError("no request lies between --since and --until")
    log.requests = kept
