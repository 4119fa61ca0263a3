"""The model is read from the environment.

What: the model's name of a call comes from `os.environ` or `os.getenv`.

Why: a cache belongs to one model. Two processes with different settings share nothing, and a change of the
setting starts cold; neither shows in the code. A note: it is right in many deployments.

Bad: `model=os.environ.get("MODEL", "claude-sonnet-5")` in a service of which several versions run side by side.

Good: the model named in the code or in one shared configuration, and logged with each request.

Must not flag: a constant; a configuration object.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import place
from analyzers.templates.parts import Prompt


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for parameter in prompt.parameters:
        read = " ".join((*parameter.names, *parameter.calls, parameter.expression))
        if parameter.name == "model" and ("os.environ" in read or "getenv" in read):
            yield RULE.finding(
                "the model comes from the environment; processes with another setting share no cache",
                place(parameter.span),
                subject=parameter.expression,
                fix=Fix("Name the model in the code or in one shared configuration."),
            )


RULE = Rule.of(__name__, Level.INFO, template=_template)
