"""Writes for one hour are priced as writes for five minutes, or their lifetime is not known.

What: a row's stated cost is that of all its written tokens at the shortest lifetime's price although it writes
with a longer one; or rows give a sum of written tokens without the split by lifetime.

Why: an hour costs 2 times the input price where five minutes cost 1.25 times: a bill computed without the split
is too low.

Bad: 24,000 of 30,000 written tokens live an hour and all are priced at five minutes.

Good: the split (`cache_creation.ephemeral_1h_input_tokens`) priced part by part.

Must not flag: rows whose written tokens all have the shortest lifetime.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.registry import Rule
from analyzers.rules.usage_audit import UsageAudit, cost, found, shown
from analyzers.usage import UNSTATED_TTL


def _check(audit: UsageAudit) -> Iterator[Finding]:
    for row in audit.misstated():
        lifetimes = [ttl for ttl, tokens in (row.usage.written or {}).items() if tokens]
        cheapest = cost(row.usage, row.rates, write_ttl=300)
        if any(ttl > 300 for ttl in lifetimes) and row.is_explained_by(cheapest):
            yield found(
                RULE,
                [row.request],
                f"{shown(row.stated)} is the cost with every write at the five-minute price; the row costs "
                f"{shown(row.right)}",
                "Price the tokens of each lifetime at their own rate.",
                row.stated - row.right,
            )
    unstated = [r for r, u in audit.with_usage() if (u.written or {}).get(UNSTATED_TTL)]
    if unstated:
        tokens = sum((r.usage.written or {}).get(UNSTATED_TTL, 0) for r in unstated if r.usage)
        rows = "1 row" if len(unstated) == 1 else f"{len(unstated)} rows"
        yield found(
            RULE,
            unstated,
            f"of {tokens:,} written tokens ({rows}) the log does not say for how long; they are priced at the "
            "shortest lifetime, the true bill may be higher",
            "Log the split of written tokens by lifetime.",
        )


RULE = Rule.of(__name__, Level.INFO, usage=_check)
