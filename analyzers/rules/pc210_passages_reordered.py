"""The same passages stand in another order.

What: lines or passages of one field return in a later request, in another order.

Why: a prefix cache reads up to the first passage that differs; the others are read anew although all were sent
before.

Bad: retrieved passages in the order of their scores.

Good: passages in an order of their own (by id, by date), the most common ones first.

Must not flag: other passages; passages behind everything that could be reused.
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
        {Change.PASSAGES_REORDERED: "the same passages in another order"},
        "Put passages in an order that does not depend on the question, the common ones first.",
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
