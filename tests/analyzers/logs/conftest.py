"""Every log that the tests of this folder read is read in shards and slices too, cut wherever its formats allow.

So each sample of a format also tests what its reader says of its reach.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import analyzers.logs
from analyzers.errors import PcacheError
from analyzers.logs.inputs import STDIN
from analyzers.logs.reading import read
from analyzers.request import Log
from tests.analyzers.logs.joining import read_joined, told


def _read_both_ways(inputs: Sequence[str], formats: Any, **options: Any) -> Log:
    if STDIN in inputs:  # it can be read but once
        return read(inputs, formats, **options)
    try:
        log = read(inputs, formats, **options)
    except PcacheError as error:
        _assert_joined_fails_alike(error, inputs, options)
        raise
    assert told(read_joined(inputs, **options)) == told(log)
    return log


def _assert_joined_fails_alike(error: PcacheError, inputs: Sequence[str], options: dict[str, Any]) -> None:
    with pytest.raises(PcacheError) as raised:
        read_joined(inputs, **options)
    assert (raised.value.exit_code, str(raised.value)) == (error.exit_code, str(error))


@pytest.fixture(scope="package", autouse=True)
def _logs_are_read_in_slices_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyzers.logs, "read", _read_both_ways)
        yield
