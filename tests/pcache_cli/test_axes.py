import pytest

from analyzers.errors import UsageError
from pcache_cli.axes import parse_block_sizes, parse_capacities, parse_capacity, parse_lifetimes
from simulators.grids import Capacities


def test_block_sizes_are_sorted_and_distinct():
    assert parse_block_sizes("128, 16,16") == (16, 128)


@pytest.mark.parametrize("text", ["0", "-1", "16.5", "x"])
def test_block_sizes_are_whole_and_positive(text: str):
    with pytest.raises(UsageError, match="is no block size"):
        parse_block_sizes(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64GiB", (64 * 2**30, "bytes")),
        ("4096blocks", (4096, "blocks")),
        ("1.5Mtokens", (1_500_000, "tokens")),
    ],
)
def test_a_capacity_has_a_unit(text: str, expected: tuple[int, str]):
    assert parse_capacity(text) == expected


def test_a_number_without_a_unit_is_ambiguous():
    with pytest.raises(UsageError, match="write 4096blocks, 4096tokens or 4096B"):
        parse_capacities("1GiB,4096")


def test_a_range_doubles_up_to_its_end():
    assert parse_capacities("1GiB..6GiB") == Capacities("bytes", tuple(g * 2**30 for g in (1, 2, 4, 6)))
    assert parse_lifetimes("30s..4m") == (30, 60, 120, 240)


def test_a_range_with_points_is_log_spaced():
    assert parse_capacities("10blocks..1000blocks:3") == Capacities("blocks", (10, 100, 1000))


def test_no_bound_and_no_expiry():
    assert parse_capacities("none") is None
    assert parse_lifetimes("none") == (None,)
    assert parse_lifetimes("1h,none,5m") == (300, 3600, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1GiB,4blocks", "mixes blocks and bytes"),
        ("4GiB..1GiB", "runs downwards"),
        ("1GiB..4GiB:x", "no number of points"),
        ("1GiB..4GiB:1", "no range"),
        ("0GiB", "holds nothing"),
        ("lots", "not a size"),
    ],
)
def test_capacities_that_make_no_sense(text: str, message: str):
    with pytest.raises(UsageError, match=message):
        parse_capacities(text)


def test_lifetimes_that_do_not_parse():
    with pytest.raises(UsageError, match="'soon' is not a duration"):
        parse_lifetimes("5m,soon")


@pytest.mark.parametrize(
    ("parse", "text", "reason"),
    [
        (parse_block_sizes, "99999999999999999999", "the largest is"),
        (parse_capacities, "1GiB..1MiB", "'1GiB..1MiB' runs downwards"),
        (parse_lifetimes, "5m..30s", "'5m..30s' runs downwards"),
        (parse_lifetimes, "1s..5m:99999999999", "at most 1,000"),
    ],
)
def test_what_no_machine_could_hold_or_tell_apart_is_refused(parse, text: str, reason: str):
    with pytest.raises(UsageError, match=reason):
        parse(text)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_capacities, "99999999999999999999999Gtokens"),
        (parse_capacities, "1tokens..99999999999999999999Gblocks"),
        (parse_capacities, "99999999999999999999999TiB"),
        (parse_lifetimes, "99999999999d"),
        (parse_lifetimes, "1s..99999999999d"),
    ],
)
def test_sizes_and_lifetimes_beyond_any_machine_or_century_are_refused(parse, text: str):
    with pytest.raises(UsageError, match=r"than any machine holds|longer than a hundred years"):
        parse(text)
