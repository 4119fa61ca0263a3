"""Markers are lost on the way to the provider.

What: the same request is logged at the client with markers and at the provider without (joined by request id),
or with fewer.

Why: a gateway or library that translates bodies drops them: the request runs uncached, and nothing fails.

Bad: `cache_control` sent through a gateway that makes a Converse body without `cachePoint`.

Good: a gateway that maps them, checked by comparing both bodies once.

Must not flag: two logs of different requests.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import log_breaker, path_at, requests_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _same_text(log: "LogEvidence", row: int, other: int) -> bool:
    """Whether most text of the shorter request stands in the other one too, in whatever dialect."""
    sequences = log.traced.sequences
    texts = []
    for one in (row, other):
        runs = sequences.runs[sequences.offsets[one] : sequences.offsets[one + 1]].tolist()
        parts = [log.traced.parts[run] for run in runs if run < len(log.traced.parts)]
        texts.append({s.text for part in parts for s in part.segments if not s.special})
    shared = sum(map(len, texts[0] & texts[1]))
    return 2 * shared > min(sum(map(len, text)) for text in texts)


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    trace, requests = log.traced.trace, log.traced.log.requests
    by_id: dict[str, list[int]] = {}
    for row, request in enumerate(requests):
        by_id.setdefault(request.request_id, []).append(row)
    pairs = []
    for rows in by_id.values():
        marked = [row for row in rows if len(trace.markers.of(row))]
        bare = [row for row in rows if not len(trace.markers.of(row)) and row not in marked]
        if not marked or not bare or requests[marked[0]].dialect is requests[bare[0]].dialect:
            continue
        if _same_text(log, marked[0], bare[0]):
            pairs.append((marked[0], bare[0]))
    if pairs:
        sent, _ = pairs[0]
        paths = ", ".join(path_at(log, sent, int(depth)) for depth in trace.markers.of(sent))
        yield log_breaker(
            RULE,
            log,
            [arrived for _, arrived in pairs],
            f"{len(trace.markers.of(sent))} cache markers sent by the client ({paths}) are not in the body that the "
            f"provider received, in {requests_words(len(pairs))}: no marker arrived, so nothing was cached",
            "Have the gateway translate each marker (Bedrock: a cachePoint element behind the block).",
            against=sent,
            subject="markers in transit",
        )


RULE = Rule.of(__name__, Level.ERROR, log=_log)
