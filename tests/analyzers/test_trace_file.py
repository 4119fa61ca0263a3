"""A trace comes back from its file as it was."""

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.errors import InputError
from analyzers.trace import Names, Ragged, Trace
from analyzers.trace_file import is_trace_file, load_trace, save_trace
from tests.trace_builder import trace_from_tokens

TOKENS = st.lists(st.integers(0, 3), max_size=8)


def assert_same(a: object, b: object) -> None:
    if isinstance(a, np.ndarray):
        assert isinstance(b, np.ndarray)
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()
    elif dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name))
    else:
        assert a == b


@given(
    st.lists(
        st.tuples(TOKENS, TOKENS, st.sampled_from(["x", "y"]), st.sampled_from(["s", None])), max_size=6
    ),
)
def test_what_is_saved_is_loaded(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple]) -> None:  # type: ignore[type-arg]
    trace = trace_from_tokens(
        [r[0] for r in rows],
        [r[1] for r in rows],
        times=[float(i) for i in range(len(rows))],
        namespaces=[r[2] for r in rows] or None,
        sessions=[r[3] for r in rows],
        boundaries=[[len(r[0])] for r in rows],
    )
    path = tmp_path_factory.mktemp("trace") / "t.parquet"
    save_trace(trace, path)
    assert is_trace_file(path)
    assert_same(load_trace(path), trace)
    first = path.read_bytes()
    save_trace(load_trace(path), path)
    assert path.read_bytes() == first


def test_a_node_stands_in_the_row_of_the_request_that_brought_it(tmp_path: Path) -> None:
    trace = trace_from_tokens([[1, 2, 3], [1, 2, 4]])
    save_trace(trace, tmp_path / "t.parquet")
    rows = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["node_depth_end"] for row in rows] == [[2, 3], [3]]
    assert [row["leaf"] for row in rows] == [1, 2]


def test_unknown_counts_are_null_in_the_file(tmp_path: Path) -> None:
    save_trace(trace_from_tokens([[1]]), tmp_path / "t.parquet")
    row = pq.read_table(tmp_path / "t.parquet").to_pylist()[0]
    assert row["usage_read"] is None
    assert row["time_ns"] is None


def test_parquet_without_a_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    assert not is_trace_file(path)
    with pytest.raises(InputError, match="no trace"):
        load_trace(path)


def test_a_damaged_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    save_trace(trace_from_tokens([[1, 2]]), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot read"):
        load_trace(path)


def test_a_trace_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        save_trace(trace_from_tokens([[1]]), tmp_path / "no" / "t.parquet")


def test_text_columns_keep_unknown_apart_from_empty() -> None:
    names = Names(np.array([0, -1], np.int32), [""])
    assert names.of(0) == ""
    assert names.of(1) is None


def test_a_ragged_row_is_a_slice() -> None:
    ragged = Ragged(np.array([0, 2, 2], np.int64), np.array([5, 6], np.int64))
    assert ragged.of(0).tolist() == [5, 6]
    assert ragged.of(1).tolist() == []
    assert isinstance(trace_from_tokens([]), Trace)
