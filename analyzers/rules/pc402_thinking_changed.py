"""Thinking is switched on, off, or to another budget between requests that should share a prefix.

What: code computes the setting from something that varies. In a log: another setting than in the request before.

Why: it is part of the rendered prompt or of the key: the messages are lost, on some models system and tools too.

Bad:
    thinking = {"type": "enabled"} if hard else {"type": "disabled"}

Good: one setting for the whole session.

Must not flag: a constant; the documented default written out.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.breakers import Breaker
from analyzers.findings import Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.log_checks import setting_breakers
from analyzers.rules.parameters import varying_parameters
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import place, shown
from analyzers.templates.parts import Prompt

if TYPE_CHECKING:
    from analyzers.log_evidence import LogEvidence


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for parameter in varying_parameters(prompt, context, "thinking", "reasoning", "thinking_config"):
        yield RULE.finding(
            f"{parameter.name} is computed ({shown(parameter.expression)}); where it differs from the request "
            "before, the cached prompt is lost",
            place(parameter.span),
            subject=parameter.expression,
            fix=Fix("Keep one setting for the whole session."),
        )


def _named(name: str) -> bool:
    return any(word in name.lower() for word in ("thinking", "reasoning")) and "effort" not in name.lower()


def _log(log: "LogEvidence") -> Iterator[Breaker]:
    yield from setting_breakers(RULE, log, _named, "Keep one setting for the whole session.")


RULE = Rule.of(__name__, Level.WARNING, template=_template, log=_log)
