"""Parameters of a call that its source computes from something that varies."""

from collections.abc import Iterator

from analyzers.rules.context import CheckContext
from analyzers.templates.parts import Parameter, Prompt, Value
from analyzers.templates.volatility import judge


def varying_parameters(prompt: Prompt, context: CheckContext, *names: str) -> Iterator[Parameter]:
    """The parameters with one of these names that read anything which is not the same for all requests."""
    for parameter in prompt.parameters:
        if parameter.name.partition(".")[0] in names and (parameter.names or parameter.calls):
            value = Value(parameter.expression, parameter.span, parameter.names, parameter.calls)
            if not judge(value, context.scopes).stable:
                yield parameter
