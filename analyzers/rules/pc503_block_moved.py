"""A block stands only on the newest turn.

What: a block (environment details, reminders) that an old message had is gone from it and stands in a newer one.

Why: the old message changes each time a turn begins, and all history behind it is read anew.

Bad: environment details attached to the newest user message and removed from the one before.

Good: leave the old block where it is and add a new one to the newest message.

Must not flag: a block that is added to the newest message while the old ones stay.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Level
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import slot_breaker

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if slot.change is Change.BLOCK_MOVED:
        to = next((d.moved_to for d in slot.differences if d.moved_to), "a newer message")
        yield slot_breaker(
            RULE,
            slot,
            log,
            "a block is gone from an old message",
            "Leave the old block in place and only add new ones.",
            note=f"it stands at {to} now",
        )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
