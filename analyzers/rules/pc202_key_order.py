"""JSON is written into the prompt with its keys in no fixed order.

What: `json.dumps` without `sort_keys=True` of data that is put together at run time, before text that stays the
same. In a log: the same object with its keys in another order.

Why: the same object gives another text when its keys come in another order: from a hash map, a database, another
code path. Tools and schemas stand first in the prompt, so that the whole prompt is lost with them.

Bad:
    system = "Catalogue: " + json.dumps(catalogue) + RULES

Good:
    system = "Catalogue: " + json.dumps(catalogue, sort_keys=True) + RULES

Must not flag: JSON in the newest user message, where it differs anyway; a dict written out in the source, whose
order is that of the source; Jinja's own `tojson`, which sorts keys.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Finding, Level, Safety
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    changes,
)
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_ADVICE = "Pass sort_keys=True, so that the same object always gives the same text."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.UNSORTED_JSON}, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    yield from changes(
        RULE,
        slot,
        log,
        {Change.KEY_ORDER: "the same JSON with its keys in another order"},
        "Serialise tools and schemas with sorted keys, or keep them as first sent.",
        safety=Safety.SAFE,
    )


RULE = Rule.of(__name__, Level.WARNING, template=_template, pair=_pair)
