import numpy as np

from simulators.miss_classes import MissClass, MissClasses
from simulators.miss_timeline import miss_timeline
from tests.trace_builder import trace_from_tokens


def classes(hit: list[int], cold: list[int]) -> MissClasses:
    tokens = {
        MissClass.HIT: np.array(hit),
        MissClass.EVICTED: np.zeros(len(hit), np.int64),
        MissClass.COLD: np.array(cold),
    }
    return MissClasses(tokens, True, True)


def test_spans_of_time_add_up_to_every_token():
    trace = trace_from_tokens([[1], [1], [1], [1]], times=[0, 1, 9, 10])
    line = miss_timeline(trace, classes([0, 1, 1, 1], [1, 0, 0, 0]), spans=2)
    assert line.timed
    assert line.tokens[MissClass.HIT].tolist() == [1, 2]
    assert line.tokens[MissClass.COLD].tolist() == [1, 0]
    assert line.requests.tolist() == [2, 2]
    assert MissClass.EVICTED not in line.tokens


def test_without_times_spans_are_of_requests():
    trace = trace_from_tokens([[1], [1], [1], [1]])
    line = miss_timeline(trace, classes([0, 1, 1, 1], [1, 0, 0, 0]), spans=2)
    assert not line.timed
    assert line.starts.tolist() == [0, 2]
    assert line.end == 4
    assert line.requests.tolist() == [2, 2]


def test_more_spans_than_requests_are_not_drawn():
    trace = trace_from_tokens([[1], [1]])
    assert len(miss_timeline(trace, classes([0, 1], [1, 0])).starts) == 2


def test_every_request_has_a_span_also_at_times_no_float_can_hold():
    trace = trace_from_tokens([[1]] * 4, times=[0] * 4)
    for first in range(1_760_000_000_000_000_001, 1_760_000_000_000_000_300, 7):
        trace.requests.time_ns[:] = [first, first + 1, first + 10**9, first + 10**9 + 3]
        line = miss_timeline(trace, classes([0, 1, 1, 1], [1, 0, 0, 0]))
        assert line.requests.sum() == 4
        assert line.requests[0] == 2
