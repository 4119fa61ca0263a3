"""Another account, project or key than the requests with the same prefix.

What: the prompt is equal and recent, the account label differs, and requests that agree in it do read.

Why: caches are never shared across organisations, and at some providers not across workspaces.

Bad: requests spread over several API keys to stay below rate limits.

Good: requests of one conversation, or with one long prefix, under one account.

Must not flag: accounts that must be kept apart: the price of isolation is no mistake.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import miss_breakers, requests_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    from analyzers.misses import MissCause

    def words(misses: "Sequence[Miss]") -> str:
        return (
            f"{requests_words(len(misses))} went out under another {misses[0].name} and read "
            f"{sum(miss.lost for miss in misses):,} tokens less"
        )

    yield from miss_breakers(
        RULE,
        log,
        MissCause.ACCOUNT,
        words,
        "Send requests with one long prefix under one account, where that is allowed.",
    )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
