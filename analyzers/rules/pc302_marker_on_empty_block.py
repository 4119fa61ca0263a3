"""A cache marker stands on an empty text block.

What: the block that carries the marker has no text, or white space only.

Why: the provider refuses the request (HTTP 400). Once such a block is stored in a session's history, every later
request of the session fails.

Bad:
    {"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}

Good: leave the empty block out and put the marker on the block before it (a picture may carry one).

Must not flag: markers on pictures, tools or tool results; markers on blocks whose text is filled in.
"""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import at, markers, shown_place
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for _, marker in markers(prompt):
        if marker.on == "text" and marker.block_text is not None and not marker.block_text.strip():
            what = "an empty text block" if not marker.block_text else "a text block of white space only"
            yield RULE.finding(
                f"the cache marker at {shown_place(marker)} stands on {what}; the provider refuses the request",
                at(marker),
                subject=shown_place(marker),
                evidence=Evidence(request_id=prompt.name or None),
                fix=Fix("Leave the empty block out and put the marker on the block before it."),
            )


RULE = Rule.of(__name__, Level.ERROR, template=_check, request=_check)
