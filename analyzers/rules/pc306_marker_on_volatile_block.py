"""The only marker stands on text that differs in every request.

What: what stands right before the marker is filled in anew for each request, there is no marker on the stable
text before it, and no conversation that grows.

Why: an entry is written at the marker and nowhere else. The next request has other text there, finds no entry,
and pays the write again: dearer than no caching.

Bad:
    [{"text": RULES}, {"text": f"Question: {question}", "cache_control": {"type": "ephemeral"}}]

Good:
    [{"text": RULES, "cache_control": {"type": "ephemeral"}}, {"text": f"Question: {question}"}]

Must not flag: a rolling marker on the newest message of a conversation; a second marker behind one on stable text.
"""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import at, markers, shown_place, texts
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import shown
from analyzers.templates.parts import Cause, Prompt, Scope


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = markers(prompt)
    if len(found) != 1 or found[0][1].guards:
        return
    index, marker = found[0]
    verdicts = [(exposure, exposure.verdict) for exposure in context.exposures]
    if any(verdict.cause is Cause.CONVERSATION for _, verdict in verdicts):
        return
    often = [
        exposure
        for exposure, verdict in verdicts
        if verdict.scope is not None and verdict.scope.rank >= Scope.TURN.rank and exposure.part_index < index
    ]
    if not often or often[0].fixed_text.strip():
        return
    stable = texts(prompt.parts[: often[0].part_index])
    if not stable.strip():
        return
    tokens = context.count_tokens(stable)
    yield RULE.finding(
        f"the only cache marker ({shown_place(marker)}) stands behind {shown(often[0].subject)}, which differs in "
        f"every request: each request writes an entry that none reads, {tokens:,} stable tokens included",
        at(marker),
        subject=shown_place(marker),
        tokens_lost=tokens,
        evidence=Evidence(request_id=prompt.name or None),
        fix=Fix("Put the marker on the last block that stays the same."),
    )


RULE = Rule.of(__name__, Level.WARNING, template=_check, request=_check)
