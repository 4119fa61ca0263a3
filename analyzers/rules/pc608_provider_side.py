"""Nothing changed and nothing was read.

What: the prefix is equal, recent, long enough, sent with the same settings, and the log still shows a miss. No
cause is left on the client's side.

Why: caching is best effort at several providers; entries are dropped early or requests land on another machine.
It is said so that nobody searches for a mistake that is not theirs.

Bad: a change of the prompt made on a guess.

Good: the request ids given to the provider; a routing key where one exists.

Must not flag: misses that any evidence explains; shortfalls of less than half.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Confidence, Level
from analyzers.rules.log_checks import miss_breakers, requests_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    from analyzers.misses import MissCause

    def words(misses: "Sequence[Miss]") -> str:
        return (
            f"{requests_words(len(misses))} read {sum(miss.lost for miss in misses):,} tokens less than were cached "
            "although prefix, settings and times give no reason: the provider's side, or a cause that is not in the log"
        )

    yield from miss_breakers(
        RULE,
        log,
        MissCause.UNEXPLAINED,
        words,
        "Nothing to fix on your side by this log; where the provider has a routing key, send one.",
        of=lambda miss: miss.lost * 2 >= miss.expected,
        level=Level.INFO,
        confidence=Confidence.SUSPECTED,
    )


RULE = Rule.of(__name__, Level.INFO, log=_log)
