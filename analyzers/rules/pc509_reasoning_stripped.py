"""The reasoning of an old turn is gone from the history.

What: a chat template writes a turn's reasoning while it is the newest and leaves it out once a user message
follows. In a log: reasoning that an earlier request held is missing from the next.

Why: the prompt changes where the reasoning stood; the reply and all behind it are read anew, once for each turn.
Many models are trained this way, so it is the price of the model rather than a mistake: a note.

Bad: history rendered without the `<think>` block that the model has just written.

Good: where the model allows it, reasoning kept; else a cache boundary before the last reply.

Must not flag: templates that never render reasoning.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Finding, Fix, Level
from analyzers.rules.chat import probed, where_named
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    changes,
)
from analyzers.templates.parts import Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = probed(prompt)
    if found is not None and found.reasoning is not None:
        yield RULE.finding(
            "a turn's reasoning is written while it is the newest and left out later; its reply is read anew then",
            where_named(prompt, "messages"),
            subject="reasoning",
            fix=Fix("Keep the reasoning of old turns where the model allows it."),
        )


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    yield from changes(
        RULE,
        slot,
        log,
        {Change.REASONING_STRIPPED: "reasoning of an old turn is gone"},
        "Keep the reasoning of old turns where the model allows it.",
    )


RULE = Rule.of(__name__, Level.INFO, template=_template, pair=_pair)
