"""What breaks the prefix in a log: one breaker a rule and place, with the requests it hits and what they lose."""

from dataclasses import dataclass

from analyzers.divergence import Slot
from analyzers.findings import Finding


@dataclass(frozen=True, slots=True)
class Breaker:
    """A finding over a log, and what a replay needs to take its cause out.

    `slot` is None for what is no change of content (markers, time, identity, accounting). `requests` are rows of
    the trace that lose by it, in time order; `lost` the prompt tokens each of them lost, in the units of
    `Finding.tokens_lost`.
    """

    finding: Finding
    slot: Slot | None = None
    requests: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
