"""The arguments of a tool call come back in another form.

What: a tool call of the history has arguments that are equal as JSON but other text (key order, spaces, escapes).

Why: the call, its result and all behind it are read anew.

Bad: arguments parsed into an object and written again when the history is sent.

Good: keep the argument string as the model gave it.

Must not flag: other arguments.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Level, Safety
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import changes

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    yield from changes(
        RULE,
        slot,
        log,
        {Change.ARGUMENTS: "arguments equal as JSON, in another form"},
        "Keep the argument string as received, or always sort its keys.",
        safety=Safety.SAFE,
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
