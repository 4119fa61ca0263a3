"""A marker stands where the provider does not take one.

What: a marker on a thinking block, or on a block nested inside a tool result.

Why: thinking blocks cannot carry a marker (they are cached with what stands around them); one inside a tool
result is ignored or refused. The boundary that was wanted is not there.

Bad:
    {"type": "thinking", "thinking": "…", "cache_control": {"type": "ephemeral"}}

Good: the marker on the tool result itself, or on the text block that follows.

Must not flag: markers on text, pictures, documents, tool calls, tool results and tools.
"""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import at, markers, shown_place
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt

NOT_MARKABLE = {
    "thinking": "a thinking block",
    "redacted_thinking": "a redacted thinking block",
    "nested": "a block inside a tool result",
}


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for _, marker in markers(prompt):
        if marker.on in NOT_MARKABLE:
            yield RULE.finding(
                f"the cache marker at {shown_place(marker)} stands on {NOT_MARKABLE[marker.on]}, which takes none",
                at(marker),
                subject=shown_place(marker),
                evidence=Evidence(request_id=prompt.name or None),
                fix=Fix(
                    "Move the marker to the block before it that takes one, or to the tool result as a whole."
                ),
            )


RULE = Rule.of(__name__, Level.ERROR, template=_check, request=_check)
