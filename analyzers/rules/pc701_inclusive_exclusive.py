"""Cached tokens are counted inside the input on some rows and beside it on others, or priced as if they were.

What: the rows of one model do not agree on whether `input` holds the cached tokens, or a row's stated cost is
that of its cached tokens added on top of an input that already holds them.

Why: a sum or a price list that takes all rows the same way counts the cached tokens twice on some, or loses them
on others; hit rates and costs come out wrong by factors.

Bad: `{"prompt_tokens": 20480, "cached_tokens": 17920}` priced as 20,480 input tokens and 17,920 cached ones.

Good: 2,560 uncached and 17,920 cached tokens; one way of counting for all rows.

Must not flag: rows that differ in shape between models; rows without cached tokens; rows whose own total tells
how they count (pcache reads each row by its own arithmetic, so its figures are right either way).
"""

from collections import defaultdict
from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.request import Request
from analyzers.rules.registry import Rule
from analyzers.rules.usage_audit import UsageAudit, cost, found, shown


def _check(audit: UsageAudit) -> Iterator[Finding]:
    ways: dict[tuple[str | None, str | None], dict[bool, list[Request]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for request, usage in audit.with_usage():
        if usage.counted_beside is not None:
            ways[request.provider, request.model][usage.counted_beside].append(request)
    for (_, model), rows in ways.items():
        if len(rows) > 1:
            few = min(rows.values(), key=len)
            yield found(
                RULE,
                few,
                f"{len(rows[True])} rows of {model or 'one model'} count cached tokens beside the input and "
                f"{len(rows[False])} inside it",
                "Convert every row to one way of counting before you add rows up.",
            )
    for row in audit.misstated():
        on_top = cost(row.usage, row.rates, uncached=row.usage.prompt_tokens)
        written = row.usage.written_tokens or 0
        if row.usage.read_tokens and not written and row.is_explained_by(on_top):
            yield found(
                RULE,
                [row.request],
                f"{shown(row.stated)} is the cost with {row.usage.read_tokens:,} cached tokens added to an input that "
                f"holds them already; the row costs {shown(row.right)}",
                "Subtract the cached tokens from the input before you price it.",
                row.stated - row.right,
            )


RULE = Rule.of(__name__, Level.WARNING, usage=_check)
