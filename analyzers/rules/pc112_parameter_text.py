"""A request parameter is written into the head of the prompt.

What: the template prints a setting of the request (`reasoning_effort`, `enable_thinking`, `model_name`, a
verbosity or a mode) before fixed text.

Why: the setting is a part of the text then. A request with another setting shares the prompt only up to it,
although everything else is the same.

Bad:
    Reasoning: {{ reasoning_effort }}
    {{ rules }}

Good:
    {{ rules }}
    Reasoning: {{ reasoning_effort }}

Must not flag: parameters behind the fixed text; a setting that all requests share, once it is annotated.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

_ADVICE = "Write the parameter behind the fixed text, or into the newest turn."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.PARAMETER}, _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, template=_template)
