"""A chat template renders an old turn in another form once it is no longer the newest.

What: the rendering of a conversation is not the beginning of its rendering one message later. Typical: tools
written before the last user message, a system text moved into the newest turn, a condition on `loop.last`.

Why: each new turn changes the prompt at the place of the old one, and everything behind it is read anew.

Bad:
    {% for m in messages %}{% if loop.last %}[TOOLS]{{ tools }}{% endif %}{{ m.content }}{% endfor %}

Good: tools once, before the first message.

Must not flag: a closing token that is only written when a turn has ended; the generation prompt (PC512).
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level
from analyzers.rules.chat import probed, where_named
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = probed(prompt)
    for broken in found.history if found is not None else ():
        yield RULE.finding(
            f"with {broken.settings} an old turn is rendered in another form: behind {broken.at!r} it had "
            f"{broken.before!r} and has {broken.after!r} one message later",
            where_named(prompt, "messages"),
            subject=f"history, {broken.settings}",
            fix=Fix("Render each message the same way wherever it stands in the conversation."),
        )


RULE = Rule.of(__name__, Level.WARNING, template=_template)
