"""Renders chat templates in a process of its own, with little memory and time: templates are not trusted.

Reads one JSON request a line (`{"template": …, "variables": [{…}, …]}`) and answers each with one line: a list
with the rendered text or null for each set of variables.
"""

import json
import sys
from datetime import datetime
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from analyzers.templates.jinja_source import GenerationTag

_MEMORY = 1 << 29
_LONGEST = 1 << 20


def _environment() -> ImmutableSandboxedEnvironment:
    """As transformers sets it up (transformers 5, `chat_template_utils`): trimmed blocks, loop controls,
    `tojson` that keeps key order, `raise_exception` and `strftime_now`."""
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", GenerationTag]
    )

    def tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **_: Any) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime(2026, 1, 5, 12).strftime(form)
    return env


def _render(template: str, variables: list[dict[str, Any]]) -> list[str | None]:
    try:
        compiled = _environment().from_string(template)
    except (TemplateError, RecursionError, MemoryError, SyntaxError, ValueError):
        return [None] * len(variables)
    results: list[str | None] = []
    for values in variables:
        try:
            text = compiled.render(values)
            results.append(text if len(text) <= _LONGEST else None)
        except Exception:  # whatever a template raises, it is the template's own failure
            results.append(None)
    return results


def main() -> None:
    """Serve until the input ends."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    except (ImportError, ValueError, OSError):
        pass
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps(_render(asked["template"], asked["variables"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
