"""The marked prefix is shorter than the shortest the model caches.

What: the text up to the last marker (or, where the provider caches by itself, the whole fixed beginning) has
fewer tokens than the model's minimum (512 to 4,096 at Anthropic by model, 1,024 at OpenAI, more at Gemini).

Why: nothing is cached, without an error: both cache counters stay 0.

Bad: a marker behind 2,257 tokens on a model with a minimum of 4,096.

Good: more of the stable text before the marker, a model with a lower minimum, or no marker.

Must not flag: prompts whose length is not known; prompts near the minimum get a note only, as the count is an
estimate where the model's own tokenizer is not public.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import log_breaker, path_at, requests_words
from analyzers.rules.marked import at, markers, shown_place, texts
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import place, shown
from analyzers.templates.parts import Marker, Prompt, Text, Value

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


TOLERANCE = 0.2
"""How far a stand-in tokenizer may be off; within it of the minimum there is no verdict."""


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = markers(prompt)
    minimum = context.minimum_tokens
    if not found or minimum is None:
        return
    index, marker = found[-1]
    before = prompt.parts[:index]
    if marker.block_text is not None and not marker.block_text.strip():
        return
    if any(not isinstance(part, Text | Marker) for part in before):
        return
    tokens = context.count_tokens(texts(before))
    if tokens >= minimum * (1 + TOLERANCE):
        return
    near = tokens > minimum * (1 - TOLERANCE)
    yield RULE.finding(
        f"about {tokens:,} tokens stand before the last marker ({shown_place(marker)}); "
        f"{context.model or 'the model'} caches from {minimum:,}"
        + (
            ", and the estimate is too near to tell"
            if near
            else ", so nothing is cached and no error says so"
        ),
        at(marker),
        level=Level.INFO if near else Level.WARNING,
        subject=shown_place(marker),
        tokens_lost=None if near else tokens,
        tokens_estimated=True,
        evidence=Evidence(request_id=prompt.name or None),
        fix=Fix(
            "Put more stable text before the marker, use a model with a lower minimum, or drop the marker."
        ),
    )


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    """Also a template without markers whose fixed beginning alone is too short for the model."""
    yield from _check(prompt, context)
    minimum = context.minimum_tokens
    if minimum is None or markers(prompt) or not context.exposures or context.exposures[0].strands:
        return
    before = prompt.parts[: context.exposures[0].part_index]
    beginning = texts(before)
    if any(isinstance(part, Value) for part in before) or len(beginning) > minimum * 8:
        return
    tokens = context.count_tokens(beginning) if beginning else 0
    if tokens < minimum * (1 - TOLERANCE):
        first = context.exposures[0]
        yield RULE.finding(
            f"the fixed text before {shown(first.subject)} has about {tokens:,} tokens; {context.model} caches from "
            f"{minimum:,}, so requests that differ there share nothing",
            place(first.span),
            level=Level.INFO,
            subject="fixed beginning",
            tokens_estimated=True,
            fix=Fix(
                "Let more fixed text come first (instructions, examples), or do not count on the cache here."
            ),
        )


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    trace, usage = log.traced.trace, log.usage
    groups: dict[tuple[str | None, str | None], list[int]] = {}
    for row, request in enumerate(log.traced.log.requests):
        if len(trace.markers.of(row)) and usage.read[row] == 0 and usage.written[row] == 0:
            groups.setdefault((request.provider, request.model), []).append(row)
    for (provider, model), rows in groups.items():
        minimum = log.limits_of(provider, model).minimum_tokens
        deepest = {row: int(trace.markers.of(row)[-1]) * float(usage.scale[row]) for row in rows}
        short = [row for row in rows if minimum is not None and deepest[row] < minimum * (1 + TOLERANCE)]
        if minimum is None or not short:
            continue
        tokens = max(int(deepest[row]) for row in short)
        place = path_at(log, short[0], int(trace.markers.of(short[0])[-1]))
        yield log_breaker(
            RULE,
            log,
            short,
            f"about {tokens:,} tokens stand before the last marker ({place}) and {model} caches from {minimum:,}: "
            f"{requests_words(len(short))} wrote and read nothing, and no error says so",
            "Put more stable text before the marker, use a model with a lower minimum, or drop the marker.",
            json_path=place,
            token_offset=int(trace.markers.of(short[0])[-1]),
            subject=model or "",
        )


RULE = Rule.of(__name__, Level.WARNING, template=_template, request=_check, log=_log)
