"""Rows that say nothing about cached tokens would be taken for misses.

What: some rows of a log state cached tokens and others have no such field at all.

Why: a missing field is not a zero. Counted as misses, these rows pull the hit rate down and send people after a
problem that is not there; some providers, gateways and older models never report the field.

Bad: a hit rate over all rows, with 0 for the missing ones.

Good: a hit rate over the rows that say, and the number of those that do not beside it.

Must not flag: rows that state 0; logs in which no row states cached tokens.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.registry import Rule
from analyzers.rules.usage_audit import UsageAudit, found


def _check(audit: UsageAudit) -> Iterator[Finding]:
    stated = [(r, u) for r, u in audit.with_usage() if u.read_tokens is not None and u.prompt_tokens]
    silent = [(r, u) for r, u in audit.with_usage() if u.read_tokens is None and u.prompt_tokens]
    if not stated or not silent:
        return
    read = sum(u.read_tokens or 0 for _, u in stated)
    known = sum(u.prompt_tokens or 0 for _, u in stated)
    everything = known + sum(u.prompt_tokens or 0 for _, u in silent)
    yield found(
        RULE,
        [r for r, _ in silent],
        f"{len(silent)} {'row does' if len(silent) == 1 else 'rows do'} not state cached tokens; counted as misses they "
        "would make the hit rate "
        f"{100 * read / everything:.1f} % where the rows that say show {100 * read / known:.1f} %",
        "Leave rows without the field out of hit rates and count them beside.",
    )


RULE = Rule.of(__name__, Level.INFO, usage=_check)
