"""A marker stands earlier, or is gone, in the next request.

What: a request goes on with a conversation, and its last marker lies before the place where the earlier request
had its last one.

Why: the entry written there is not looked for any more; the tail is paid in full again.

Bad: a marker on the newest message in one request, and only on the system text in the next.

Good: markers that move forward with the conversation.

Must not flag: requests whose figures show that the entry was read; other conversations.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import log_breaker, path_at, requests_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    trace, usage = log.traced.trace, log.usage
    broken = {divergence.request for divergence in log.divergences.found}
    continuations = log.divergences.continuations
    rows, losses = [], []
    for row in range(len(trace)):
        against = int(continuations.predecessor[row])
        if against < 0 or row in broken or not len(trace.markers.of(against)):
            continue
        entry = int(trace.markers.of(against)[-1])
        own = trace.markers.of(row)
        last = int(own[-1]) if len(own) else 0
        automatic = any(n.startswith("cache_control") for n, _ in log.traced.log.requests[row].parameters)
        if last >= entry or continuations.common[row] < entry or automatic:
            continue
        if usage.read[row] >= 0 and usage.read[row] >= usage.cached[against]:
            continue
        rows.append(row)
        losses.append(int((entry - last) * usage.scale[row]))
    if rows and sum(losses) >= 1024:
        yield log_breaker(
            RULE,
            log,
            rows,
            f"the last marker stands before the entry of the earlier request in {requests_words(len(rows))}: about "
            f"{sum(losses):,} cached tokens were not asked for",
            "Move the last marker forward with the conversation, never back.",
            losses=losses,
            estimated=True,
            against=int(continuations.predecessor[rows[0]]),
            json_path=path_at(log, rows[0], losses[0]) or None,
            subject="last marker",
        )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
