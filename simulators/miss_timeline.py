"""The classes of a run's prompt tokens over the time of the log."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analyzers.trace import NO_TIME, Int64, Trace
from simulators.miss_classes import MissClass, MissClasses


@dataclass(frozen=True)
class MissTimeline:
    """Prompt tokens by class in equal spans: of time where every request has one, else of requests.

    `starts` (int64) are nanoseconds since the epoch, or rows where `timed` is False; `end` is where the last span
    ends. `tokens` holds int64[spans] a class, classes without tokens left out; `requests` int64[spans].
    """

    timed: bool
    starts: Int64
    end: int
    tokens: Mapping[MissClass, Int64]
    requests: Int64


def miss_timeline(trace: Trace, classes: MissClasses, spans: int = 60) -> MissTimeline:
    """Sum the classes of all requests over `spans` spans of the log."""
    times = trace.requests.time_ns
    timed = len(times) > 1 and bool((times != NO_TIME).all()) and int(times[-1]) > int(times[0])
    place = times if timed else np.arange(len(times), dtype=np.int64)
    begin = int(place[0]) if len(place) else 0
    end = int(place[-1]) + 1 if len(place) else 1
    spans = max(1, min(spans, end - begin))
    # Counted from the first: a float cannot hold nanoseconds since the epoch exactly.
    starts = begin + np.linspace(0, end - begin, spans, endpoint=False).astype(np.int64)
    span = np.searchsorted(starts, place, side="right") - 1
    return MissTimeline(
        timed=timed,
        starts=starts,
        end=end,
        tokens={
            kind: np.bincount(span, tokens, spans).astype(np.int64)
            for kind, tokens in classes.tokens.items()
            if tokens.any()
        },
        requests=np.bincount(span, minlength=spans).astype(np.int64),
    )
