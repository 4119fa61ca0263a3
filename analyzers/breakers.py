"""What breaks the prefix in a log: one breaker a rule and place, with the requests it hits and what they lose."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzers.divergence import Slot
from analyzers.findings import Finding

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.pipeline import TracedLog
    from analyzers.rules.checking import ModelLimits


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


def find_breakers(
    traced: "TracedLog", limits_of: "Callable[[str | None, str | None], ModelLimits] | None" = None
) -> list[Breaker]:
    """The breakers of a log, the worst first. `limits_of` says what is known of a model by (provider, model);
    without it, rules that need a model's minimum are silent."""
    from analyzers.log_evidence import log_evidence

    return breakers_of(log_evidence(traced) if limits_of is None else log_evidence(traced, limits_of))


def breakers_of(log: "LogEvidence", pairs_only: bool = False) -> list[Breaker]:
    """What the rules find in the evidence of a log, the most tokens lost first, then the worse level.

    `pairs_only` leaves out the rules that look at a log as a whole.
    """
    from analyzers.rules.registry import all_rules

    found: list[Breaker] = []
    for rule in all_rules().values():
        if rule.pair is not None:
            for slot in log.slots:
                found += rule.pair(slot, log)
        if rule.log is not None and not pairs_only:
            found += rule.log(log)
    return sorted(found, key=lambda b: (-(b.finding.tokens_lost or 0), b.finding.level.rank, b.finding.rule))
