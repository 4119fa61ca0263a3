"""Tools were added, removed or redefined between requests that should share a prefix.

What: the tool list of a request has other definitions than the earlier request it continues.

Why: tools are rendered in front of everything else (Anthropic, OpenAI, Gemini), so one changed description loses
the whole prompt.

Bad: a tool list built anew for each request from what is connected just then.

Good: all tools from the first request on; say in the newest message which ones may be used.

Must not flag: the same definitions in another order (PC201) or with other key order (PC202); another application.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Change, Slot
from analyzers.findings import Level
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import changes

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    yield from changes(
        RULE,
        slot,
        log,
        {
            Change.TOOLS_ADDED: "tools were added",
            Change.TOOLS_REMOVED: "tools were removed",
            Change.TOOL_CHANGED: "a tool was redefined",
        },
        "Send one tool list for the whole session, and say in the newest message which tools may be used.",
    )


RULE = Rule.of(__name__, Level.WARNING, pair=_pair)
