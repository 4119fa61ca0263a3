"""Every way in which logs write times, to the nanosecond where the log is that fine."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.logs.timestamps import (
    EARLIEST,
    LATEST,
    NO_ZONE,
    UNREADABLE,
    is_out_of_range,
    parse_time,
    read_time,
)
from analyzers.request import Log

SECONDS = 1_791_190_800  # 2026-10-05 09:00:00 UTC
NS = SECONDS * 10**9


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (SECONDS, NS),
        (SECONDS * 1_000, NS),
        (SECONDS * 1_000_000, NS),
        (SECONDS * 1_000_000_000, NS),
        (SECONDS + 0.25, NS + 250_000_000),
        (SECONDS * 1000 + 0.5, NS + 500_000),
        (str(SECONDS), NS),
        (f"{SECONDS}.25", NS + 250_000_000),
        ("2026-10-05T09:00:00Z", NS),
        ("2026-10-05T09:00:00.000Z", NS),
        ("2026-10-05T09:00:00.123456789Z", NS + 123_456_789),
        ("2026-10-05T11:00:00+02:00", NS),
        ("2026-10-05T11:00:00.5+0200", NS + 500_000_000),
        ("2026-10-05 09:00:00", NS),
        ("2026-10-05 09:00:00.6805900", NS + 680_590_000),
        ("2026-10-05 09:00:00 UTC", NS),
        ("2026-10-05", NS - 9 * 3600 * 10**9),
        ("Mon, 05 Oct 2026 09:00:00 GMT", NS),
        (0, 0),
        (-1, -(10**9)),
    ],
)
def test_times_are_read_in_every_unit_and_notation(value: object, expected: int) -> None:
    assert parse_time(value) == expected


@pytest.mark.parametrize(
    "value",
    [None, True, "", "yesterday", "2026-13-40T00:00:00Z", float("nan"), 10**40, "1e400", [1], {"a": 1}],
)
def test_what_is_no_time_is_none(value: object) -> None:
    assert parse_time(value) is None


@pytest.mark.parametrize("value", ["2999-01-01", "1700-01-01T00:00:00Z", 5 * 10**18, "32472144000"])
def test_a_time_beyond_the_range_is_told_from_what_is_no_time(value: object) -> None:
    assert parse_time(value) is None
    assert is_out_of_range(value)


@pytest.mark.parametrize("value", ["yesterday", "", EARLIEST, LATEST, 0])
def test_what_is_no_time_or_in_the_range_is_not_out_of_it(value: object) -> None:
    assert not is_out_of_range(value)


def test_the_range_ends_with_the_midnights_that_are_named() -> None:
    first, last = parse_time(EARLIEST), parse_time(LATEST)
    assert first is not None
    assert last is not None
    day = timedelta(days=1)
    before, after = datetime.fromisoformat(EARLIEST) - day, datetime.fromisoformat(LATEST) + day
    assert is_out_of_range(before)
    assert is_out_of_range(after)


def test_a_stated_unit_wins_over_the_size() -> None:
    assert parse_time(3000, "ms") == 3 * 10**9


@pytest.mark.parametrize(("first", "per_second"), [(10**11, 10**3), (10**14, 10**6), (10**17, 10**9)])
def test_the_size_tells_the_unit_from_its_first_number_on(first: int, per_second: int) -> None:
    assert parse_time(first) == first * 10**9 // per_second
    assert (
        parse_time(first - 1) is None
    )  # of the coarser unit, and beyond the times that nanoseconds can hold


def test_missing_zones_and_unreadable_times_are_noted_once() -> None:
    log = Log()
    assert read_time("2026-10-05 09:00:00", log) == NS
    assert read_time("2026-10-05 09:00:00", log) == NS
    assert read_time("2026-10-05T09:00:00Z", log) == NS
    assert read_time("noon", log) is None
    assert read_time(None, log) is None
    assert log.notes == [NO_ZONE, UNREADABLE]


moments = st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1))


@given(moments, st.integers(-12 * 60, 14 * 60))
def test_iso_text_keeps_its_instant_whatever_its_zone(moment: datetime, minutes: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    exact = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    assert parse_time(aware.isoformat()) == exact
    assert parse_time(aware.astimezone(UTC).isoformat().replace("+00:00", "Z")) == exact


@given(st.integers(10**8, 4 * 10**9), st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_whole_epochs_are_exact_in_every_unit(seconds: int, per_second: int) -> None:
    assert parse_time(seconds * per_second) == seconds * 10**9
    assert parse_time(str(seconds * per_second)) == seconds * 10**9
