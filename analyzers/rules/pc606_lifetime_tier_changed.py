"""Writes move from one lifetime to another.

What: the figures show writes with one lifetime only up to some request and with another one from then on.

Why: the idle limit and the price of a write change, often with a new version of a client and unseen.

Bad: an update of the client that writes with five minutes what was written with one hour.

Good: the lifetime set on purpose.

Must not flag: logs that mix lifetimes in one request; a single request with another lifetime.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import WRITE_PRICE, log_breaker, seconds_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_EACH = 2
"""Requests on each side that make a change a change and not an exception."""


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    table = log.traced.trace.requests
    by_space: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row, request in enumerate(log.traced.log.requests):
        written = request.usage.written if request.usage else None
        used = [ttl for ttl, tokens in (written or {}).items() if ttl > 0 and tokens > 0]
        if len(used) == 1:
            by_space.setdefault((int(table.namespace[row]), 0), []).append((row, used[0]))
    for rows in by_space.values():
        turns = [i for i in range(1, len(rows)) if rows[i][1] != rows[i - 1][1]]
        if len(turns) != 1 or not _EACH <= turns[0] <= len(rows) - _EACH:
            continue
        (last, old), (first, new) = rows[turns[0] - 1], rows[turns[0]]
        labels = [dict(log.traced.log.requests[row].identity.labels) for row in (last, first)]
        changed = [name for name in labels[0] if name in labels[1] and labels[0][name] != labels[1][name]]
        with_it = "".join(
            f"; {name} changed there too ({labels[0][name]} -> {labels[1][name]})" for name in changed
        )
        yield log_breaker(
            RULE,
            log,
            [row for row, _ in rows[turns[0] :]],
            f"writes move from {seconds_words(old)} to {seconds_words(new)} between {log.request_id(last)} and "
            f"{log.request_id(first)}{with_it}: the idle limit is {new:,} s instead of {old:,} s, a write costs "
            f"{WRITE_PRICE.get(new, 1.25):g} instead of {WRITE_PRICE.get(old, 2.0):g} times the input price",
            "Set the lifetime on purpose, and check it against the pauses in the log.",
            against=last,
            subject="lifetime",
        )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
