"""The tool list depends on a condition, or on who asks.

What: tools are added or left out under a condition that differs between requests or users, or the list is
computed from a user, a tenant or the conversation.

Why: tools are rendered first, so each set of tools is a prompt of its own: nothing behind it is shared, and a
tool that comes in the middle of a session rewrites the whole session.

Bad:
    if user.is_admin:
        tools.append(delete_order)

Good: always send the tool and refuse it when it is called, or let the provider defer it (tool search).

Must not flag: a constant list; a list that depends on a setting of the deployment.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import place, shown
from analyzers.templates.parts import Cause, Condition, Prompt, Text, Value
from analyzers.templates.volatility import judge, judge_guard

_ORDER = {Cause.UNORDERED, Cause.RANDOM_CHOICE, Cause.UNSORTED_JSON}


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    seen = set()
    for part in prompt.parts:
        if part.place.section != "tools" or not isinstance(part, Value | Text):
            continue
        conditions = [guard for guard in part.guards if isinstance(guard, Condition)]
        varying = next((g for g in conditions if not judge_guard(g, context.scopes).stable), None)
        subject, span = (varying.test, varying.span) if varying is not None else ("", part.span)
        if varying is None and isinstance(part, Value):
            verdict = judge(part, context.scopes)
            if verdict.stable or verdict.scope is None or verdict.cause in _ORDER:
                continue
            subject = part.expression
        if subject and span not in seen:
            seen.add(span)
            yield RULE.finding(
                f"the tools depend on {shown(subject)}; each set of tools is a prompt of its own, and nothing "
                "behind them is shared",
                place(span),
                subject=subject,
                fix=Fix("Send the same tools in every request and refuse the call where one is not allowed."),
            )


RULE = Rule.of(__name__, Level.WARNING, template=_template)
