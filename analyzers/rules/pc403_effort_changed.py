"""The reasoning effort differs between requests that should share a prefix.

What: another effort than in the earlier request with the same prefix.

Why: on some models the setting is rendered at the head of the prompt, on others it is part of the key: the messages
are lost, or everything.

Bad: low effort for tool results and high effort for questions of one conversation.

Good: one effort for the whole session.

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
    return "effort" in name.lower()


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    yield from setting_breakers(RULE, log, _named, "Keep one effort for the whole session.")


RULE = Rule.of(__name__, Level.WARNING, log=_log)
