"""A cache marker stands on an empty text block.

What: the block that carries the marker has no text, or white space only.

Why: the provider refuses the request (HTTP 400). Once such a block is stored in a session's history, every later
request of the session fails.

Bad:
    {"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}

Good: leave the empty block out and put the marker on the block before it (a picture may carry one).

Must not flag: markers on pictures, tools or tool results; markers on blocks whose text is filled in.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import log_breaker, requests_words
from analyzers.rules.marked import at, markers, shown_place
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for _, marker in markers(prompt):
        if marker.on == "text" and marker.block_text is not None and not marker.block_text.strip():
            what = "an empty text block" if not marker.block_text else "a text block of white space only"
            yield RULE.finding(
                f"the cache marker at {shown_place(marker)} stands on {what}; the provider refuses the request",
                at(marker),
                subject=shown_place(marker),
                evidence=Evidence(request_id=prompt.name or None),
                fix=Fix("Leave the empty block out and put the marker on the block before it."),
            )


def _empty_marked(log: "LogEvidence") -> dict[int, str]:
    """Rendered parts with a marker on a block without text, and the block's path."""
    found: dict[int, str] = {}
    for part in log.traced.parts:
        start = 0
        for end in part.block_ends:
            inside = range(start, end.segments)
            start = end.segments
            texts = [part.segments[i] for i in inside if part.paths[i] not in (None, ".role")]
            if (
                end.marker_ttl_s is not None
                and not any(s.special or s.text.strip() for s in texts)
                and end.path
            ):
                found[part.number] = end.path
    return found


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    from analyzers.request import Dialect

    where: dict[str, list[int]] = {}
    empty = _empty_marked(log)
    sequences = log.traced.sequences
    for row, request in enumerate(log.traced.log.requests):
        runs = sequences.runs[sequences.offsets[row] : sequences.offsets[row + 1]].tolist()
        if request.dialect is not Dialect.ANTHROPIC or not empty.keys() & set(runs):
            continue
        for run, path in zip(runs, log.traced.rendering.paths(request), strict=True):
            if run in empty:
                where.setdefault(path + empty[run], []).append(row)
    for place, rows in where.items():
        yield log_breaker(
            RULE,
            log,
            rows,
            f"the cache marker at {place} stands on a text block that is empty or white space only; the provider "
            f"refuses the request, and every later one that holds the block ({requests_words(len(rows))})",
            "Leave the empty block out and put the marker on the block before it.",
            json_path=place,
            subject=place,
        )


RULE = Rule.of(__name__, Level.ERROR, template=_check, request=_check, log=_log)
