"""An old text is cut to a length that differs.

What: a text of the history is the beginning of what it was in an earlier request.

Why: where the cut falls, the text changes, and all behind it is read anew.

Bad: old tool results cut to what the budget leaves in each turn.

Good: cut once, to a fixed length, before the first send.

Must not flag: text cut before it was first sent.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Level
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import changes

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    yield from changes(
        RULE,
        slot,
        log,
        {Change.TRUNCATED: "an old text was cut"},
        "Cut text once, to a fixed length, before the first send.",
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
