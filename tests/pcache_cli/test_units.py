"""Sizes, durations, lists and ranges as people type them."""

import pytest

from analyzers.errors import UsageError
from pcache_cli.units import parse_duration, parse_size, split_list, split_range


@pytest.mark.parametrize(
    ("text", "expected"),
    [("512MiB", 512 * 2**20), ("2GB", 2 * 10**9), ("1.5 kib", 1536), ("7", 7), ("1TiB", 2**40)],
)
def test_sizes(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("250ms", 0.25), ("30s", 30), ("5m", 300), ("1h", 3600), ("2d", 172800), ("9", 9)]
)
def test_durations(text: str, expected: float) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "x", "5 fortnights", "-3", "1..2"])
def test_nonsense_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="write for example"):
        parse_size(text)
    with pytest.raises(UsageError, match="write for example"):
        parse_duration(text)


def test_lists_and_ranges() -> None:
    assert split_list("1, 16,128") == ["1", "16", "128"]
    assert split_range("1GiB..64GiB") == ("1GiB", "64GiB")
    assert split_range("16") is None
    for text in ("a,,b", ""):
        with pytest.raises(UsageError, match="empty item"):
            split_list(text)
    with pytest.raises(UsageError, match="half a range"):
        split_range("1GiB..")
