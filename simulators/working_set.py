"""The working set over time: what a lifetime of some length keeps, and so how much room it can use."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzers.trace import Int64
from simulators.blocks import CachedSequences
from simulators.stack_records import StackRecords
from simulators.touch_records import Touches


@dataclass(frozen=True)
class WorkingSet:
    """Distinct tokens (in whole blocks) touched within a window: what a lifetime of that length keeps."""

    window_s: float
    peak_tokens: int
    median_tokens: int
    time_ns: Int64
    """Starts of equal spans of the trace."""
    peak_in_span_tokens: Int64


def working_sets(
    sequences: CachedSequences,
    touched: Touches,
    records: StackRecords,
    windows_s: Sequence[float],
    spans: int = 60,
) -> tuple[WorkingSet, ...]:
    """The working set over time for each window, `()` for a trace without times."""
    from simulators.kernels.stack import working_set

    if touched.time_ns is None or not len(touched.time_ns):
        return ()
    times = touched.time_ns
    blocks = working_set(
        touched.offsets,
        touched.last,
        records.width,
        sequences.total_tokens // records.size,
        times,
        np.array([round(w * 1e9) for w in windows_s], np.int64),
    )
    tokens = blocks * records.size
    # Counted from the first: a float cannot hold nanoseconds since the epoch exactly.
    length = int(times[-1]) - int(times[0])
    starts = int(times[0]) + np.linspace(0, length, spans, endpoint=False).astype(np.int64)
    span = np.searchsorted(starts, times, side="right") - 1
    series = []
    for w, window in enumerate(windows_s):
        peaks = np.zeros(spans, np.int64)
        np.maximum.at(peaks, span, tokens[:, w])
        series.append(
            WorkingSet(
                window_s=window,
                peak_tokens=int(tokens[:, w].max()),
                median_tokens=int(np.median(blocks[:, w])) * records.size,
                time_ns=starts,
                peak_in_span_tokens=peaks,
            )
        )
    return tuple(series)
