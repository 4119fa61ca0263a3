"""The usage columns of a trace as they are meant, where a provider's JSON leaves something out."""

import numpy as np

from analyzers.trace import Int64, Trace

# Gemini answers in proto3 JSON, which leaves out counts that are zero.
_OMIT_ZEROS = ("gemini", "google", "vertex", "vertex_ai")


def logged_reads(trace: Trace) -> Int64:
    """Read tokens of each request, -1 where not known. A missing count is 0 for a provider whose JSON leaves
    out zeros, if other rows of that provider do carry the field."""
    table = trace.requests
    reads = table.usage_read
    stating = set(table.provider.codes[reads >= 0].tolist())
    omitting = [
        code for code, name in enumerate(table.provider.values) if name in _OMIT_ZEROS and code in stating
    ]
    zero = np.isin(table.provider.codes, omitting) & (reads < 0) & (table.usage_prompt >= 0)
    return np.where(zero, 0, reads)
