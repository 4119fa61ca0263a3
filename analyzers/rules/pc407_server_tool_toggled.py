"""A server-side tool is switched on or off between requests that should share a prefix.

What: web search, citations, grounding or code execution differ from the earlier request with the same prefix.

Why: they add tools or instructions to the head of the prompt, so all behind it is read anew.

Bad: web search on for some turns of a conversation.

Good: the same tools for the whole session.

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
    return any(word in name.lower() for word in ("web_search", "citations", "grounding", "code_execution"))


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    yield from setting_breakers(RULE, log, _named, "Keep server-side tools the same for the whole session.")


RULE = Rule.of(__name__, Level.WARNING, log=_log)
