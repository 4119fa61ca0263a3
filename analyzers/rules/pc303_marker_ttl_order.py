"""A longer lifetime comes after a shorter one.

What: in the order tools, system, messages, a marker with a longer lifetime stands behind one with a shorter
lifetime (a marker without a lifetime has the default, five minutes at Anthropic).

Why: the provider refuses the request (HTTP 400): entries with longer lifetimes must come first.

Bad: system 5m, then messages[0] 1h.

Good: system 1h, then messages[0] 5m.

Must not flag: equal lifetimes; longer ones first.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import log_breaker, path_at
from analyzers.rules.marked import at, lifetime, markers, seconds, shown_place
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    shortest: tuple[int, str, str] | None = None
    for _, marker in markers(prompt):
        ttl = lifetime(marker, prompt.provider)
        length = seconds(ttl)
        if length is None or marker.guards:
            continue
        if shortest is not None and length > shortest[0]:
            yield RULE.finding(
                f"the marker at {shown_place(marker)} asks for {ttl} behind one at {shortest[2]} that asks for "
                f"{shortest[1]}; longer lifetimes must come first (order checked: {prompt.order})",
                at(marker),
                subject=shown_place(marker),
                evidence=Evidence(request_id=prompt.name or None),
                fix=Fix(f"Give the marker at {shortest[2]} {ttl} as well, or this one {shortest[1]}."),
            )
            return
        if shortest is None or length < shortest[0]:
            shortest = (length, ttl, shown_place(marker))


DEFAULT_S = 300
"""Lifetime of a marker that names none (Anthropic and Bedrock documentation, 2026)."""


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    trace = log.traced.trace
    rows: list[int] = []
    places = ("", "")
    for row in range(len(trace)):
        lifetimes = [ttl if ttl > 0 else DEFAULT_S for ttl in trace.marker_ttl_s.of(row).tolist()]
        fault = next((i for i in range(1, len(lifetimes)) if lifetimes[i] > lifetimes[i - 1]), None)
        if fault is not None:
            if not rows:
                depths = trace.markers.of(row)
                places = path_at(log, row, int(depths[fault - 1])), path_at(log, row, int(depths[fault]))
            rows.append(row)
    if rows:
        yield log_breaker(
            RULE,
            log,
            rows,
            f"the marker at {places[1]} asks for a longer lifetime than the one at {places[0]} before it; longer "
            "lifetimes must come first (order checked: tools, system, messages), so the request is refused",
            "Give both the same lifetime, or the longer one to the earlier marker.",
            json_path=places[1],
            subject=places[1],
        )


RULE = Rule.of(__name__, Level.ERROR, template=_check, request=_check, log=_log)
