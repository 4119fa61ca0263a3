"""The user's own input reaches the prompt before text that stays the same.

What: the question, task or text to work on (`question`, `user_input`, `task`) is written before fixed text:
instructions, examples, an answer format.

Why: the input differs in every request, so the instructions behind it are never read from cache.

Bad:
    Question: {{ question }}
    Answer by these rules: ...

Good:
    Answer by these rules: ...
    Question: {{ question }}

Must not flag: a short ending behind the input, such as `Answer:` or the closing token of a turn; text of the
user inside the conversation.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Slot, ValueKind
from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    in_head,
    slot_breaker,
    value_slot,
)
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_ADVICE = "Move the question behind the instructions."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.USER_INPUT}, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.OTHER, log) and not in_head(slot):
        yield slot_breaker(RULE, slot, log, "text of the user in front of text that stays the same", _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, template=_template, pair=_pair)
