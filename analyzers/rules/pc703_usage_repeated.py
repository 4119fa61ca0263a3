"""The usage of one call stands on several rows.

What: rows with the same call id repeat its usage: agent transcripts write one line a content block, resumed
sessions copy old lines, gateways log an attempt and its result.

Why: added up, the tokens and the money come out two to four times too high.

Bad: a sum over all lines of a transcript.

Good: one row a call, by its message and request id, across files; the last output count of a call is the right one.

Must not flag: two calls with equal figures and different ids. Rows that pcache folded into one call are counted
here so that other tools' totals can be compared; its own figures hold each call once.
"""

from collections import Counter
from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.registry import Rule
from analyzers.rules.usage_audit import UsageAudit, found


def _check(audit: UsageAudit) -> Iterator[Finding]:
    rows = list(audit.with_usage())
    seen = Counter((r.request_id, u.prompt_tokens, u.read_tokens, u.output_tokens) for r, u in rows)
    twice = [r for r, u in rows if seen[r.request_id, u.prompt_tokens, u.read_tokens, u.output_tokens] > 1]
    if twice:
        yield found(
            RULE,
            twice,
            f"{len(twice)} rows repeat the id and the usage of {len({r.request_id for r in twice})} calls",
            "Count each call once, by its id, over all files together.",
        )
    if audit.merged and rows:
        yield found(
            RULE,
            [rows[0][0]],
            f"{audit.merged} of {audit.merged + len(audit.requests)} rows repeat or complete another row's call; "
            "a sum over all rows counts their usage again",
            "Count each call once, by its id, over all files together.",
        )


RULE = Rule.of(__name__, Level.INFO, usage=_check)
