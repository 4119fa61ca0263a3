"""The same text comes back in other tokens.

What: in a log of token ids, an answer returns in the next prompt with a few ids replaced, while the ids behind them
are the same again.

Why: generated tokens need not be the ones a tokenizer gives for the joined text. The ids differ, so the cache stops
there, though text and length are equal.

Bad: an answer decoded to text and encoded again with the next prompt.

Good: send the ids back, or splice the stored ids of the answer into the prompt.

Must not flag: an answer whose text was changed; ids inside the prompt that differ for other reasons.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Level
from analyzers.rules.log_checks import log_breaker
from analyzers.rules.registry import Rule

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_LONGEST_SPLIT = 8
"""Ids that one seam replaces at most."""
_LEAST_AGREEING = 8
"""Ids that must be equal again behind the seam: fewer may agree by chance."""


def _respelled(log: "LogEvidence") -> Iterator[tuple[int, int, int, tuple[int, int]]]:
    """(row, earlier row, first differing token, (where ids agree again, end of the earlier sequence))."""
    import numpy as np

    from analyzers.request import PartKind

    sequences, requests = log.traced.sequences, log.traced.log.requests
    reusable = log.divergences.reusable
    latest = log.divergences.continuations.predecessor
    for row in range(1, len(requests)):
        for against in dict.fromkeys((int(latest[row]), row - 1)):
            if against < 0:
                continue
            output = requests[against].output
            if output is None or output.kind is not PartKind.TOKENS:
                continue
            prompt = sequences.tokens(against)
            before = np.concatenate([prompt, np.frombuffer(output.raw, "<u4")])
            after = sequences.tokens(row)
            size = min(len(before), len(after))
            differing = np.flatnonzero(before[:size] != after[:size])
            if not len(differing) or differing[0] < len(prompt) or reusable[row] > differing[0]:
                continue
            at, last = int(differing[0]), int(differing[-1])
            if last - at < _LONGEST_SPLIT and size - last > _LEAST_AGREEING:
                yield row, against, at, (last + 1, len(before))
                break


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    for row, against, at, again in _respelled(log):
        kept = again[1]
        yield log_breaker(
            RULE,
            log,
            [row],
            f"ids of the answer to {log.request_id(against)} come back as others at token {at} and are the same again "
            f"{again[0] - at} token{'' if again[0] - at == 1 else 's'} later: {kept - at:,} tokens are read anew",
            "Send the token ids of the answer back instead of its text.",
            losses=[kept - at],
            against=against,
            token_offset=at,
            subject="answer ids",
        )


RULE = Rule.of(__name__, Level.WARNING, log=_log)
