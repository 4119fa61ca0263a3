"""Counters that a provider leaves out of its answer when they are zero.

Gemini's JSON omits fields that hold their default (the proto3 rule), so a row without `cachedContentTokenCount`
says 0, but only where rows of the same log show that the field was logged at all.
"""

from dataclasses import replace

from analyzers.request import Dialect, Log

ZEROS = "Gemini leaves out counts that are zero: rows without a cached count are taken as 0, as other rows state one."


def fill_omitted_zeros(log: Log) -> None:
    """Set the cached count of Gemini rows without one to 0 where other Gemini rows of the log state it."""
    rows = [r for r in log.requests if r.dialect is Dialect.GEMINI and r.usage is not None]
    if not any(r.usage is not None and r.usage.read_tokens for r in rows):
        return
    for request in rows:
        usage = request.usage
        if usage is not None and usage.read_tokens is None and usage.prompt_tokens is not None:
            request.usage = replace(usage, read_tokens=0)
            log.note(ZEROS)
