"""Another routing key than the requests with the same prefix.

What: the prompt is equal and recent, `prompt_cache_key` (or the user field that routes) differs, and requests that
repeat a key do read.

Why: requests with different keys are routed to different machines, which do not have the entry.

Bad: a key made of the sub-agent's id, over one long shared prompt.

Good: one key for all requests that share the long prefix (up to about 15 a minute each).

Must not flag: requests that read although the key differs; it is a likely cause, as routing is best effort.
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
        keys = {miss.was for miss in misses} | {miss.now for miss in misses}
        return (
            f"likely: {requests_words(len(misses))} with an equal, recent prefix went out under another {misses[0].name} "
            f"({len(keys)} keys) and read {sum(miss.lost for miss in misses):,} tokens less; requests that repeat a key read"
        )

    yield from miss_breakers(
        RULE,
        log,
        MissCause.CACHE_KEY,
        words,
        "Use one key for all calls that share the long prefix.",
        confidence=Confidence.SUSPECTED,
    )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
