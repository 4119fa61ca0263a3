"""An old message differs from what was sent before.

What: a message in the middle of the conversation has other text, or messages were taken out or put in, while what
follows it is the same. In figures: the recorded hash of the old messages differs.

Why: everything behind the first changed message is read anew, once for each change.

Bad: notes, state or corrections written into messages that were sent already.

Good: leave sent messages as they are and append what is new.

Must not flag: another answer to the same question (a branch); an append; the newest message.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot, ValueKind
from analyzers.findings import Level
from analyzers.rules.log_checks import miss_breakers, requests_words
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import changes, in_head, in_history, slot_breaker

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss


_ADVICE = "Leave sent messages as they are and append what is new."
_FREE = (ValueKind.OTHER, ValueKind.RETRIEVED, ValueKind.ENVIRONMENT, ValueKind.IDENTITY)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    edited = slot.change is Change.TEXT and slot.kind in _FREE and in_history(slot, log)
    wanted = {
        Change.MESSAGES_REMOVED: "messages were taken out of the history",
        Change.MESSAGES_INSERTED: "messages were put into the history",
        Change.BLOCK_REMOVED: "a block of an old message is gone",
        Change.BLOCK_ADDED: "a block was added to an old message",
    }
    if edited:
        yield slot_breaker(RULE, slot, log, "an old message was changed", _ADVICE)
    elif not in_head(slot):
        yield from changes(RULE, slot, log, wanted, _ADVICE)


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    from analyzers.misses import MissCause

    def words(misses: "Sequence[Miss]") -> str:
        first = misses[0]
        late = [miss for miss in misses if miss.expired_too]
        text = (
            f"the recorded {first.name} changed ({first.was} -> {first.now}): {requests_words(len(misses))} read "
            f"{sum(miss.lost for miss in misses):,} tokens less than were cached"
        )
        if not late:
            return text
        return (
            f"{text}; the entry had expired as well in {len(late)}, so a longer lifetime alone would not help"
        )

    yield from miss_breakers(RULE, log, MissCause.HASH_CHANGED, words, _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, pair=_pair, log=_log)
