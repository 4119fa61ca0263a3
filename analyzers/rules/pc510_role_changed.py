"""An old message, or the system text, has another role or place.

What: a message comes back with another role, or the system text stands in another part of the prompt.

Why: the role is part of the rendered text: the message and all behind it are read anew.

Bad: `developer` in one code path and `system` in another; system text moved into the first user message.

Good: one role and one place.

Must not flag: `developer` and `system` in requests that share nothing.
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
        {Change.ROLE: "another role", Change.SYSTEM_MOVED: "the system text moved"},
        "Send each message with one role, and the system text at one place.",
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
