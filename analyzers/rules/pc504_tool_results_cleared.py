"""Old tool results are replaced.

What: tool results that an earlier request held in full come back as a placeholder or much shorter, in the middle of
a live session.

Why: the prompt gets smaller and the request dearer: everything behind the first cleared result is written anew. It
pays only when enough turns follow, each of which reads fewer tokens.

Bad: results cleared one by one as they get old.

Good: all old results cleared at once, rarely, best when the cache has expired anyway.

Must not flag: results cut before they were first sent; the newest message.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Divergence, Slot
from analyzers.findings import Level
from analyzers.rules.log_checks import READ_PRICE, WRITE_PRICE
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import first_broken, slot_breaker

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if slot.change is not Change.RESULT_CLEARED:
        return
    broken = first_broken(slot)
    note = _both_sides(log, broken[0][0]) if broken else ""
    yield slot_breaker(
        RULE,
        slot,
        log,
        "an old tool result was cleared",
        "Clear old results rarely and all at once, best when the cache has expired anyway.",
        note=note,
    )


def _both_sides(log: "LogEvidence", divergence: Divergence) -> str:
    """What the clearing costs once and saves in each later turn, in input tokens; "" where writes are not logged."""
    usage, row, against = log.usage, divergence.request, divergence.against
    kept, read, written = int(usage.cached[against]), int(usage.read[row]), int(usage.written[row])
    if kept <= 0 or read < 0 or written <= 0:
        return ""
    comparer, lengths = log.divergences.comparer, log.traced.sequences.length
    new = comparer.parts(row)[len(comparer.parts(against)) :]
    appended = sum(int(lengths[number]) for number in new) * float(usage.scale[row])
    removed = kept + appended - int(usage.prompt[row])
    once = (read * READ_PRICE + written * WRITE_PRICE[300]) - (
        kept * READ_PRICE + appended * WRITE_PRICE[300]
    )
    saved = removed * READ_PRICE
    if removed <= 0 or saved <= 0:
        return ""
    return (
        f"in {log.request_id(row)} about {removed:,.0f} tokens were removed and {written:,} written anew: about "
        f"{once:,.0f} input tokens dearer once, {saved:,.0f} saved in each later turn, even after "
        f"{once / saved:,.1f} turns"
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
