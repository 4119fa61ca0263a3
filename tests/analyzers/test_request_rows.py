"""What a log says about its calls, as columns: cut anywhere and put together again, they are the same."""

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.namespaces import field_values, number_namespaces
from analyzers.request import Dialect, Identity, Request
from analyzers.request_rows import RequestRows, concatenated, in_order_of_appearance, rows_of
from analyzers.trace import MISSING, NO_TIME, Names, Ragged
from analyzers.usage import Usage

_NAMES = st.sampled_from([None, "", "a", "b", "c"])
_COUNTS = st.none() | st.integers(0, 9)


@st.composite
def _requests(draw: st.DrawFn) -> Request:
    labels = draw(st.dictionaries(st.sampled_from(["region", "client"]), st.sampled_from("xyz")))
    written = draw(st.none() | st.dictionaries(st.sampled_from([0, 300, 3600]), st.integers(0, 5)))
    usage = Usage(draw(_COUNTS), draw(_COUNTS), written, draw(_COUNTS))
    return Request(
        request_id=draw(st.text("rq", min_size=1, max_size=3)),
        file=draw(st.sampled_from(["one", "two"])),
        line=draw(st.integers(1, 9)),
        dialect=draw(st.sampled_from(Dialect)),
        parts=(),
        time_ns=draw(_COUNTS),
        model=draw(_NAMES),
        provider=draw(_NAMES),
        identity=Identity(tenant=draw(_NAMES), session=draw(_NAMES), labels=tuple(sorted(labels.items()))),
        usage=draw(st.sampled_from([usage, None])),
    )


def _plain(rows: RequestRows) -> list[object]:
    """Every column row by row, whatever the numbers of its values."""
    found: list[object] = []
    for field in dataclasses.fields(rows):
        column = getattr(rows, field.name)
        if isinstance(column, Names):
            found.append([column.of(row) for row in range(len(rows))])
        elif isinstance(column, Ragged):
            found.append([column.of(row).tolist() for row in range(len(rows))])
        elif field.name == "identity":
            found.append([rows.identities[code] for code in column.tolist()])
        elif field.name != "identities":
            found.append(list(column))
    return found


@settings(max_examples=100, deadline=None)
@given(st.lists(_requests(), min_size=1, max_size=8), st.data())
def test_rows_cut_anywhere_and_put_together_are_the_rows(
    requests: list[Request], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(requests)), max_size=3)))
    slices = [requests[a:b] for a, b in zip([0, *cuts], [*cuts, len(requests)], strict=True)]
    together = concatenated([rows_of(some) for some in slices])
    assert _plain(together) == _plain(rows_of(requests))


@settings(max_examples=100, deadline=None)
@given(st.lists(_requests(), min_size=1, max_size=8), st.data())
def test_rows_taken_are_the_rows_of_the_requests_taken(requests: list[Request], data: st.DataObject) -> None:
    index = data.draw(st.lists(st.integers(0, len(requests) - 1), max_size=8))
    taken = rows_of(requests).take(np.array(index, np.int64))
    expected = rows_of([requests[i] for i in index])
    assert _plain(taken) == _plain(expected)
    for name in ("model", "file"):
        renumbered = in_order_of_appearance(getattr(taken, name))
        assert renumbered.values == getattr(expected, name).values
        np.testing.assert_array_equal(renumbered.codes, getattr(expected, name).codes)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(_requests(), min_size=1, max_size=8), st.sets(st.sampled_from(["model", "tenant", "session"]))
)
def test_requests_share_a_namespace_when_they_agree_in_every_field(
    requests: list[Request], fields: set[str]
) -> None:
    rows = rows_of(requests)
    names = tuple(sorted(fields))
    columns = [field_values(rows, name) for name in names]
    keys = [tuple(column.of(row) for column in columns) for row in range(len(rows))]
    numbers: dict[tuple[str | None, ...], int] = {}
    expected = [numbers.setdefault(key, len(numbers)) for key in keys]
    codes, labels = number_namespaces(rows, names)
    assert codes.tolist() == expected
    assert codes.dtype == np.int32
    assert labels == tuple(
        ", ".join(f"{n}={'?' if v is None else v}" for n, v in zip(names, key, strict=True)) or "all"
        for key in numbers
    )


def test_what_a_log_does_not_say_is_missing() -> None:
    rows = rows_of([Request("r", "f", 1, Dialect.TEXT, ())])
    assert rows.time_ns[0] == NO_TIME
    assert rows.usage_read[0] == MISSING
    assert rows.model.of(0) is None
