"""The beginning-of-sequence token is, or may be, written twice.

What: a chat template writes `bos_token` itself. A tokenizer that adds its own then gives two. In a log of token
ids: a prompt that starts with the same special token twice.

Why: a prompt with two and a prompt with one share a single token, however equal the text behind is: raw and chat
calls never share a cache.

Bad: `tokenizer(template_output)`, with a template that writes the token.

Good: `tokenizer(template_output, add_special_tokens=False)`.

Must not flag: nothing in a template alone is wrong here, so it is a note about how to tokenize its output.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Finding, Fix, Level
from analyzers.rules.chat import probed, where_named
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import log_breaker
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = probed(prompt)
    if found is not None and found.writes_bos:
        yield RULE.finding(
            "the template writes bos_token itself; a tokenizer that adds its own gives two",
            where_named(prompt, "bos_token"),
            level=Level.INFO,
            subject="bos_token",
            fix=Fix("Tokenize the rendered text with add_special_tokens=False."),
        )


_OTHERS = 50
"""Prompts a doubled one is compared with."""


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    import numpy as np

    from analyzers.request import Dialect

    sequences = log.traced.sequences
    doubled, single = [], []
    for row, request in enumerate(log.traced.log.requests):
        if request.dialect is Dialect.TOKENS and log.traced.trace.info.unit == 1:
            ids = sequences.tokens(row)
            if len(ids) > 2 and ids[0] == ids[1]:
                doubled.append((row, ids))
            elif len(ids) > 2:
                single.append((row, ids))
    for row, ids in doubled:
        for other, theirs in single[-_OTHERS:]:
            if theirs[0] != ids[0]:
                continue
            size = min(len(ids) - 1, len(theirs))
            differing = np.flatnonzero(ids[1 : size + 1] != theirs[:size])
            would = int(differing[0]) if len(differing) else size
            if would >= 16:
                yield log_breaker(
                    RULE,
                    log,
                    [row],
                    f"the prompt starts with token {int(ids[0])} twice and shares 1 token with {log.request_id(other)}; "
                    f"with one it would share {would:,}",
                    "Tokenize the rendered text with add_special_tokens=False, or leave the token out of the template.",
                    losses=[would - 1],
                    against=other,
                    token_offset=1,
                    subject="double BOS",
                )
                break


RULE = Rule.of(__name__, Level.WARNING, template=_template, log=_log)
