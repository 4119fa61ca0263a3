"""More cache markers than the provider takes.

What: markers are counted over tools, system and messages together, the automatic one included; more than four
(Anthropic, Bedrock, Alibaba) are found.

Why: the request is refused (HTTP 400), so there is no answer and no caching at all.

Bad: a marker on two tools, two system blocks and the newest message: five.

Good: the last tool, the last system block and the newest message: three.

Must not flag: up to four markers; markers in branches of which only one is taken.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import log_breaker, path_at
from analyzers.rules.marked import MARKER_LIMIT, at, markers, shown_place, texts
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Marker, Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _least_needed(prompt: Prompt, found: list[tuple[int, Marker]]) -> str:
    """The marker that adds least text to the one before it, the last of all left aside."""
    gaps = [
        (len(texts(prompt.parts[before:index])), shown_place(marker))
        for before, (index, marker) in zip([0, *(index for index, _ in found)], found[:-1], strict=False)
    ]
    return min(gaps)[1]


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = [(index, marker) for index, marker in markers(prompt) if not marker.guards]
    limit = context.marker_limit or MARKER_LIMIT
    if len(found) <= limit:
        return
    paths = ", ".join(shown_place(marker) for _, marker in found)
    yield RULE.finding(
        f"{len(found)} cache markers ({paths}); the provider takes {limit} and refuses the request",
        at(found[limit][1]),
        subject="markers",
        evidence=Evidence(request_id=prompt.name or None),
        fix=Fix(
            "Keep the markers on the last tool, the last system block and the newest message; "
            f"drop the one on {_least_needed(prompt, found)}."
        ),
    )


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    trace = log.traced.trace
    rows = [row for row in range(len(trace)) if len(trace.markers.of(row)) > MARKER_LIMIT]
    if rows:
        paths = [path_at(log, rows[0], int(depth)) for depth in trace.markers.of(rows[0])]
        yield log_breaker(
            RULE,
            log,
            rows,
            f"{len(paths)} cache markers ({', '.join(paths)}) where the provider takes {MARKER_LIMIT}: the request is "
            "refused and nothing is cached",
            "Keep the markers on the last tool, the last system block and the newest message.",
            json_path=paths[MARKER_LIMIT],
            subject="markers",
        )


RULE = Rule.of(__name__, Level.ERROR, template=_check, request=_check, log=_log)
