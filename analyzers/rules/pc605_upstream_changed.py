"""Another provider, host or replica than the request before.

What: what was read follows the upstream: a request that went elsewhere reads what that place last saw.

Why: caches of two hosts are separate.

Bad: a router that moves one conversation between hosts.

Good: the upstream pinned, or a session id that the router keeps to.

Must not flag: a pause longer than the lifetime on the same host.
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
        full = [miss for miss in misses if miss.lost == miss.expected]
        return (
            f"{requests_words(len(misses))} went to another {misses[0].name} ({misses[0].was} -> {misses[0].now}) and "
            f"read what that one last saw, {sum(miss.lost for miss in misses):,} tokens less in all "
            f"({len(full)} read nothing)"
        )

    yield from miss_breakers(
        RULE,
        log,
        MissCause.UPSTREAM,
        words,
        "Pin the upstream, or send a session id that the router keeps to.",
    )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
