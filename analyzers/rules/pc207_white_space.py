"""White space varies in text that should stay the same.

What: two requests differ in spaces or line breaks only, in the tools, the schema or the system text.

Why: the model reads the same, the cache does not: other characters are other tokens, and all behind them is lost.

Bad: a template that leaves an empty line where an optional section is missing.

Good: white space made uniform once, before the first send.

Must not flag: white space inside the newest message; old messages (PC505); line ends (PC206).
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
    if in_head(slot):
        yield from changes(
            RULE,
            slot,
            log,
            {Change.WHITE_SPACE: "a difference in white space only"},
            "Make white space uniform once, before the first send.",
            safety=Safety.SAFE,
        )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
