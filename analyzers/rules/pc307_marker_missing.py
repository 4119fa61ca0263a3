"""A long stable beginning has no cache marker, and the provider caches nothing without one.

What: a request to Anthropic or Bedrock carries no marker, neither on a block nor the automatic one, although its
tools and system text are longer than the model's minimum. In a log: a stable prefix that is never written, or,
at OpenAI from GPT-5.6 on, one that only the implicit marker behind the newest message ends.

Why: without a marker these providers cache nothing; each request pays the full input price for the same text.

Bad: 9,000 tokens of tools and system text and no `cache_control`.

Good: `cache_control` on the last system block (which covers the tools before it).

Must not flag: prompts below the model's minimum; providers that cache by themselves; calls in source code whose
earlier messages or further arguments the source does not show, as a marker may be there; a string as `system`, where
the fix says to make it a list of blocks first.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Evidence, Finding, Fix, Level, Location
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import (
    MARKED_PROVIDERS,
    READ_PRICE,
    WRITE_PRICE,
    log_breaker,
    miss_breakers,
    path_at,
    requests_words,
)
from analyzers.rules.marked import markers
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Cause, Prompt, Text

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss


_NEEDS_MARKERS = ("anthropic", "bedrock")
_ASSUMED_MINIMUM = 1024
_CHARACTERS_PER_TOKEN = 3
"""Hardly any text has fewer: shorter prompts need no counting."""


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    """A call in source code is a request; other templates leave the markers to the code that sends them."""
    is_whole = prompt.kind == "python" and all(parameter.name != "**" for parameter in prompt.parameters)
    if is_whole and not any(found.verdict.cause is Cause.CONVERSATION for found in context.exposures):
        yield from _request(prompt, context)


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    if prompt.provider not in _NEEDS_MARKERS or markers(prompt):
        return
    if prompt.provider == "bedrock" and "claude" not in (prompt.model or ""):
        return
    stable = [
        p
        for p in prompt.parts
        if isinstance(p, Text) and not p.guards and p.place.section in ("tools", "system")
    ]
    text = "".join(part.text for part in stable)
    minimum = context.minimum_tokens or _ASSUMED_MINIMUM
    if len(text) < minimum * _CHARACTERS_PER_TOKEN:
        return
    tokens = context.count_tokens(text)
    if tokens < minimum * 1.2:
        return
    last = stable[-1]
    is_string = last.place.path in ("system", "instructions")
    advice = (
        "Put cache_control on the last system block"
        if prompt.provider == "anthropic"
        else "Put a cachePoint behind the last system block"
    )
    yield RULE.finding(
        f"no cache marker: about {tokens:,} tokens of tools and system text are paid in full by every request",
        Location(last.span.path, last.span.line, last.span.column, json_path=last.place.path),
        subject="no marker",
        tokens_lost=tokens,
        tokens_estimated=True,
        evidence=Evidence(request_id=prompt.name or None),
        fix=Fix(advice + (" (make the string a list of one text block first)." if is_string else ".")),
    )


def _never_marked(log: "LogEvidence") -> Iterator[Breaker]:
    """Requests to a provider that needs markers, without one, whose prefix returns."""
    trace, usage = log.traced.trace, log.usage
    reusable = log.divergences.reusable
    groups: dict[str | None, list[int]] = {}
    for row, request in enumerate(log.traced.log.requests):
        needs = request.provider in MARKED_PROVIDERS and "claude" in (request.model or "")
        automatic = any(name.startswith("cache_control") for name, _ in request.parameters)
        used = usage.read[row] > 0 or usage.written[row] > 0
        if needs and not automatic and not used and not len(trace.markers.of(row)):
            groups.setdefault(request.model, []).append(row)
    for model, rows in groups.items():
        minimum = (
            log.limits_of(log.traced.log.requests[rows[0]].provider, model).minimum_tokens or _ASSUMED_MINIMUM
        )
        losses = {row: int(reusable[row] * usage.scale[row]) for row in rows}
        losing = [row for row in rows if losses[row] >= minimum]
        if not losing:
            continue
        row = losing[0]
        stable = path_at(log, row, int(reusable[row]))
        yield log_breaker(
            RULE,
            log,
            losing,
            f"no cache marker: about {losses[row]:,} tokens up to {stable} are equal to an earlier request and are "
            f"paid in full by {requests_words(len(losing))}{_by_lifetime(log, losing, losses[row])}",
            f"Put cache_control on {stable}.",
            losses=[losses[row] for row in losing],
            estimated=True,
            json_path=stable,
            token_offset=int(reusable[row]),
            subject=f"no marker, {model}",
        )


def _by_lifetime(log: "LogEvidence", rows: Sequence[int], tokens: int) -> str:
    """What each lifetime would cost for the stable part alone, by the gaps between the requests."""
    first = log.divergences.continuations.predecessor[rows[0]]
    times = [float(log.usage.time_s[row]) for row in ([int(first)] if first >= 0 else []) + list(rows)]
    if any(time != time for time in times):
        return ""
    gaps = [after - before for before, after in pairwise(times)]
    told = []
    for seconds, name in ((300, "5m"), (3600, "1h")):
        writes = 1 + sum(gap > seconds for gap in gaps)
        reads = len(times) - writes
        cost = tokens * (writes * WRITE_PRICE[seconds] + reads * READ_PRICE)
        saved = 1 - cost / (tokens * len(times))
        told.append(f"{name}: {writes} writes, {reads} reads, {saved:.0%} less for this part")
    return f" ({'; '.join(told)})"


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    yield from _never_marked(log)
    from analyzers.misses import MissCause

    def words(misses: "Sequence[Miss]") -> str:
        first = misses[0]
        stable = path_at(log, first.request, first.depth)
        return (
            f"everything up to {stable} is equal in each request, about {first.expected:,} tokens, and no breakpoint "
            f"ends there: {requests_words(len(misses))} wrote the whole prompt and read nothing, as this model family "
            "does not fall back to a prefix without one"
        )

    yield from miss_breakers(
        RULE,
        log,
        MissCause.NO_MARKER,
        words,
        'Set prompt_cache_breakpoint {"mode": "explicit"} on the last block that stays the same.',
    )


RULE = Rule.of(__name__, Level.WARNING, template=_template, request=_request, log=_log)
