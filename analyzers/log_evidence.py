"""What the rules about logs look at: the traced log, its usage, its divergences, slots and misses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analyzers.divergence import Divergence, Slot
from analyzers.divergences import Divergences, find_divergences
from analyzers.misses import ASKING, Miss, depth_within, find_misses
from analyzers.pipeline import TracedLog
from analyzers.rules.checking import ModelLimits
from analyzers.slots import find_slots
from analyzers.usage_record import UsageRecord, usage_record

LEAST_SETTING = 1024
"""Tokens from which a setting that nothing confirms is worth a note."""

Limits = Callable[[str | None, str | None], ModelLimits]


@dataclass(frozen=True)
class LogEvidence:
    """`limits_of` says what is known of a model by (provider, model)."""

    traced: TracedLog
    usage: UsageRecord
    divergences: Divergences
    slots: tuple[Slot, ...]
    misses: tuple[Miss, ...]
    limits_of: Limits

    def unconfirmed_settings(self) -> list[tuple[str, list[int], list[int]]]:
        """Parameters whose value keeps requests without logged reads from an equal prefix: (name, rows, tokens)."""
        found = []
        requests = self.traced.log.requests
        for name in sorted({name for request in requests for name, _ in request.parameters}):
            within = depth_within(self.traced, [dict(r.parameters).get(name, b"") for r in requests])
            lost = self.divergences.reusable - within
            rows = np.flatnonzero((lost >= LEAST_SETTING) & (self.usage.read < 0)).tolist()
            seen = {dict(r.parameters).get(name, b"") for r in requests}
            # The first request with each value has nothing to continue: only a switch between them counts.
            if len(rows) > len(seen):
                found.append((name, rows, lost[rows].tolist()))
        return found

    def one_session(self, row: int, other: int) -> bool | None:
        """Whether two requests name the same session; None where one names none."""
        sessions = self.traced.trace.requests.session
        own, theirs = sessions.of(row), sessions.of(other)
        return None if own is None or theirs is None else own == theirs

    def request_id(self, row: int) -> str:
        return self.traced.trace.requests.request_id[row]

    def lost(self, divergence: Divergence) -> tuple[int, bool]:
        """What a broken prefix lost in a request, in the log's own tokens, and whether that is exact.

        Exact where the log states what the earlier request left in the cache: that, as far as it fits into the
        prompt, less what was read. Else the tokens of our count in the log's scale. Where yet another request had
        a longer prefix to offer, what was read need not come from this one, so the count is an estimate too.
        """
        usage, row, against = self.usage, divergence.request, divergence.against
        estimate = round(divergence.lost * float(usage.scale[row]))
        if self.divergences.reusable[row] > divergence.common + ASKING:
            return estimate, False
        read, left = int(usage.read[row]), int(usage.cached[against])
        if read >= 0 and left > 0 and int(usage.written[against]) >= 0:
            return max(0, min(left, int(usage.prompt[row])) - read), True
        earlier = int(usage.read[against])
        if read >= 0 and earlier > read and abs(read + estimate - earlier) <= max(128, estimate // 20):
            return earlier - read, True
        return estimate, False


def log_evidence(traced: TracedLog, limits_of: Limits = lambda provider, model: ModelLimits()) -> LogEvidence:
    """Gather the evidence of a log."""
    usage = usage_record(traced)
    divergences = find_divergences(traced, usage)
    slots = tuple(find_slots(traced, divergences))
    return LogEvidence(traced, usage, divergences, slots, find_misses(traced, usage, divergences), limits_of)
