"""The prompt does not fit the model's context window, or nearly does not.

What: the fixed text of a template, or all text of a request, has more tokens than the model's context window, or
more than nine tenths of it.

Why: the request is refused or cut. A prompt that is cut to fit (from the front, as most code does) starts
elsewhere each time, so nothing of it is read from cache; what is not needed is best left out before that.

Bad: 130,000 tokens of documents and examples for a model that takes 128,000.

Good: the same within half of the window, so that a conversation has room to grow.

Must not flag: prompts for a model whose window is not known; prompts below nine tenths of it.
"""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level, Location
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import texts
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt

_NEAR = 0.9
_SMALLEST_WINDOW = 4096
_CHARACTERS_PER_TOKEN = 2
"""Hardly any prompt has fewer: shorter ones need no counting."""


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    text = texts(prompt.parts)
    if len(text) < _SMALLEST_WINDOW * _NEAR * _CHARACTERS_PER_TOKEN:
        return
    window = context.context_window()
    if window is None or len(text) < window * _NEAR * _CHARACTERS_PER_TOKEN:
        return
    tokens = context.count_tokens(text)
    if tokens >= window * _NEAR:
        over = tokens > window
        yield RULE.finding(
            f"about {tokens:,} tokens; {context.model} takes {window:,}"
            + ("" if over else ", so there is hardly room for an answer"),
            Location(prompt.path, 1, 1),
            level=Level.ERROR if over else Level.WARNING,
            subject=prompt.name or "prompt",
            tokens_estimated=True,
            evidence=Evidence(request_id=prompt.name or None if prompt.kind == "request" else None),
            fix=Fix("Leave out what is not needed before the prompt has to be cut."),
        )


RULE = Rule.of(__name__, Level.WARNING, template=_check, request=_check)
