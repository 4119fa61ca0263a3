"""Whatever a record holds, a reader reads it, skips it or refuses it: it never crashes and never loses it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import PcacheError
from analyzers.logs import FORMATS
from analyzers.logs.reader import NotThisFormatError, Reader, Record
from analyzers.request import Log

COMMON = (
    "id messages role content usage request response body url method headers status input output model type timestamp "
    "name attributes metadata text choices message tools system parts events data error string function arguments"
).split()
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 10**20)
    | st.floats(allow_nan=False)
    | st.sampled_from(
        ["", "x", "user", "assistant", "POST", "{}", "[]", '{"a":1}', "https://api.openai.com/v1/responses"]
    )
)


def records_of(reader: type[Reader]) -> st.SearchStrategy[Any]:
    """Objects with the keys of a format and with any values under them."""
    names = st.sampled_from([*reader.keys, *COMMON])
    values = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
        max_leaves=12,
    )
    usual = st.fixed_dictionaries({}, optional=dict.fromkeys(reader.keys, values))
    return st.builds(lambda some, more: {**more, **some}, usual, st.dictionaries(names, values, max_size=4))


def read_all(reader: type[Reader], log: Log, records: list[Any]) -> None:
    opened = reader(log, {})
    for number, record in enumerate(records, 1):
        assert reader.matches(record) >= 0
        log.records += 1
        try:
            opened.read(Record("log", number, msgspec.json.encode(record)))
        except (NotThisFormatError, msgspec.DecodeError):
            log.skip("log", number, "refused")
    opened.end_of_file()
    opened.end_of_input()


@pytest.mark.parametrize("reader", FORMATS, ids=lambda reader: reader.name)
def test_a_record_is_read_skipped_or_refused_and_accounted_for(reader: type[Reader]) -> None:
    @given(st.lists(records_of(reader) | scalars, min_size=1, max_size=3))
    @settings(max_examples=40, deadline=None)
    def check(records: list[Any]) -> None:
        log = Log()
        try:
            read_all(reader, log, records)
        except PcacheError:  # one sentence for the user, which ends the run
            return
        assert log.records == len(log.requests) + log.merged + sum(log.skipped.values())

    check()
