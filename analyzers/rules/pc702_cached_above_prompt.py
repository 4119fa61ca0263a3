"""More tokens were cached than the prompt has.

What: read tokens, or read and written tokens together, are more than the prompt they are part of, or a counter
is negative.

Why: such a row cannot be right. Taken as it is, it gives hit rates above 100 % and negative costs; cut to size, it
hides the mistake. It usually means that cached tokens stand beside an input that is taken to hold them.

Bad: `{"prompt_tokens": 100, "total_tokens": 105, "cached_tokens": 500}`.

Good: counters whose parts add up to the total that the row states.

Must not flag: rows that count cached tokens beside the input, as the Messages and Converse APIs do.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.registry import Rule
from analyzers.rules.usage_audit import UsageAudit, found


def _check(audit: UsageAudit) -> Iterator[Finding]:
    rows = [(request, usage) for request, usage in audit.with_usage() if usage.problems]
    wrong = [
        (request, usage.problems[0])
        for request, usage in rows
        if (usage.uncached_tokens or 0) < 0 or any("negative" in problem for problem in usage.problems)
    ]
    if wrong:
        requests = [request for request, _ in wrong]
        yield found(
            RULE,
            requests,
            f"{len(wrong)} rows cannot be right: {wrong[0][1]}",
            "Find out where the row was rewritten; leave such rows out of every sum until then.",
        )


RULE = Rule.of(__name__, Level.ERROR, usage=_check)
