"""The oldest messages are dropped, turn by turn.

What: the conversation is cut to its last n messages each time a request is built (`history[-20:]`). In a log:
from some turn on the first message behind the system text is another one in each request.

Why: once the window is full, each turn moves its start. The messages then never begin as they did before, and the
whole history is read anew every turn; only the system text stays.

Bad:
    messages = [system] + history[-20:]

Good: let the history grow and drop a block of it (half, say) when it is too long, so that the start stays put
between drops; or compact it once.

Must not flag: a slice that drops the system message or takes a fixed beginning (`history[1:]`, `history[:5]`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    first_broken,
    slot_breaker,
)
from analyzers.rules.stranded import place, shown
from analyzers.templates.parts import Cause, Loop, Prompt, Value
from analyzers.templates.volatility import judge, judge_guard

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_ADVICE = "Drop messages in blocks, so that the start of the history stays put between drops."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    seen = set()
    for part in prompt.parts:
        places = [(g.over, g.span) for g in part.guards if isinstance(g, Loop) and _windowed(g)]
        if isinstance(part, Value) and judge(part, context.scopes).cause is Cause.HISTORY_WINDOW:
            places.append((part.expression, part.span))
        for subject, span in places:
            if span not in seen:
                seen.add(span)
                yield RULE.finding(
                    f"{shown(subject)} drops the oldest messages; once it is full, the history is read anew "
                    "every turn",
                    place(span),
                    subject=subject,
                    fix=Fix(_ADVICE),
                )


def _windowed(loop: Loop) -> bool:
    """True for a loop over the last few messages of the conversation."""
    source = loop.over.replace(" ", "")
    return "[-" in source and source.endswith(":]") and judge_guard(loop).cause is Cause.CONVERSATION


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if slot.change is not Change.MESSAGES_DROPPED:
        return
    steps = [difference.shift for _, difference in first_broken(slot)]
    note = f"{min(steps)} to {max(steps)} messages at a time" if steps else ""
    yield slot_breaker(RULE, slot, log, "the oldest messages are dropped", _ADVICE, note=note)


RULE = Rule.of(__name__, Level.WARNING, template=_template, pair=_pair)
