"""Another parameter that belongs to the cache key differs.

What: speed, service tier or another setting differs from the earlier request with the same prefix, and requests
that agree in it do read.

Why: the provider keeps entries apart by it.

Bad: a fast mode switched on and off within a session.

Good: one setting for the session.

Must not flag: sampling parameters (temperature, seed …), which no provider puts into the key; anything that the
figures do not confirm.
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


_NAMED = (
    "effort", "thinking", "reasoning", "tool_choice", "toolchoice", "parallel_tool", "functioncallingconfig", "schema",
    "response_format", "output_format", "mimetype", "text.format", "web_search", "citations", "grounding",
    "code_execution", "beta", "version", "endpoint", "api_",
)  # fmt: skip
"""Parameters that have a rule of their own."""


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    def words(misses: "Sequence[Miss]") -> str:
        first = misses[0]
        return (
            f"{first.name} changed while the text is equal: {requests_words(len(misses))} read "
            f"{sum(miss.lost for miss in misses):,} tokens less than were cached"
        )

    from analyzers.misses import MissCause

    yield from miss_breakers(
        RULE,
        log,
        MissCause.PARAMETER,
        words,
        "Keep the setting the same for the whole session.",
        of=lambda miss: not any(word in miss.name.lower() for word in _NAMED),
    )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
