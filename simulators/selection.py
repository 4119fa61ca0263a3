"""Choosing requests by a column of the request table."""

import numpy as np
import numpy.typing as npt

from analyzers.errors import UsageError
from analyzers.trace import Names, Trace

FIELDS = ("tenant", "session", "model", "provider", "route")
"""Columns that can be selected by."""


def matching(trace: Trace, field: str, value: str) -> npt.NDArray[np.bool_]:
    """Which requests have this value in this column (bool per request). Raises UsageError for another column."""
    if field not in FIELDS:
        raise UsageError(f"requests have no field '{field}' to select by; there are {', '.join(FIELDS)}")
    names: Names = getattr(trace.requests, field)
    code = names.values.index(value) if value in names.values else -2
    chosen: npt.NDArray[np.bool_] = names.codes == code
    return chosen
