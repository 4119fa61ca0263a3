"""A marker has nothing before it in its list.

What: a cache point is the first element of `system`, `tools` or a message's content.

Why: a cache point ends what stands before it in the same list; with nothing there the provider refuses the
request, or ignores the marker.

Bad:
    "system": [{"cachePoint": {"type": "default"}}, {"text": "Rules …"}]

Good:
    "system": [{"text": "Rules …"}, {"cachePoint": {"type": "default"}}]

Must not flag: markers that are part of a block (`cache_control`), which end the block itself.
"""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import at, markers, shown_place
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for index, marker in markers(prompt):
        before = [part for part in prompt.parts[:index] if part.place.section == marker.place.section]
        first_in_list = (marker.place.path or "").endswith("[0]")
        if marker.on == "point" and (not before or first_in_list):
            yield RULE.finding(
                f"the cache point at {shown_place(marker)} has nothing before it in its list",
                at(marker),
                subject=shown_place(marker),
                evidence=Evidence(request_id=prompt.name or None),
                fix=Fix("Put the cache point behind the content that it is to cache."),
            )


RULE = Rule.of(__name__, Level.ERROR, template=_check, request=_check)
