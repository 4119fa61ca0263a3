"""A context tier, a batch or service tier, a region or a speed is left out of the price.

What: a row's stated cost is that of a short standard call, although its prompt lies above a price threshold or
the row names a tier, region or speed with a price of its own.

Why: a prompt above the threshold pays the higher rate on every token, priority costs double, batch costs half:
the bill is off by the same factor.

Bad: 300,000 prompt tokens at the price for prompts up to 272,000.

Good: the rates of the row's own length, tier, region and speed.

Must not flag: rows whose tier has no published price; rows that cost what the standard rates give.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.registry import Rule
from analyzers.rules.usage_audit import UsageAudit, cost, found, shown


def _check(audit: UsageAudit) -> Iterator[Finding]:
    for row in audit.misstated():
        plain = audit.plain_rates(row.request)
        if plain is not None and row.is_explained_by(cost(row.usage, plain)):
            yield found(
                RULE,
                [row.request],
                f"{shown(row.stated)} is the cost of a short standard call; at its length and tier the row costs "
                f"{shown(row.right)}",
                "Choose the rates by prompt length, service tier, region and speed.",
                row.stated - row.right,
            )


RULE = Rule.of(__name__, Level.WARNING, usage=_check)
