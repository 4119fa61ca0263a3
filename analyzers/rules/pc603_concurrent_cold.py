"""Requests were sent before the entry could be read.

What: several requests with an equal prefix start before the first of them has begun to answer, and each reads
nothing.

Why: an entry can be read only once the answer that writes it has begun. Each of them pays the full price, or the
write.

Bad: five parallel calls over one long document.

Good: one call first; the others when its first token has come (or a warm-up call with `max_tokens` 0 or 1).

Must not flag: requests whose prefix changed; requests that start after the first token of an earlier one.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Confidence, Level
from analyzers.rules.log_checks import READ_PRICE, WRITE_PRICE, miss_breakers, requests_words
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence
    from analyzers.misses import Miss


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    from analyzers.misses import MissCause

    usage = log.usage

    def words(misses: "Sequence[Miss]") -> str:
        written = sum(max(0, int(usage.written[miss.request])) for miss in misses)
        text = (
            f"{requests_words(len(misses))} started before the entry of an equal prefix could be read, and read "
            f"{sum(miss.lost for miss in misses):,} tokens less"
        )
        if not written:
            return text
        extra = written * (WRITE_PRICE[300] - READ_PRICE)
        return f"{text}; {written:,} tokens were written once more than needed (about {extra:,.1f} input tokens dearer)"

    for stated in (True, False):
        yield from miss_breakers(
            RULE,
            log,
            MissCause.CONCURRENT,
            words,
            "Send one call, wait for its first token, then send the rest.",
            of=lambda miss, stated=stated: bool(usage.first_token_s[miss.against] > 0) is stated,  # type: ignore[misc]
            confidence=Confidence.CONFIRMED if stated else Confidence.SUSPECTED,
        )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
