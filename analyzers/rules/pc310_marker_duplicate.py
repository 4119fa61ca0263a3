"""Two markers stand on one boundary.

What: between two markers there is no text and no value.

Why: both write the same entry, and one of the four that a request may have is gone.

Bad: a marker on the last system block and a cache point right behind it.

Good: one of them.

Must not flag: markers with any content between them, a picture or a tool result included.
"""

import itertools
from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import at, content, markers, shown_place
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = markers(prompt)
    for (before, first), (index, second) in itertools.pairwise(found):
        between = prompt.parts[before + 1 : index]
        if second.on == "point" and not any(content(between)) and first.place.section == second.place.section:
            yield RULE.finding(
                f"the marker at {shown_place(second)} stands on the same boundary as the one at {shown_place(first)}",
                at(second),
                subject=shown_place(second),
                evidence=Evidence(request_id=prompt.name or None),
                fix=Fix("Drop one of the two."),
            )


RULE = Rule.of(__name__, Level.WARNING, template=_check, request=_check)
