"""The only marker stands on text that differs in every request.

What: what stands right before the marker is filled in anew for each request, there is no marker on the stable
text before it, and no conversation that grows.

Why: an entry is written at the marker and nowhere else. The next request has other text there, finds no entry,
and pays the write again: dearer than no caching.

Bad:
    [{"text": RULES}, {"text": f"Question: {question}", "cache_control": {"type": "ephemeral"}}]

Good:
    [{"text": RULES, "cache_control": {"type": "ephemeral"}}, {"text": f"Question: {question}"}]

Must not flag: a rolling marker on the newest message of a conversation; a second marker behind one on stable text;
a marker behind a document that several questions are asked about.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import READ_PRICE, WRITE_PRICE, log_breaker, path_at, requests_words
from analyzers.rules.marked import at, markers, shown_place, texts
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import shown
from analyzers.templates.exposure import Exposure
from analyzers.templates.parts import Cause, Part, Prompt, Scope, Value
from analyzers.templates.volatility import Verdict, judge

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss


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
        if exposure.part_index < index and _differs(verdict, prompt.parts[exposure.part_index])
    ]
    if not often or often[0].fixed_text.strip() or _asked_about(often, prompt.parts[index:], context):
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


def _differs(verdict: Verdict, part: Part) -> bool:
    """Whether a value differs from turn to turn; a user message tells that of a value whose name does not."""
    if verdict.scope is None:
        return part.place.section == "messages" and part.place.role == "user"
    return verdict.scope.rank >= Scope.TURN.rank


def _asked_about(often: Sequence[Exposure], behind: tuple[Part, ...], context: CheckContext) -> bool:
    """Whether what stands before the marker returns while what stands behind it changes: a text and a question."""
    highest = max(exposure.verdict.rank for exposure in often)
    return any(isinstance(part, Value) and judge(part, context.scopes).rank > highest for part in behind)


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    from analyzers.misses import MissCause

    trace, usage, requests = log.traced.trace, log.usage, log.traced.log.requests
    groups: dict[str | None, list[Miss]] = {}
    for miss in log.misses:
        if miss.cause is MissCause.VOLATILE_MARKER:
            groups.setdefault(requests[miss.request].model, []).append(miss)
    for misses in groups.values():
        rows = sorted({miss.request for miss in misses} | {miss.against for miss in misses})
        first = misses[0]
        marker = path_at(log, first.request, int(trace.markers.of(first.request)[-1]))
        stable = path_at(log, first.request, first.depth)
        written = sum(int(usage.written[row]) for row in rows)
        read = sum(int(usage.read[row]) for row in rows)
        kept = sum(m.expected for m in misses) / len(misses)
        now = written * WRITE_PRICE[300] + read * READ_PRICE
        fixed = written + read - len(rows) * kept + kept * (WRITE_PRICE[300] + READ_PRICE * (len(rows) - 1))
        yield log_breaker(
            RULE,
            log,
            [miss.request for miss in misses],
            f"the marker at {marker} stands on text that differs in every request: {written:,} tokens were written by "
            f"{requests_words(len(rows))} and {read:,} read; with it on {stable} about {kept:,.0f} tokens would be "
            f"written once and read by the others (cost in input tokens: {now:,.0f} now, about {fixed:,.0f} then, "
            f"{written + read:,} without caching)",
            f"Put the marker on the last block that stays the same ({stable}).",
            losses=[miss.lost for miss in misses],
            estimated=True,
            against=first.against,
            json_path=marker,
            subject=marker,
        )


RULE = Rule.of(__name__, Level.WARNING, template=_check, request=_check, log=_log)
