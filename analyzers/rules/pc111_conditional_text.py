"""Text that comes and goes with a condition stands before text that stays the same.

What: `{% if admin %}…{% endif %}`, or a branch in code, adds or leaves out text before fixed text, and the
condition differs between users, sessions or requests.

Why: each outcome is a prefix of its own. Two conditions make four prefixes, each with its own cold start and its
own copy in the cache; a condition that flips within a session rewrites everything behind it.

Bad:
    {% if user.is_admin %}You may delete orders.{% endif %}
    {{ rules }}

Good:
    {{ rules }}
    {% if user.is_admin %}You may delete orders.{% endif %}

Must not flag: conditions on what is the same for all requests (tools, a configuration, a `set` constant);
conditions behind all fixed text; an `if` around a value that it only guards (`{% if memories %}`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    comes_and_goes,
    in_head,
    in_history,
    slot_breaker,
)
from analyzers.rules.stranded import OFTEN, SELDOM, UNKNOWN_LENGTH, place, shown
from analyzers.templates.parts import Cause, Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for exposure in context.exposures:
        verdict = exposure.verdict
        if exposure.condition is None or not exposure.strands or verdict.cause is Cause.CONVERSATION:
            continue
        lost = context.count_tokens(exposure.fixed_text) if exposure.fixed_text.strip() else 0
        weight = lost + UNKNOWN_LENGTH * len(exposure.stable_names)
        known_to_vary = verdict.scope is not None
        if weight < (OFTEN if known_to_vary else SELDOM):
            continue
        yield RULE.finding(
            f"the text under `if` {shown(exposure.subject)} comes and goes; each outcome is a prefix of its own, "
            f"and {lost:,} tokens of fixed text behind it are cached once for each",
            place(exposure.span),
            level=Level.WARNING if weight >= SELDOM and known_to_vary else Level.INFO,
            subject=exposure.subject,
            tokens_lost=lost,
            evidence=Evidence(scope=None if verdict.scope is None else str(verdict.scope)),
            fix=Fix("Move the conditional text behind the fixed text."),
        )


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    gone_or_new = slot.change in (Change.BLOCK_ADDED, Change.BLOCK_REMOVED) and in_head(slot)
    if gone_or_new or (slot.change is Change.TEXT and comes_and_goes(slot) and not in_history(slot, log)):
        yield slot_breaker(
            RULE,
            slot,
            log,
            "text that comes and goes",
            "Put text that is not always there behind the text that is.",
        )


RULE = Rule.of(__name__, Level.WARNING, template=_template, pair=_pair)
