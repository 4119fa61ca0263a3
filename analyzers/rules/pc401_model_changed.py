"""The model changes within a session.

What: a request of a session goes to another model than the one before, with the same beginning of the prompt.

Why: caches belong to a model: the whole prompt is read anew at each change.

Bad: a cheaper model for every second step of one conversation.

Good: one model for a conversation; a sub-task with a prompt of its own for another model.

Must not flag: sessions that keep to one model; a change with another prompt.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import log_breaker, requests_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    import numpy as np

    from analyzers.continuation import common_prefix

    table = log.traced.trace.requests
    before = np.full(len(table), -1, np.int32)
    last: dict[int, int] = {}
    for row in range(len(table)):
        session = int(table.session.codes[row])
        if session >= 0:
            before[row] = last.get(session, -1)
            last[session] = row
    changed = np.flatnonzero((before >= 0) & (table.model.codes != table.model.codes[before]))
    if not len(changed):
        return
    common = common_prefix(log.traced, before)
    lost = common - log.divergences.reusable
    rows = [row for row in changed.tolist() if lost[row] >= 1024]
    if rows:
        names = sorted(
            {str(table.model.of(row)) for row in rows}
            | {str(table.model.of(int(before[row]))) for row in rows}
        )
        yield log_breaker(
            RULE,
            log,
            rows,
            f"the model changes within a session ({', '.join(names)}): {requests_words(len(rows))} read "
            f"{int(lost[rows].sum()):,} tokens anew that the model before had seen",
            "Keep one model for a conversation.",
            losses=[int(lost[row]) for row in rows],
            estimated=True,
            against=int(before[rows[0]]),
            subject="model",
        )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
