"""Examples are sampled or shuffled anew for every request, before text that stays the same.

What: `random.sample`, `random.choice`, `random.shuffle`, the Jinja filters `random` and `shuffle`, `lipsum()`
decide what is written, or in which order, before fixed text.

Why: two requests share the prompt only up to the first example that differs.

Bad:
    {% for e in examples | shuffle %}{{ e }}{% endfor %}
    {{ rules }}

Good:
    {% for e in examples %}{{ e }}{% endfor %}
    {{ rules }}

Must not flag: sampling behind all fixed text; random choices that do not reach the prompt.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

_ADVICE = "Choose the examples once (or by a seed that stays) and keep their order, or put them behind the fixed text."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.RANDOM_CHOICE}, _ADVICE)


RULE = Rule.of(__name__, Level.ERROR, template=_template)
