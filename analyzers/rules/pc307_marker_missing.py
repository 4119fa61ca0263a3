"""A long stable beginning has no cache marker, and the provider caches nothing without one.

What: a request to Anthropic or Bedrock carries no marker, neither on a block nor the automatic one, although its
tools and system text are longer than the model's minimum. In a log: a stable prefix that is never written, or,
at OpenAI from GPT-5.6 on, one that only the implicit marker behind the newest message ends.

Why: without a marker these providers cache nothing; each request pays the full input price for the same text.

Bad: 9,000 tokens of tools and system text and no `cache_control`.

Good: `cache_control` on the last system block (which covers the tools before it).

Must not flag: prompts below the model's minimum; providers that cache by themselves; a string as `system`, where
the fix says to make it a list of blocks first.
"""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level, Location
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import markers
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt, Text

_NEEDS_MARKERS = ("anthropic", "bedrock")
_ASSUMED_MINIMUM = 1024
_CHARACTERS_PER_TOKEN = 3
"""Hardly any text has fewer: shorter prompts need no counting."""


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    if prompt.provider not in _NEEDS_MARKERS or markers(prompt):
        return
    if prompt.provider == "bedrock" and "claude" not in (prompt.model or ""):
        return
    stable = [p for p in prompt.parts if isinstance(p, Text) and p.place.section in ("tools", "system")]
    text = "".join(part.text for part in stable)
    minimum = context.minimum_tokens or _ASSUMED_MINIMUM
    if len(text) < minimum * _CHARACTERS_PER_TOKEN:
        return
    tokens = context.count_tokens(text)
    if tokens < minimum * 1.2:
        return
    last = stable[-1]
    is_string = last.place.path in ("system", "instructions")
    advice = (
        "Put cache_control on the last system block"
        if prompt.provider == "anthropic"
        else "Put a cachePoint behind the last system block"
    )
    yield RULE.finding(
        f"no cache marker: about {tokens:,} tokens of tools and system text are paid in full by every request",
        Location(last.span.path, last.span.line, last.span.column, json_path=last.place.path),
        subject="no marker",
        tokens_lost=tokens,
        tokens_estimated=True,
        evidence=Evidence(request_id=prompt.name or None),
        fix=Fix(advice + (" (make the string a list of one text block first)." if is_string else ".")),
    )


RULE = Rule.of(__name__, Level.WARNING, request=_request)
