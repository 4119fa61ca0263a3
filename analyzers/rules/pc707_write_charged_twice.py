"""Written tokens are priced as input and again as written.

What: a row's stated cost is the right one plus its written tokens at the input price.

Why: a written token is charged once, at the write price instead of the input price. A proxy that turns exclusive
counters into an inclusive prompt count and then prices both overstates every first call.

Bad: `{"prompt_tokens": 9406, "cache_creation_tokens": 9400}` priced as 9,406 input tokens and 9,400 written ones.

Good: 6 input tokens and 9,400 written ones.

Must not flag: rows without written tokens; costs that differ for another reason.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.registry import Rule
from analyzers.rules.usage_audit import UsageAudit, cost, found, shown


def _check(audit: UsageAudit) -> Iterator[Finding]:
    for row in audit.misstated():
        written, uncached = row.usage.written_tokens, row.usage.uncached_tokens
        if not written or uncached is None:
            continue
        if row.is_explained_by(cost(row.usage, row.rates, uncached=uncached + written)):
            yield found(
                RULE,
                [row.request],
                f"{shown(row.stated)} charges {written:,} tokens at the input price and again at the write price; the "
                f"row costs {shown(row.right)}",
                "Subtract written tokens from the input before you price it.",
                row.stated - row.right,
            )


RULE = Rule.of(__name__, Level.WARNING, usage=_check)
