"""The same text arrives in another Unicode normal form.

What: two requests hold the same text, once composed (NFC) and once decomposed (NFD).

Why: they look alike and are other bytes, so other tokens: all behind the first such character is lost.

Bad: a name that comes from a file system in one request and from a database in the next.

Good: `unicodedata.normalize("NFC", text)` wherever text enters the prompt.

Must not flag: texts that differ in more than their form.
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
        {Change.UNICODE_FORM: "the same text in another Unicode form"},
        "Normalise text to NFC where it enters the prompt.",
        safety=Safety.SAFE,
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
