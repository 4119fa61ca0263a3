"""The state of the machine or the working copy reaches the prompt before text that stays the same.

What: host name, process id, folder, user of the process, git status, open files (`os.getcwd()`, `hostname`,
`git_status`) is written before fixed text.

Why: it differs between machines and sessions, and a git status changes with the first edit of a session:
everything behind it is then written anew.

Bad:
    Working directory: {{ cwd }}
    {{ rules }}

Good:
    {{ rules }}
    Working directory: {{ cwd }}

Must not flag: environment values behind the fixed text; settings read from the environment that are the same
for every request of a deployment, once they are annotated (`pcache: volatility=release`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.divergence import Slot, ValueKind
from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.slot_checks import (
    slot_breaker,
    value_slot,
)
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


_ADVICE = "Put the environment behind the fixed text, or into a message, and mark the fixed text by itself."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.ENVIRONMENT}, _ADVICE)


def _pair(slot: Slot, log: "LogEvidence") -> Iterator[Breaker]:
    if value_slot(slot, ValueKind.ENVIRONMENT, log):
        yield slot_breaker(RULE, slot, log, "a value of the environment", _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, template=_template, pair=_pair)
