"""An old message differs in white space only.

What: a message that was sent before comes back with other spaces, line breaks, line ends or Unicode form.

Why: it cannot be seen when printed, but the tokens differ, and all behind it is read anew.

Bad: tool results stripped once they are no longer the newest.

Good: make text uniform once, before the first send.

Must not flag: white space in the newest message.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Level, Safety
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import changes, in_head

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if not in_head(slot):
        words = "an old message differs in white space only"
        yield from changes(
            RULE,
            slot,
            log,
            {Change.WHITE_SPACE: words, Change.LINE_ENDS: words},
            "Make text uniform once, before the first send.",
            safety=Safety.SAFE,
        )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
