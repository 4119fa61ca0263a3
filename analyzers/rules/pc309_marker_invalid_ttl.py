"""A marker asks for a lifetime that the provider does not offer.

What: the lifetime is none of those of the provider (Anthropic and Bedrock: 5m, 1h; OpenAI from GPT-5.6: 30m, 12h).

Why: the request is refused, or the default is taken without a word.

Bad:
    {"cache_control": {"type": "ephemeral", "ttl": "24h"}}

Good:
    {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

Must not flag: lifetimes of providers that are not known here; lifetimes filled in at run time.
"""

from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.marked import LIFETIMES, at, markers, shown_place
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt


def _check(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    offered = context.lifetimes or LIFETIMES.get(prompt.provider or "", ())
    for _, marker in markers(prompt):
        if offered and marker.ttl is not None and marker.ttl not in offered:
            yield RULE.finding(
                f"the marker at {shown_place(marker)} asks for {marker.ttl}; {prompt.provider} offers "
                f"{' and '.join(offered)}",
                at(marker),
                subject=shown_place(marker),
                evidence=Evidence(request_id=prompt.name or None),
                fix=Fix(f"Use {' or '.join(offered)}."),
            )


RULE = Rule.of(__name__, Level.ERROR, template=_check, request=_check)
