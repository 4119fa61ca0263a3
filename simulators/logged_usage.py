"""The usage columns of a trace as they are meant, and how they relate to the prompts that the log holds."""

import numpy as np
import numpy.typing as npt

from analyzers.trace import Int64, Trace

LEAST_SCALE, LARGEST_SCALE = 0.5, 2.0
"""Outside these, a row's logged prompt and its content are not the same text: parts of it are not in the log."""

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


def scales(trace: Trace) -> npt.NDArray[np.float64]:
    """Per request the factor from the trace's tokens to those the log states: 1 where it states none or holds
    only part of the prompt."""
    ratio = _ratio(trace)
    return np.where(np.isfinite(ratio) & _whole(ratio), ratio, 1.0)


def share_of_partial_prompts(trace: Trace) -> float:
    """The share of the logged prompt tokens that stand in rows whose content is not all in the log."""
    ratio, logged = _ratio(trace), np.maximum(trace.requests.usage_prompt, 0)
    partial = np.isfinite(ratio) & ~_whole(ratio)
    return float(logged[partial].sum() / max(int(logged.sum()), 1))


def _ratio(trace: Trace) -> npt.NDArray[np.float64]:
    prompt, logged = trace.requests.prompt_tokens, trace.requests.usage_prompt
    known = (logged > 0) & (prompt > 0) & (trace.requests.leaf >= 0)
    return np.where(known, logged / np.maximum(prompt, 1), np.nan)


def _whole(ratio: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    return (ratio > LEAST_SCALE) & (ratio < LARGEST_SCALE)
