"""What the rules about slots share: from a place that varies over a log to a breaker with its evidence."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Difference, Divergence, Slot, ValueKind
from analyzers.findings import Confidence, Evidence, Fix, Level, Location, Safety
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence

HEAD = ("tools", "schema", "system")
_SELDOM = ("day", "release", "tenant", "user", "session")
_QUOTED = 60


def in_head(slot: Slot) -> bool:
    """Whether the slot lies in front of the conversation."""
    return slot.section in HEAD


def comes_and_goes(slot: Slot) -> bool:
    """Whether a text is there in some requests and not in others, and the same wherever it is."""
    return len(slot.values) == 2 and not all(value.strip() for value in slot.values)


def in_history(slot: Slot, log: "LogEvidence") -> bool:
    """Whether a message of a conversation was changed after it had been sent."""
    return not in_head(slot) and any(
        divergence.equal_again and log.one_session(divergence.request, divergence.against) is not False
        for divergence in slot.divergences
    )


def value_slot(slot: Slot, kind: ValueKind, log: "LogEvidence") -> bool:
    """Whether a text slot holds values of this kind, and nothing better describes it."""
    if slot.change is not Change.TEXT or slot.kind is not kind or comes_and_goes(slot):
        return False
    named_by_itself = kind in (ValueKind.CLOCK, ValueKind.DATE, ValueKind.RANDOM_ID, ValueKind.COUNTER)
    return named_by_itself or not in_history(slot, log)


def first_broken(slot: Slot) -> list[tuple[Divergence, Difference]]:
    """The requests whose prefix this slot breaks first, with the difference in each."""
    pairs = zip(slot.divergences, slot.differences, strict=True)
    return [(d, difference) for d, difference in pairs if d.differences[0] is difference]


def slot_breaker(
    rule: Rule,
    slot: Slot,
    log: "LogEvidence",
    what: str,
    advice: str,
    *,
    note: str = "",
    safety: Safety = Safety.UNSAFE,
) -> Breaker:
    """The breaker of one slot: tokens lost are those of the requests that it breaks first."""
    broken = first_broken(slot)
    shown = broken or list(zip(slot.divergences, slot.differences, strict=True))[:1]
    divergence, difference = shown[0]
    losses = [log.lost(d) for d, _ in broken]
    lost = sum(tokens for tokens, _ in losses)
    request = log.traced.log.requests[divergence.request]
    place = difference.earlier_path if difference.moved_to else difference.path
    where = place or difference.path
    at = "" if difference.char_offset is None else f", character {difference.char_offset:,}"
    if broken:
        count = len(broken)
        message = (
            f"{what} at {where}{at}: {count:,} {'request' if count == 1 else 'requests'} read anew what stands "
            f"behind, {lost:,} tokens that {'it' if count == 1 else 'they'} could have had from cache"
        )
    else:
        message = (
            f"{what} at {where}{at}: it stands behind another difference now and would break the prefix next"
        )
    level = rule.level
    if not broken or slot.scope in ("day", "release"):
        level = Level.INFO
    elif slot.scope in _SELDOM:
        level = max(level, Level.WARNING, key=lambda item: item.rank)
    return Breaker(
        rule.finding(
            message + (f"; {note}" if note else ""),
            Location(
                request.file,
                request.line,
                json_path=where,
                char_offset=difference.char_offset,
                token_offset=divergence.common if broken else None,
            ),
            level=level,
            subject=f"{slot.app}:{slot.path}:{slot.anchor[-20:].strip()}",
            confidence=Confidence.CONFIRMED,
            evidence=Evidence(
                request_id=log.request_id(divergence.request),
                against_id=log.request_id(divergence.against),
                affected_requests=tuple(log.request_id(d.request) for d, _ in broken),
                requests_seen=len(log.traced.trace),
                distinct_values=len(slot.values) or None,
                scope=slot.scope,
                excerpt=_excerpt(difference),
            ),
            tokens_lost=lost,
            tokens_estimated=not all(exact for _, exact in losses),
            fix=Fix(advice, safety=safety),
        ),
        slot,
        tuple(d.request for d, _ in broken),
        tuple(tokens for tokens, _ in losses),
    )


def changes(
    rule: Rule, slot: Slot, log: "LogEvidence", wanted: dict[Change, str], advice: str, **details: Safety
) -> Iterator[Breaker]:
    """The breaker of a slot whose change is one of those wanted, each with its words."""
    if slot.change in wanted:
        note = next((d.note for d in slot.differences if d.note), "")
        yield slot_breaker(rule, slot, log, wanted[slot.change], advice, note=note, **details)


def _excerpt(difference: Difference) -> str | None:
    """Both values, escaped, so that white space can be seen."""
    texts = [
        "(nothing)"
        if value is None
        else ascii(value.text[:_QUOTED]) + ("…" if len(value.text) > _QUOTED else "")
        for value in (difference.before, difference.after)
    ]
    return None if difference.before is difference.after is None else " -> ".join(texts)
