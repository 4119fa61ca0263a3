"""The last marker lies far behind the end: a long tail of the conversation is never cached.

What: the messages behind the last marker are many (more than the look-back of 20 blocks) or long.

Why: entries end at markers. What stands behind the last one is paid in full in each request, again and again as
the conversation grows.

Bad: one marker on the system text and 60 messages behind it.

Good: a second marker on the newest message, moved forward with each turn.

Must not flag: a single question behind the marker; a conversation of a few messages.
"""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import at, content, markers, shown_place, texts
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt

_BLOCKS = 20
_TOKENS = 4096
_FEW = 4


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = markers(prompt)
    if not found or any(marker.on == "automatic" for _, marker in found):
        return
    index, marker = found[-1]
    behind = prompt.parts[index + 1 :]
    blocks = sum(1 for _ in content(behind))
    text = texts(behind)
    if blocks < _FEW or (blocks <= _BLOCKS and len(text) < _TOKENS * 3):
        return
    tokens = context.count_tokens(text)
    if blocks <= _BLOCKS and tokens < _TOKENS:
        return
    yield RULE.finding(
        f"{blocks} blocks (about {tokens:,} tokens) stand behind the last marker ({shown_place(marker)}) and are "
        "paid in full by every request",
        at(marker),
        subject=shown_place(marker),
        tokens_lost=tokens,
        tokens_estimated=True,
        evidence=Evidence(request_id=prompt.name or None),
        fix=Fix("Put a marker on the newest message as well, and move it forward with each turn."),
    )


RULE = Rule.of(__name__, Level.WARNING, request=_request)
