"""The generation prompt of a chat template is not what the template later writes before the reply.

What: the prompt of a turn, followed by the reply, is not the beginning of the next turn's prompt: the generation
prompt holds something (an empty think block, a role line in another form) that the history leaves out.

Why: the engine has cached the prompt and the reply as it was generated. The next prompt leaves that text right
where the reply began, so the previous reply is read anew each turn; an engine that cannot cut its state back
(sliding window, recurrent) reads the whole prompt anew.

Bad:
    {% if add_generation_prompt %}<|assistant|><think></think>{% endif %}
    with old turns written as <|assistant|>reply

Good: the same empty block in front of old assistant turns.

Must not flag: a template whose generation prompt is the head of an old turn.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level
from analyzers.rules.chat import probed, where_named
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = probed(prompt)
    for broken in found.generation if found is not None else ():
        yield RULE.finding(
            f"with {broken.settings} the generation prompt is not in the history: behind {broken.at!r} it writes "
            f"{broken.before!r} where an old turn has {broken.after!r}; the previous reply is never reused",
            where_named(prompt, "add_generation_prompt"),
            subject=f"generation prompt, {broken.settings}",
            fix=Fix("Write the same text in front of old assistant turns as the generation prompt does."),
        )


RULE = Rule.of(__name__, Level.WARNING, template=_template)
