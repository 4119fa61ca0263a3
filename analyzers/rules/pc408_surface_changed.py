"""Requests that should share a prefix go to another API, version or with another beta header.

What: the endpoint, API version or beta header differs from the earlier request with the same prefix.

Why: the same text may be rendered otherwise, or the header is part of the key.

Bad: one code path with a beta header and one without, over the same prompt.

Good: one surface for requests that share a prompt.

Must not flag: requests whose figures show that the prefix was read.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import setting_breakers
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _named(name: str) -> bool:
    return any(word in name.lower() for word in ("beta", "version", "endpoint", "api_"))


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    yield from setting_breakers(
        RULE, log, _named, "Send requests that share a prompt to one API with the same headers."
    )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
