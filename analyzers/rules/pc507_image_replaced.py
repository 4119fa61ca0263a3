"""An old picture is replaced.

What: a picture or file of an old message is another one, or text, in a later request.

Why: all behind it is read anew; with markers the read falls back to the last entry before it.

Bad: a picture sent once and replaced by a pointer in the next request.

Good: the picture block byte-equal in the history, or the pointer from the start.

Must not flag: a new picture in the newest message.
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
        {Change.IMAGE_REPLACED: "a picture was replaced"},
        "Keep the picture block byte-equal in the history.",
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
